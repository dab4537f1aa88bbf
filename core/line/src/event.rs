//! What happened in a room. One enum is the journal record, the room's stream and the replica's input.
//!
//! Events hold outcomes, not commands, so that a replay with newer rules gives the state that people were told.
//! Variants are only ever added at the end; a new field needs a new format version: old journals must stay readable.

use jari_units::{EventNo, Incarnation, Millis, NodeId, Seq, SubjectKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Change, Flow, Landing, PacerState, Reattached, Recovering, Restored, SeqSet, Settings, Settled,
    Word,
};

/// An event with its number: `event_no` rises by one per state-changing operation of an incarnation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoomEvent {
    pub incarnation: Incarnation,
    pub event_no: EventNo,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The room's first event in an incarnation.
    Created { now: Timestamp, settings: Box<Settings> },
    /// `people` got the places from `first` on. Those in `granted` (new places or older ones) got a pass at once.
    Joined { first: Seq, people: Vec<SubjectKey>, granted: SeqSet, deadline: Millis },
    /// Places and passes that ended outside the tick.
    Ended { seqs: SeqSet, reason: EndReason },
    /// Places of the line heard from.
    Seen { seqs: SeqSet },
    /// Time moved.
    Ticked(Box<Tick>),
    /// The operator or tenant admitted by count.
    Called(Calls),
    /// Passes in use until `deadline`; their first use claims them.
    Touched { seqs: SeqSet, deadline: Millis },
    /// A pass that will not expire before `deadline` since its owner is paying, first at `since`.
    Extended { seq: Seq, deadline: Millis, since: Millis },
    /// An operator's change; `ended` and `granted` are what it did to places.
    Changed { change: Box<Change>, ended: SeqSet, granted: SeqSet, deadline: Millis },
    /// Admitting by count would have passed mostly unseen places: a lull began instead.
    Lulled { until: Timestamp, guard_until: Millis },
    /// A new incarnation begins because some of the one before was lost; its first event.
    Recovering(Box<Recovering>),
    /// What a node's replica knew, merged.
    Restored(Box<Restored>),
    /// What people's receipts showed.
    Reattached(Box<Reattached>),
    /// The recovery is over.
    Settled(Box<Settled>),
    /// A node serves the room.
    Attended { node: NodeId, at: Timestamp },
    /// As `Joined`, in an `auto` room that let newcomers in at once.
    WalkedIn(Box<WalkedIn>),
    /// As `Ticked`, where what the room knows of its traffic changed as well.
    Flowed(Box<Flowed>),
    /// How the site is doing.
    Signalled(Word),
    /// A one-time token of a pass was redeemed; the pass is in use until `deadline`.
    Redeemed { seq: Seq, landing: Landing, deadline: Millis },
}

impl Event {
    /// The tick in it, if it is one that goes on as usual.
    #[must_use]
    pub fn tick(&self) -> Option<&Tick> {
        match self {
            Event::Ticked(tick) => Some(tick),
            Event::Flowed(flowed) => Some(&flowed.tick),
            _ => None,
        }
    }
}

/// A join with admissions beside the tick: they are of the bucket as those of a tick are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WalkedIn {
    pub first: Seq,
    pub people: Vec<SubjectKey>,
    pub granted: SeqSet,
    pub deadline: Millis,
    /// How many of the granted walked in; the others are on the allow list.
    pub walked: u64,
}

/// A tick, and what the room knows of its traffic after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flowed {
    pub tick: Tick,
    pub flow: Flow,
}

/// Why a place or pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EndReason {
    /// Its owner left.
    Left,
    /// The site said its owner is done.
    Done,
    /// An operator took the pass away.
    Revoked,
    /// An operator blocked its owner.
    Blocked,
}

/// Places called together. A place at or below `serving` that is not in `seqs` of any call is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The frontier after the call.
    pub serving: Seq,
    /// Places the frontier has passed, ever, called or absent.
    pub served: u64,
    pub seqs: SeqSet,
    /// The new passes end here unless claimed (silence clock).
    pub deadline: Millis,
}

/// One tick's outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    pub now: Timestamp,
    pub line_ms: Millis,
    pub silence_ms: Millis,
    /// In a lull before this time.
    pub lull_until: Timestamp,
    /// The presence window began anew at this tick.
    pub window_turned: bool,
    pub bucket: u64,
    pub pacer: PacerState,
    /// Passes that ended for good.
    pub expired: SeqSet,
    /// Unclaimed passes that ended; their places are absent and may be called once more.
    pub second_chance: SeqSet,
    pub calls: Option<Calls>,
    /// Most of the called were unseen: nobody was called and a lull began.
    pub mass_absence: bool,
    /// Absences whose grace ran out.
    pub swept: SeqSet,
    pub sweep_cursor: Seq,
    /// The limit group's grant used by this tick.
    pub grant_no: u64,
    pub live_quota: u64,
    /// As in the tick's outcome (`AdmitOutcome::unlisted`), for nodes that did not tick. In no journal, where nothing of a room can
    /// be lost without the rest: only a store that keeps lists by themselves says more than 0.
    #[serde(skip)]
    pub unlisted: u64,
}
