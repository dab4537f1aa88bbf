//! The order and cap checker: hears every event of a room from its making on, beside all nodes, and at the end holds them
//! against what was allowed. Its count of who is inside is its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use jari_line::{Event, JoinOutcome, RoomEvent, SeqSet, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_testkit::eventually;
use jari_units::{Mark, Millis, RoomId, Seq, SubjectKey, Timestamp};
use parking_lot::Mutex;

/// A room's past, heard so far.
pub(crate) struct Watch {
    pub(crate) room: RoomId,
    store: Arc<RedisStore>,
    settings: Settings,
    started: Timestamp,
    events: Arc<Mutex<Vec<Arc<RoomEvent>>>>,
}

/// One tick of the past.
#[derive(Clone, Debug)]
pub(crate) struct Ticked {
    pub(crate) now: Timestamp,
    pub(crate) called: Vec<Seq>,
}

impl Watch {
    /// Begins with a room that was just made.
    pub(crate) async fn begin(url: &str, room: &str) -> Watch {
        let store = Arc::new(RedisStore::open(RedisOptions::new(url)).expect("the store opens"));
        let room: RoomId = room.parse().expect("an id");
        let read = store.read(&room).await.expect("it was made");
        let (ledger, mark) = (read.outcome, read.mark);
        assert_eq!((ledger.serving(), ledger.passes().live()), (0, 0), "nobody was there before");
        let mut feed = store.subscribe(&room, mark.event_no).await.expect("it is there");
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        tokio::spawn(async move {
            while let Ok(event) = feed.next().await {
                heard.lock().push(event);
            }
        });
        let (settings, started) = (ledger.settings().clone(), ledger.clocks().now);
        Watch { room, store, settings, started, events }
    }

    /// So many more people come, in batches.
    pub(crate) async fn crowd(&self, people: std::ops::RangeInclusive<u64>) {
        let people: Vec<_> = people.map(subject).collect();
        for batch in people.chunks(100) {
            self.store.join(&self.room, Mark::NONE, batch.to_vec()).await.expect("joined");
        }
    }

    /// One person tries to join; whether it has a place now.
    pub(crate) async fn joins(&self, who: SubjectKey) -> Option<()> {
        let joined = self.store.join(&self.room, Mark::NONE, vec![who]).await.expect("it answers");
        matches!(joined.outcome[..], [JoinOutcome::Joined { .. } | JoinOutcome::Waiting { .. }])
            .then_some(())
    }

    pub(crate) fn ticks(&self) -> Vec<Ticked> {
        let events = self.events.lock();
        let ticks = events.iter().filter_map(|event| match &event.event {
            Event::Ticked(tick) => {
                let calls = tick.calls.as_ref();
                let called = calls.map_or_else(Vec::new, |calls| calls.seqs.iter().collect());
                Some(Ticked { now: tick.now, called })
            }
            _ => None,
        });
        ticks.collect()
    }

    pub(crate) fn admitted(&self) -> u64 {
        self.ticks().iter().map(|tick| tick.called.len() as u64).sum()
    }

    /// Waits for so many more ticks.
    pub(crate) async fn goes_on(&self, ticks: usize) {
        let before = self.ticks().len();
        eventually("the room goes on ticking", async || {
            (self.ticks().len() >= before + ticks).then_some(())
        })
        .await;
    }

    /// Waits until so many were admitted in all.
    pub(crate) async fn until_admitted(&self, count: u64) {
        eventually("they are admitted", async || (self.admitted() >= count).then_some(())).await;
    }

    /// Hears the rest, and checks all of it. Prints what it saw.
    pub(crate) async fn check(&self) {
        let end = self.store.read(&self.room).await.expect("it is there");
        eventually("everything was heard", async || {
            let last = self.events.lock().last().map(|event| event.event_no);
            (last >= Some(end.mark.event_no)).then_some(())
        })
        .await;
        let events = self.events.lock().clone();
        let mut past = Past::default();
        for event in &events {
            past.take(event);
            past.keeps_to(&self.settings, self.started);
        }
        let (ticks, span) = (self.ticks(), end.outcome.clocks().now.since(self.started));
        let gaps = ticks.windows(2).map(|pair| pair[1].now.since(pair[0].now));
        say(&format!(
            "{}: {} events, {} ticks in {span}, longest pause {}, {} admitted, {} inside of {}; order violations 0, cap violations 0",
            self.room,
            events.len(),
            ticks.len(),
            gaps.max().unwrap_or_default(),
            past.called,
            past.inside.len(),
            self.settings.capacity,
        ));
        assert_eq!(past.inside.len() as u64, end.outcome.passes().live(), "the count is right");
    }
}

#[expect(clippy::print_stdout, reason = "what was seen is part of what a run shows")]
fn say(line: &str) {
    println!("{line}");
}

