//! What old files hold must stay readable: the bytes of one event of each kind, and of a room, are fixed here.
//!
//! Where one of these fails, a stored type changed: raise the file's `FORMAT`, keep a reader for the old one, and only
//! then note the new bytes.

use jari_line::{
    Auto, AutoQueue, Busy, Calls, Change, ClosedNext, EndReason, Event, Flow, Flowed, Landing,
    Load, Loss, Mode, PacerKind, PacerState, Pass, Queueing, Reattached, Recovering, Restored,
    Room, RoomEvent, SeqSet, Settings, Settled, Signal, Tick, WalkedIn, Word,
};
use jari_units::{Mark, Millis, SubjectKey, Timestamp};

fn seqs() -> SeqSet {
    [3, 5].into_iter().collect()
}

fn calls() -> Calls {
    Calls { serving: 5, served: 4, seqs: seqs(), deadline: Millis(130_000) }
}

fn tick() -> Tick {
    Tick {
        now: Timestamp(1_700_000_001_000),
        line_ms: Millis(1_000),
        silence_ms: Millis(900),
        lull_until: Timestamp(7),
        window_turned: true,
        bucket: 42,
        pacer: PacerState { rate_milli: 50_000, due: Millis(2_000) },
        expired: seqs(),
        second_chance: SeqSet::default(),
        calls: Some(calls()),
        mass_absence: false,
        swept: SeqSet::default(),
        sweep_cursor: 9,
        grant_no: 1,
        live_quota: 2,
        unlisted: 0,
    }
}

fn recovering() -> Recovering {
    Recovering {
        now: Timestamp(1_700_000_000_000),
        until: Timestamp(1_700_000_030_000),
        after: Some((7, 12)),
        settings: Some(Box::new(Settings::default())),
        origin: Some(6),
        top: 20,
        next_seq: 10_020,
        awaited: Some(vec![300]),
    }
}

fn restored() -> Restored {
    let mut room = Room::create(Settings::default(), Timestamp(1_000_000), 0).outcome;
    room.join(Mark::NONE, &[SubjectKey([7; 16])]).expect("no mark");
    let telling = room.ledger().tellings(room.mark()).next().expect("one part");
    let (deadline, granted_at) = (Millis(9), Millis(2));
    let (claimed_at, paying_since, landed) = (None, None, None);
    let pass = Pass { grant: 2, deadline, granted_at, claimed_at, paying_since, landed };
    Restored {
        known: seqs(),
        ended: seqs(),
        waiting: seqs(),
        once: seqs(),
        passes: vec![(4, pass)],
        head: Some(Box::new(telling.head)),
        top: 20,
        next_seq: 10_020,
        done: Some(300),
    }
}

fn reattached() -> Reattached {
    Reattached {
        people: vec![(SubjectKey([7; 16]), 3)],
        waiting: seqs(),
        first_passes: seqs(),
        second_passes: seqs(),
        ended: seqs(),
        receipts: vec![(3, Timestamp(1_700_000_000_000))],
        shown: seqs(),
        oldest: Some(7),
        top: 20,
        next_seq: 10_020,
    }
}

/// Settings that need the newest format.
fn modal() -> Settings {
    let auto = AutoQueue { at_live: Some(7), at_arrivals_per_s: None, quiet_for: Millis(9_000) };
    let pacer = PacerKind::Signal(Signal { slow: None, ..Signal::default() });
    Settings { mode: Mode::Auto, auto, pacer, ..Settings::default() }
}

fn walked_in(key: SubjectKey) -> WalkedIn {
    WalkedIn { first: 3, people: vec![key], granted: seqs(), deadline: Millis(9), walked: 1 }
}

fn word() -> Word {
    Word { source: 300, load: Load::Busy, until: Timestamp(1_700_000_009_000) }
}

fn flow() -> Flow {
    let queueing = Queueing { since: Timestamp(1_700_000_000_000), why: Busy::Arrivals };
    let (queueing, window_start) = (Some(queueing), Millis(7));
    let auto = Auto { queueing, window_start, joined_before: 300, busy_at: Millis(8) };
    Flow { auto, words: vec![word()] }
}

fn landing() -> Landing {
    Landing { no: 1_700_000_000 << 20, nonce: [9; 16] }
}

