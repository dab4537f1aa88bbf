//! Counts of rooms, taken from their replicas at the scrape. Keeps nothing between scrapes; what must be kept of the rooms
//! without a label is in `others`.

use std::borrow::Cow;
use std::fmt;

use jari_line::{Ledger, Phase};
use jari_units::RoomId;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::families::{Families, Labels};
use super::latency::Snapshot;
use super::others::{Others, Sum};
use super::room_events::{Counted, RoomEvents};

/// Rooms with a label of their own, the first by id so that it is always the same ones; all others are one. Each is some
/// thirty series, and a scrape of so many stays below a megabyte.
pub(super) const ROOMS_MAX: usize = 200;

/// The label of all others together: no id begins so.
pub(super) const OTHERS: &str = "_others";

/// One room's counts at one event.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomCounts {
    pub(super) room: Cow<'static, str>,
    state: &'static str,
    gauges: [f64; GAUGES.len()],
    /// Nothing of a room that has been recovering for as long as this node knows it: it cannot tell yet.
    pub(super) counted: Option<Counted>,
    pub(super) dwell: Snapshot,
    batches: Batches,
}

/// Callers that wait for a batch to begin, by operation.
pub(crate) type Batches = [(&'static str, u64); 5];

const GAUGES: [(&str, &str); 10] = [
    ("jari_waiting", "People in line, not yet called"),
    ("jari_absent", "People called while away who may still return"),
    ("jari_live_passes", "Passes that are good now"),
    ("jari_claimed_passes", "Live passes that were used"),
    ("jari_capacity", "Live passes at most"),
    ("jari_rate_per_second", "Admissions per second that the pacer allows"),
    ("jari_lull", "1 while silence counts for nothing"),
    ("jari_last_tick_timestamp_seconds", "When the room's clock last moved, Unix time"),
    ("jari_replica_lag_events", "Events that the store has told of and this node's replica lacks"),
    ("jari_queueing", "1 while an auto room queues"),
];
/// Where it is among the gauges.
const LAST_TICK: usize = 7;
/// What a room counts since it was made, in the order of [`totals`].
pub(super) const TOTALS: [(&str, &str); 9] = [
    ("jari_joined", "Places given"),
    ("jari_admitted", "Places that got a pass"),
    ("jari_served", "Places that the frontier has passed, called or absent"),
    ("jari_claimed", "Passes used for the first time"),
    ("jari_no_shows", "Passes that ended unclaimed"),
    ("jari_passed_over", "Places that the frontier passed while nobody was there"),
    ("jari_returned", "Places that were passed over and got their first pass after all"),
    ("jari_left", "People who left the line or gave their pass back"),
    ("jari_mass_absences", "Ticks that called nobody because most were not heard from"),
];
/// Values of [`TOTALS`].
pub(super) type Totals = [u64; TOTALS.len()];

const STATES: [&str; 7] = ["closed", "not_open", "off", "open", "paused", "recovering", "sold_out"];

const RECOVERING: &str = "recovering";

impl RoomCounts {
    /// Those of `room`, whose store has told of `lag_events` more events than `ledger` holds.
    #[must_use]
    pub(crate) fn of(
        room: &RoomId,
        ledger: &Ledger,
        events: &RoomEvents,
        lag_events: u64,
        batches: Batches,
    ) -> Self {
        let passes = ledger.passes();
        RoomCounts {
            room: room.to_string().into(),
            state: if ledger.is_recovering() { RECOVERING } else { state(&ledger.phase()) },
            gauges: [
                ledger.waiting() as f64,
                ledger.absent() as f64,
                passes.live() as f64,
                passes.claimed_count() as f64,
                ledger.settings().capacity as f64,
                ledger.rate_milli() as f64 / 1_000.0,
                f64::from(u8::from(ledger.in_lull())),
                ledger.clocks().now.0 as f64 / 1_000.0,
                lag_events as f64,
                f64::from(u8::from(ledger.queueing().is_some())),
            ],
            counted: events.counted(ledger),
            dwell: events.dwell.snapshot(),
            batches,
        }
    }

    /// Takes another's gauges in; states cannot be added up and are left. Of the ticks the oldest counts.
    fn add(&mut self, other: &RoomCounts) {
        let oldest = self.gauges[LAST_TICK].min(other.gauges[LAST_TICK]);
        self.gauges.iter_mut().zip(other.gauges).for_each(|(sum, more)| *sum += more);
        self.gauges[LAST_TICK] = oldest;
        self.batches.iter_mut().zip(other.batches).for_each(|(sum, more)| sum.1 += more.1);
    }
}

/// What `ledger` has counted, by [`TOTALS`].
pub(super) fn totals(ledger: &Ledger) -> Totals {
    let totals = ledger.totals();
    [
        totals.joined,
        totals.admitted,
        ledger.served(),
        totals.claimed,
        totals.no_shows,
        totals.absent,
        totals.returned,
        totals.left,
        totals.mass_absences,
    ]
}

fn state(phase: &Phase) -> &'static str {
    match phase {
        Phase::Closed(_) => "closed",
        Phase::NotOpen { .. } => "not_open",
        Phase::Open => "open",
        Phase::Paused => "paused",
        Phase::SoldOut => "sold_out",
        Phase::Off => "off",
    }
}

/// The rooms of one scrape.
#[derive(Debug)]
pub(super) struct Rooms {
    rooms: Vec<RoomCounts>,
    /// All others as they are, and what has happened in them.
    others: Option<RoomCounts>,
    others_sum: Option<Sum>,
    recovering: usize,
}

impl Rooms {
    /// `rooms` are in order of id; `kept` is of the scrape before.
    pub(super) fn new(mut rooms: Vec<RoomCounts>, kept: &mut Others) -> Self {
        let others_sum = kept.take_in(&rooms);
        let recovering = rooms.iter().filter(|room| room.state == RECOVERING).count();
        let mut rest = rooms.split_off(rooms.len().min(ROOMS_MAX)).into_iter();
        let others = rest.next().map(|mut sum| {
            sum.room = OTHERS.into();
            rest.for_each(|other| sum.add(&other));
            sum
        });
        Rooms { rooms, others, others_sum, recovering }
    }

    fn all(&self) -> impl Iterator<Item = &RoomCounts> {
        self.rooms.iter().chain(&self.others)
    }

    /// One of the totals, of every room that has them.
    fn totals(&self, i: usize) -> impl Iterator<Item = (Labels, u64)> {
        let named = self.rooms.iter();
        let named =
            named.filter_map(move |room| Some((label(room), room.counted.as_ref()?.now[i])));
        named.chain(self.others_sum.iter().map(move |sum| (others_label(), sum.totals[i])))
    }

    fn dwells(&self) -> impl Iterator<Item = (Labels, Snapshot)> {
        let named = self.rooms.iter().map(|room| (label(room), room.dwell.clone()));
        named.chain(self.others_sum.iter().map(|sum| (others_label(), sum.dwell.clone())))
    }

    fn states(&self) -> impl Iterator<Item = (Labels, f64)> {
        self.rooms.iter().flat_map(|room| {
            STATES.into_iter().map(|state| {
                let mut labels = label(room);
                labels.push(("state", state.into()));
                (labels, f64::from(u8::from(state == room.state)))
            })
        })
    }

    fn batches(&self) -> impl Iterator<Item = (Labels, f64)> {
        let operations = self.all().next().map(|room| room.batches).into_iter().flatten();
        operations.enumerate().map(|(i, (operation, _))| {
            let waiting: u64 = self.all().map(|room| room.batches[i].1).sum();
            (vec![("operation", operation.into())], waiting as f64)
        })
    }
}

fn label(room: &RoomCounts) -> Labels {
    vec![("room", room.room.clone())]
}

fn others_label() -> Labels {
    vec![("room", OTHERS.into())]
}

impl Collector for Rooms {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        for (i, family) in GAUGES.into_iter().enumerate() {
            families.gauges(family, self.all().map(|room| (label(room), room.gauges[i])))?;
        }
        for (i, family) in TOTALS.into_iter().enumerate() {
            families.counters(family, self.totals(i))?;
        }
        let help =
            "Time inside of people whose claimed pass ended, since this node follows the room";
        families.histograms(("jari_dwell_seconds", help), self.dwells())?;
        families
            .gauges(("jari_room_state", "1 for the state that the room is in"), self.states())?;
        let help = "Rooms whose line is being put together again after a loss of the store";
        let recovering = [(Labels::new(), self.recovering as f64)];
        families.gauges(("jari_rooms_recovering", help), recovering)?;
        let help = "Callers whose batch to the store has not begun";
        families.gauges(("jari_batch_calls_waiting", help), self.batches())
    }
}

