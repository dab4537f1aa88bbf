//! Counts of rooms, taken from their replicas at the scrape. Keeps nothing between scrapes.

use jari_line::Ledger;
use jari_units::RoomId;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// One room's counts at one event.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomCounts {
    room: RoomId,
    gauges: [u64; 5],
    totals: [u64; 6],
    rate_per_s: f64,
    dwell_s: f64,
}

const GAUGES: [(&str, &str); 5] = [
    ("jari_waiting", "People in line, not yet called"),
    ("jari_absent", "People called while away who may still return"),
    ("jari_live_passes", "Passes that are good now"),
    ("jari_claimed_passes", "Live passes that were used"),
    ("jari_lull", "1 while silence counts for nothing"),
];
const TOTALS: [(&str, &str); 6] = [
    ("jari_joined", "Places given"),
    ("jari_admitted", "Places that got a pass"),
    ("jari_claimed", "Passes used for the first time"),
    ("jari_no_shows", "Passes that ended unclaimed"),
    ("jari_left", "People who left the line or gave their pass back"),
    ("jari_dwells", "Claimed passes that ended"),
];

impl RoomCounts {
    #[must_use]
    pub fn of(room: RoomId, ledger: &Ledger) -> Self {
        let (passes, totals) = (ledger.passes(), ledger.totals());
        RoomCounts {
            room,
            gauges: [
                ledger.waiting(),
                ledger.absent(),
                passes.live(),
                passes.claimed_count(),
                u64::from(ledger.in_lull()),
            ],
            totals: [
                totals.joined,
                totals.admitted,
                totals.claimed,
                totals.no_shows,
                totals.left,
                totals.dwells,
            ],
            rate_per_s: ledger.rate_milli() as f64 / 1_000.0,
            dwell_s: totals.dwell_ms as f64 / 1_000.0,
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RoomLabel {
    room: String,
}

type SecondsTotal = Counter<f64, std::sync::atomic::AtomicU64>;
type PerSecond = Gauge<f64, std::sync::atomic::AtomicU64>;

/// A registry with the counts of these rooms and nothing else.
pub(super) fn registry(rooms: &[RoomCounts]) -> Registry {
    let mut registry = Registry::default();
    let label = |counts: &RoomCounts| RoomLabel { room: counts.room.to_string() };
    for (i, (name, help)) in GAUGES.into_iter().enumerate() {
        let family = Family::<RoomLabel, Gauge>::default();
        for counts in rooms {
            family.get_or_create(&label(counts)).set(counts.gauges[i].cast_signed());
        }
        registry.register(name, help, family);
    }
    for (i, (name, help)) in TOTALS.into_iter().enumerate() {
        let family = Family::<RoomLabel, Counter>::default();
        for counts in rooms {
            family.get_or_create(&label(counts)).inc_by(counts.totals[i]);
        }
        registry.register(name, help, family);
    }
    let (rate, dwell) =
        (Family::<RoomLabel, PerSecond>::default(), Family::<RoomLabel, SecondsTotal>::default());
    for counts in rooms {
        rate.get_or_create(&label(counts)).set(counts.rate_per_s);
        dwell.get_or_create(&label(counts)).inc_by(counts.dwell_s);
    }
    registry.register("jari_rate_per_second", "Admissions per second that the pacer allows", rate);
    let help = "Time inside of claimed passes that ended; divide by jari_dwells";
    registry.register_with_unit("jari_dwell", help, Unit::Seconds, dwell);
    registry
}

#[cfg(test)]
mod tests {
    use jari_line::{Room, Settings};
    use jari_units::{Mark, SubjectKey, Timestamp};

    use super::*;

    #[test]
    fn a_rooms_counts_are_those_of_its_ledger() {
        let mut room = Room::create(Settings::default(), Timestamp(1_000), 0).outcome;
        let people: Vec<_> = (1..=3).map(|n| SubjectKey([n; 16])).collect();
        room.join(Mark::NONE, &people).expect("no mark");
        let counts = RoomCounts::of("shop".parse().expect("an id"), room.ledger());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry(&[counts]))
            .expect("a string");
        for line in [
            r#"jari_waiting{room="shop"} 3"#,
            r#"jari_joined_total{room="shop"} 3"#,
            r#"jari_rate_per_second{room="shop"} 200.0"#,
            r#"jari_dwell_seconds_total{room="shop"} 0.0"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