fn events() -> Vec<(&'static str, Event)> {
    let (now, deadline) = (Timestamp(1_700_000_000_000), Millis(120_000));
    let key = SubjectKey([7; 16]);
    let close = ClosedNext { reopens_at: Some(now), message: "내일".into() };
    let change = |change| Event::Changed {
        change: Box::new(change),
        ended: seqs(),
        granted: SeqSet::default(),
        deadline,
    };
    let settled = Settled {
        tick: tick(),
        ended: seqs(),
        used: seqs(),
        used_until: deadline,
        floor: deadline,
    };
    vec![
        ("created", Event::Created { now, settings: Box::new(Settings::default()) }),
        ("joined", Event::Joined { first: 3, people: vec![key], granted: seqs(), deadline }),
        ("ended", Event::Ended { seqs: seqs(), reason: EndReason::Revoked }),
        ("seen", Event::Seen { seqs: seqs() }),
        ("ticked", Event::Ticked(Box::new(tick()))),
        ("called", Event::Called(calls())),
        ("touched", Event::Touched { seqs: seqs(), deadline }),
        ("extended", Event::Extended { seq: 5, deadline, since: Millis(3) }),
        ("closed", change(Change::Close(close))),
        ("blocked", change(Change::Block(key))),
        ("sold out", change(Change::SoldOut(true))),
        ("lulled", Event::Lulled { until: now, guard_until: deadline }),
        ("recovering", Event::Recovering(Box::new(recovering()))),
        ("restored", Event::Restored(Box::new(restored()))),
        ("reattached", Event::Reattached(Box::new(reattached()))),
        ("settled", Event::Settled(Box::new(settled))),
        ("attended", Event::Attended { node: 300, at: now }),
        ("made with a mode", Event::Created { now, settings: Box::new(modal()) }),
        ("given a mode", change(Change::Settings(Box::new(modal())))),
        ("walked in", Event::WalkedIn(Box::new(walked_in(key)))),
        ("flowed", Event::Flowed(Box::new(Flowed { tick: tick(), flow: flow() }))),
        ("signalled", Event::Signalled(word())),
        ("redeemed", Event::Redeemed { seq: 5, landing: landing(), deadline }),
    ]
}

fn digest<T: serde::Serialize>(value: &T) -> String {
    let bytes = postcard::to_stdvec(value).expect("stored types are encodable");
    format!("{} bytes, crc {:08x}", bytes.len(), crc32fast::hash(&bytes))
}

const STORED: &[(&str, &str)] = &[
    ("created", "43 bytes, crc 9828e755"),
    ("joined", "57 bytes, crc a7de0eb3"),
    ("ended", "37 bytes, crc 1269abfe"),
    ("seen", "36 bytes, crc f5aa8f4b"),
    ("ticked", "115 bytes, crc e0261518"),
    ("called", "41 bytes, crc 358a1328"),
    ("touched", "39 bytes, crc 973b3057"),
    ("extended", "8 bytes, crc 4ebb2537"),
    ("closed", "63 bytes, crc 05f99b54"),
    ("blocked", "65 bytes, crc 38282593"),
    ("sold out", "50 bytes, crc ca04a99e"),
    ("lulled", "12 bytes, crc 96d79463"),
    ("recovering", "62 bytes, crc 8f9a849e"),
    ("restored", "185 bytes, crc 7b2508df"),
    ("reattached", "199 bytes, crc 7baa2f02"),
    ("settled", "187 bytes, crc 8cf7006e"),
    ("attended", "11 bytes, crc 0c6dc858"),
    ("made with a mode", "59 bytes, crc ffea1563"),
    ("given a mode", "99 bytes, crc 0841de42"),
    ("walked in", "56 bytes, crc 7c875d1c"),
    ("flowed", "137 bytes, crc 5fc02854"),
    ("signalled", "12 bytes, crc 04aaf8f0"),
    ("redeemed", "31 bytes, crc b2b91f2d"),
    ("room", "6369 bytes, crc e43f579e"),
    ("room and descent", "6450 bytes, crc a755bd4d"),
    ("room, flow and landings", "206 bytes, crc f17c3d1a"),
];

#[test]
fn stored_bytes_do_not_change_within_a_format() {
    let mut now: Vec<(String, String)> = events()
        .into_iter()
        .map(|(name, event)| {
            (name.to_owned(), digest(&RoomEvent { incarnation: 9, event_no: 2, event }))
        })
        .collect();
    let mut room = Room::create(Settings::default(), Timestamp(1_000_000), 0).outcome;
    let people: Vec<_> = (0..200u8).map(|n| SubjectKey([n; 16])).collect();
    room.join(Mark::NONE, &people).expect("no mark");
    room.admit(Mark::NONE, Timestamp(1_001_000), None).expect("no mark");
    now.push(("room".into(), digest(&room)));
    _ = room.recover(&Loss::Declared, Settings::default(), Timestamp(1_002_000));
    room.attend(Mark::NONE, 300).expect("no mark");
    now.push(("room and descent".into(), digest(&(&room, room.ledger().descent()))));
    let room = Room::create(modal(), Timestamp(1_000_000), 0).outcome.flowing(flow());
    let landings = vec![(5_u64, landing())];
    now.push((
        "room, flow and landings".into(),
        digest(&(&room, room.ledger().descent(), flow(), landings)),
    ));
    let stored: Vec<(String, String)> =
        STORED.iter().map(|(name, digest)| ((*name).into(), (*digest).into())).collect();
    assert_eq!(now, stored);
}

#[test]
fn what_was_stored_is_read_back() {
    for (name, event) in events() {
        let bytes = postcard::to_stdvec(&event).expect("stored types are encodable");
        assert_eq!(postcard::from_bytes::<Event>(&bytes), Ok(event), "{name}");
    }
}

/// An older Jari goes on opening what it can read, and names the version of what it cannot.
#[test]
fn rows_have_the_oldest_format_that_holds_them() {
    for (name, event) in events() {
        let format = match name {
            "recovering" | "restored" | "reattached" | "settled" | "attended" => 2,
            "made with a mode" | "given a mode" | "walked in" | "flowed" | "signalled"
            | "redeemed" => 3,
            _ => 1,
        };
        assert_eq!(crate::journal::event_format(&event), format, "{name}");
    }
}