/// What is known from events alone. Nobody is absent in these rooms, so whoever is next is called: 1, 2, 3, ...
#[derive(Default)]
struct Past {
    event_no: u64,
    now: Timestamp,
    line_ms: Millis,
    inside: BTreeSet<Seq>,
    left: BTreeSet<Seq>,
    called: u64,
    last_called: Seq,
}

impl Past {
    fn take(&mut self, event: &RoomEvent) {
        assert!(self.event_no == 0 || event.event_no == self.event_no + 1, "a gap: {event:?}");
        self.event_no = event.event_no;
        match &event.event {
            Event::Ticked(tick) => {
                assert!(tick.line_ms >= self.line_ms, "time went back: {event:?}");
                assert!(
                    !tick.mass_absence && tick.swept.is_empty(),
                    "somebody is absent: {event:?}"
                );
                (self.now, self.line_ms) = (tick.now, tick.line_ms);
                self.end(&tick.expired);
                self.end(&tick.second_chance);
                if let Some(calls) = &tick.calls {
                    self.call(&calls.seqs);
                }
            }
            Event::Joined { granted, .. } => assert!(granted.is_empty(), "{event:?}"),
            Event::Ended { seqs, .. } => self.end(seqs),
            Event::Touched { .. }
            | Event::Extended { .. }
            | Event::Seen { .. }
            | Event::Attended { .. }
            | Event::Changed { .. } => {}
            other => panic!("nothing else happens here: {other:?}"),
        }
    }

    /// Never more inside than the capacity, never more let in than the rate and the burst allow, and the line's time is real
    /// time at most.
    fn keeps_to(&self, settings: &Settings, started: Timestamp) {
        let inside = self.inside.len() as u64;
        assert!(inside <= settings.capacity, "{inside} inside at event {}", self.event_no);
        // A rate is admissions in 1,000 s, so times milliseconds it is millionths of them.
        let most = settings.burst * 1_000_000 + settings.rate_milli * self.line_ms.0;
        assert!(
            self.called * 1_000_000 <= most,
            "{} called by event {}",
            self.called,
            self.event_no
        );
        assert!(self.line_ms <= self.now.since(started), "the line's time ran ahead");
    }

    fn call(&mut self, seqs: &SeqSet) {
        for seq in seqs.iter() {
            // Those who left before their turn are passed by.
            let passed = (self.last_called + 1..seq).all(|before| self.left.contains(&before));
            assert!(seq > self.last_called && passed, "{seq} after {}", self.last_called);
            assert!(self.inside.insert(seq), "{seq} was let in twice");
            self.last_called = seq;
            self.called += 1;
        }
    }

    fn end(&mut self, seqs: &SeqSet) {
        for seq in seqs.iter() {
            if !self.inside.remove(&seq) {
                self.left.insert(seq);
            }
        }
    }
}

/// The subject number `n`.
pub(crate) fn subject(n: u64) -> SubjectKey {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&n.to_be_bytes());
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    SubjectKey(key)
}

/// The checker is no use where it lets anything pass.
mod checker {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use jari_line::{Calls, Tick};

    use super::*;

    fn tick(event_no: u64, line_ms: u64, called: &[Seq]) -> RoomEvent {
        let calls = Calls { seqs: called.iter().copied().collect(), ..Calls::default() };
        let line_ms = Millis(line_ms);
        let now = Timestamp(line_ms.0);
        let tick = Tick { now, line_ms, calls: Some(calls), ..Tick::default() };
        RoomEvent { incarnation: 1, event_no, event: Event::Ticked(Box::new(tick)) }
    }

    fn refuses(events: &[RoomEvent]) -> bool {
        let take = || {
            let settings =
                Settings { capacity: 4, rate_milli: 1_000, burst: 2, ..Settings::default() };
            let mut past = Past::default();
            for event in events {
                past.take(event);
                past.keeps_to(&settings, Timestamp(0));
            }
        };
        catch_unwind(AssertUnwindSafe(take)).is_err()
    }

    #[test]
    fn it_takes_a_sound_past_and_refuses_what_breaks_order_or_caps() {
        let sound = [tick(2, 0, &[1, 2]), tick(3, 1_000, &[]), tick(4, 2_000, &[3])];
        assert!(!refuses(&sound));
        for (what, broken) in [
            ("somebody was called twice", [tick(2, 0, &[1]), tick(3, 1_000, &[1])]),
            ("somebody was left out", [tick(2, 0, &[1]), tick(3, 1_000, &[3])]),
            ("an event is missing", [tick(2, 0, &[1]), tick(4, 1_000, &[2])]),
            ("time went back", [tick(2, 1_000, &[1]), tick(3, 999, &[2])]),
            ("more than the burst at once", [tick(2, 0, &[1, 2, 3]), tick(3, 1_000, &[])]),
            ("more than the rate", [tick(2, 0, &[1, 2]), tick(3, 999, &[3])]),
            ("more than the capacity", [tick(2, 9_000, &[1, 2, 3]), tick(3, 9_000, &[4, 5])]),
        ] {
            assert!(refuses(&broken), "{what}");
        }
    }
}
