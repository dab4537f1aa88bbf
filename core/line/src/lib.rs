//! The waiting room's rules: a room's state, every operation on it, and the replica that answers visitors.
//!
//! Everything is a pure function of (state, command, now): no clock, randomness, I/O, async or JSON. An operation
//! decides, makes at most one [`Event`], and applies it; the same event feeds the journal, the room's stream and every
//! replica, so replaying the events gives the state again, byte for byte (A5).

mod admit;
mod admit_now;
mod apply;
mod attend;
mod call;
mod change;
mod claim;
mod clock;
mod descent;
mod dump;
mod end_pass;
mod estimate;
mod event;
mod extend_for_payment;
mod group;
mod join;
mod leases;
mod leave;
mod ledger;
mod mode;
mod pacer;
mod passes;
mod poll;
mod reattach;
mod recover;
mod redeem;
mod replica;
mod restore;
mod revoke;
mod room;
mod seen;
mod seqset;
mod settings;
mod settle;
mod signal;
mod stored;
mod subjects;
mod telling;

pub use admit::{AdmitOutcome, GroupGrant};
pub use admit_now::{AdmitNow, AdmitNowOutcome};
pub use apply::OutOfOrder;
pub use change::{Change, ChangeOutcome, ClosedNext};
pub use claim::PassOutcome;
pub use clock::StoreClock;
pub use descent::{Descent, Lineage, Recovery};
pub use dump::Dump;
pub use end_pass::EndOutcome;
pub use estimate::{Estimate, EstimateInput, NoEstimate, Pace};
pub use event::{Calls, EndReason, Event, Flowed, RoomEvent, Tick, WalkedIn};
pub use extend_for_payment::ExtendOutcome;
pub use group::{Group, GroupSettings, RoomReport};
pub use join::JoinOutcome;
pub use leases::Leases;
pub use leave::LeaveOutcome;
pub use ledger::{Clocks, Control, Ledger, Notice, Phase, Standing, Totals};
pub use mode::{Auto, AutoQueue, Busy, Mode, Queueing};
pub use pacer::PacerState;
pub use passes::{Landing, Pass, PassGrant, Passes};
pub use poll::poll_interval;
pub use reattach::{ReattachOutcome, Reattached, Receipt};
pub use recover::{Loss, Past, RecoverOutcome, Recovering};
pub use redeem::{RedeemOutcome, Ticket};
pub use replica::{Moved, Replica};
pub use restore::{RestoreOutcome, Restored};
pub use revoke::RevokeOutcome;
pub use room::{Done, LostHistory, Room};
pub use seqset::{SeenBits, SeqSet};
pub use settings::{Aimd, PacerKind, Settings, SettingsError};
pub use settle::Settled;
pub use signal::{Flow, Load, SITE, Signal, SignalOutcome, Source, Word};
pub use telling::{Head, Part, Telling};