#[cfg(test)]
mod tests {
    use jari_line::{Room, Settings};
    use jari_units::{Mark, Millis, SubjectKey, Timestamp};
    use prometheus_client::registry::Registry;

    use super::*;

    fn counts(id: &str) -> RoomCounts {
        let mut room = Room::create(Settings::default(), Timestamp(1_500), 0).outcome;
        let people: Vec<_> = (1..=3).map(|n| SubjectKey([n; 16])).collect();
        room.join(Mark::NONE, &people).expect("no mark");
        let events = RoomEvents::default();
        events.note(vec![Millis(20_000)]);
        let batches = [("join", 7), ("leave", 0), ("claim", 0), ("touch", 0), ("reattach", 0)];
        RoomCounts::of(&id.parse().expect("an id"), room.ledger(), &events, 2, batches)
    }

    fn text(rooms: Vec<RoomCounts>) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Rooms::new(rooms, &mut Others::default())));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("a string");
        text
    }

    #[test]
    fn a_rooms_counts_are_those_of_its_ledger() {
        let text = text(vec![counts("shop")]);
        for line in [
            r#"jari_waiting{room="shop"} 3"#,
            r#"jari_joined_total{room="shop"} 3"#,
            r#"jari_rate_per_second{room="shop"} 200"#,
            r#"jari_last_tick_timestamp_seconds{room="shop"} 1.5"#,
            r#"jari_replica_lag_events{room="shop"} 2"#,
            r#"jari_room_state{room="shop",state="open"} 1"#,
            r#"jari_room_state{room="shop",state="paused"} 0"#,
            r#"jari_room_state{room="shop",state="off"} 0"#,
            r#"jari_queueing{room="shop"} 0"#,
            r#"jari_batch_calls_waiting{operation="join"} 7"#,
            r#"jari_dwell_seconds_sum{room="shop"} 20.0"#,
            r#"jari_dwell_seconds_bucket{le="30.0",room="shop"} 1"#,
            r#"jari_dwell_seconds_bucket{le="15.0",room="shop"} 0"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn rooms_beyond_the_limit_are_one() {
        let rooms = (0..ROOMS_MAX + 3).map(|n| counts(&format!("r{n:04}"))).collect();
        let text = text(rooms);
        let waiting = text.lines().filter(|line| line.starts_with("jari_waiting{"));
        assert_eq!(waiting.count(), ROOMS_MAX + 1);
        assert!(text.contains(r#"jari_waiting{room="_others"} 9"#), "{text}");
        assert!(text.contains(r#"jari_dwell_seconds_count{room="_others"} 3"#), "{text}");
        let batches = format!("jari_batch_calls_waiting{{operation=\"join\"}} {}", 7 * 203);
        assert!(text.contains(&batches), "{batches}");
        assert!(OTHERS.parse::<RoomId>().is_err(), "no room can be called so");
    }
}
