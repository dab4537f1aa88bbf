//! A room's state without its subjects: what a replica holds, and all that polls, streams and the gate need.

use std::collections::VecDeque;

use jari_units::{EventNo, Incarnation, Mark, Millis, PassId, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::descent::{Descent, Recovery};
use crate::{ClosedNext, Flow, Mode, PacerState, PassGrant, Passes, SeqSet, Settings};

/// One token in the bucket's unit: rate (per 1,000 s) x time (ms) gives millionths.
pub(crate) const TOKEN: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub(crate) incarnation: Incarnation,
    pub(crate) event_no: EventNo,
    pub(crate) next_seq: Seq,
    pub(crate) settings: Settings,
    pub(crate) control: Control,
    pub(crate) clocks: Clocks,
    pub(crate) serving: Seq,
    pub(crate) served: u64,
    pub(crate) bucket: u64,
    pub(crate) pacer: PacerState,
    /// In line or absent.
    pub(crate) w: SeqSet,
    /// Seen in this presence window, and in the one before.
    pub(crate) cur: SeqSet,
    pub(crate) prev: SeqSet,
    pub(crate) passes: Passes,
    /// Places that had their second chance.
    pub(crate) once: SeqSet,
    /// Where the frontier stood, by the silence clock: absences are counted from here.
    pub(crate) marks: VecDeque<(Millis, Seq)>,
    pub(crate) sweep_cursor: Seq,
    pub(crate) grant_no: u64,
    pub(crate) live_quota: u64,
    pub(crate) totals: Totals,
    /// Apart from the rest in stored copies, whose layout is older ([`Room::descend`](crate::Room::descend)).
    #[serde(skip)]
    pub(crate) descent: Descent,
    /// Apart from the rest as well ([`Room::flowing`](crate::Room::flowing)).
    #[serde(skip)]
    pub(crate) flow: Flow,
}

/// The room's own clocks; all move only in the tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// The last tick's time.
    pub now: Timestamp,
    /// Drives the bucket; stands still over an outage.
    pub line_ms: Millis,
    /// Drives presence, claim, pass and absence; stands still over an outage and in a lull.
    pub silence_ms: Millis,
    pub lull_until: Timestamp,
    pub window_start: Millis,
    /// No second alarm for mass absence before this.
    pub mass_guard_until: Millis,
    /// Nobody was here at the end of the last tick, so the time since then was nobody's silence.
    pub was_idle: bool,
}

/// What an operator set, apart from the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    pub paused: bool,
    pub closed: Option<ClosedNext>,
    /// Opened by hand then: overrides `opens_at`, and a `closes_at` that had passed. New opening times take it back.
    pub opened_at: Option<Timestamp>,
    pub sold_out: bool,
    pub notice: Option<Notice>,
}

/// An operator's words to everybody in the room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub text: String,
    pub at: Timestamp,
}

/// Counts since the room's creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Places given.
    pub joined: u64,
    /// Places that got a pass; a second chance does not count again.
    pub admitted: u64,
    pub claimed: u64,
    /// Passes that ended unclaimed.
    pub no_shows: u64,
    /// Places that the frontier passed unseen.
    pub absent: u64,
    /// Places that the frontier passed unseen and that got their first pass after all. Whoever lets a pass run out and comes
    /// for the second one was there at their turn: they are in `no_shows`, and not here.
    pub returned: u64,
    /// Absences that ran out, those after a pass that ran out included.
    pub absence_ended: u64,
    pub left: u64,
    /// Passes ended after they were claimed, and the sum of their time inside.
    pub dwells: u64,
    pub dwell_ms: u64,
    /// Passes that ended, claimed or not, and the sum of their lives from call to end.
    pub stays: u64,
    pub stay_ms: u64,
    pub mass_absences: u64,
}

/// What the room as a whole is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before `opens_at`; joining may have started.
    NotOpen {
        opens_at: Timestamp,
        joinable: bool,
    },
    Open,
    Paused,
    SoldOut,
    Closed(ClosedNext),
    /// Nobody needs a pass, and nobody is called.
    Off,
}

/// Where a place stands. Computed, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Admitted(PassGrant),
    /// In line; 1 is next.
    InLine {
        position: u64,
    },
    /// Called while away; `returned` once heard from again: next in turn.
    Absent {
        returned: bool,
    },
    /// No place here: it ended, or this history does not know it.
    Ended,
    /// The room lost history and is being told of it: the place may live, its position is not known.
    Recovering,
}

impl Ledger {
    /// An empty room at its first event.
    pub(crate) fn fresh(incarnation: Incarnation, now: Timestamp, settings: Settings) -> Ledger {
        Ledger {
            incarnation,
            event_no: 1,
            next_seq: 1,
            control: Control::default(),
            clocks: Clocks { now, was_idle: true, ..Clocks::default() },
            serving: 0,
            served: 0,
            bucket: settings.burst * TOKEN,
            pacer: PacerState::start(&settings),
            settings,
            w: SeqSet::default(),
            cur: SeqSet::default(),
            prev: SeqSet::default(),
            passes: Passes::default(),
            once: SeqSet::default(),
            marks: VecDeque::new(),
            sweep_cursor: 0,
            grant_no: 0,
            live_quota: 0,
            totals: Totals::default(),
            descent: Descent::default(),
            flow: Flow::default(),
        }
    }

    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark { incarnation: self.incarnation, event_no: self.event_no, next_seq: self.next_seq }
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    #[must_use]
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    #[must_use]
    pub fn serving(&self) -> Seq {
        self.serving
    }

    #[must_use]
    pub fn served(&self) -> u64 {
        self.served
    }

    /// The pacer's rate now: admissions per 1,000 seconds.
    #[must_use]
    pub fn rate_milli(&self) -> u64 {
        self.pacer.rate_milli
    }

    #[must_use]
    pub fn last_grant_no(&self) -> u64 {
        self.grant_no
    }

    /// The live passes that its limit group has lent it with that grant.
    #[must_use]
    pub fn live_quota(&self) -> u64 {
        self.live_quota
    }

    /// People in line and not yet called.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.in_line_up_to(Seq::MAX)
    }

    /// People called while away who may still return.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.w.len() - self.waiting()
    }

    /// Called before and not inside: at or below the frontier, or above it with the first chance used up.
    pub(crate) fn was_called(&self, seq: Seq) -> bool {
        seq <= self.serving || self.once.contains(seq)
    }

    /// Absent at its turn, and not called since: on a second chance it would have been called before.
    pub(crate) fn was_passed_over(&self, seq: Seq) -> bool {
        seq <= self.serving && !self.once.contains(seq)
    }

    /// Waiting places above the frontier that were called before (in a lull, or by name) and did not come.
    pub(crate) fn called_above(&self) -> SeqSet {
        let above = self.once.iter_from(self.serving + 1);
        above.filter(|seq| self.w.contains(*seq)).collect()
    }

    fn in_line_up_to(&self, seq: Seq) -> u64 {
        let above = self.once.iter_from(self.serving + 1).take_while(|other| *other <= seq);
        let called = above.filter(|other| self.w.contains(*other)).count() as u64;
        self.w.count_between(self.serving, seq) - called
    }

    #[must_use]
    pub fn in_lull(&self) -> bool {
        self.clocks.now < self.clocks.lull_until
    }

    /// Nobody waits, nobody is inside, and nobody is being asked for.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.w.is_empty() && self.passes.live() == 0 && !self.is_recovering()
    }

    /// Its limit group has lent it live passes: they are free for other rooms only once a tick has used a lower grant.
    #[must_use]
    pub fn holds_quota(&self) -> bool {
        self.settings.grouped && self.live_quota > 0
    }

    /// When an idle room wants its next tick: opening and closing times still ahead of its clock.
    #[must_use]
    pub fn next_boundary(&self) -> Option<Timestamp> {
        let Settings { opens_at, closes_at, .. } = self.settings;
        let reopens_at = self.control.closed.as_ref().and_then(|next| next.reopens_at);
        let times = [opens_at, closes_at, self.settings.joins_start(), reopens_at];
        times.into_iter().flatten().filter(|at| *at > self.clocks.now).min()
    }

    /// When the room wants its next tick: at once (the beginning of time) where it is not idle or still has something of
    /// its group's, else at the next of its times, if any.
    #[must_use]
    pub fn next_tick(&self) -> Option<Timestamp> {
        let restless = !self.is_idle() || self.holds_quota();
        if restless { Some(Timestamp::default()) } else { self.next_boundary() }
    }

    /// Places that wait and were heard from in this window or the one before.
    #[must_use]
    pub(crate) fn present(&self) -> SeqSet {
        self.cur.union(&self.prev).intersection(&self.w)
    }

    pub(crate) fn is_present(&self, seq: Seq) -> bool {
        self.w.contains(seq) && (self.cur.contains(seq) || self.prev.contains(seq))
    }

    /// People who could be called now: the present, in line or returned.
    #[must_use]
    pub fn callable(&self) -> u64 {
        self.present().len()
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase_at(self.clocks.now)
    }

    pub(crate) fn phase_at(&self, now: Timestamp) -> Phase {
        let settings = &self.settings;
        if settings.mode == Mode::Off {
            return Phase::Off;
        }
        let quota_reached = settings.admit_total.is_some_and(|all| self.totals.admitted >= all);
        if self.control.sold_out || quota_reached {
            return Phase::SoldOut;
        }
        self.schedule_at(now).unwrap_or(if self.control.paused {
            Phase::Paused
        } else {
            Phase::Open
        })
    }

    /// Closed or not open yet: what the operator's hand and the times say.
    pub(crate) fn schedule_at(&self, now: Timestamp) -> Option<Phase> {
        let Settings { opens_at, closes_at, .. } = self.settings;
        let Control { closed, opened_at, .. } = &self.control;
        if let Some(next) = closed.as_ref().filter(|next| !next.is_over(now)) {
            return Some(Phase::Closed(next.clone()));
        }
        let over = |at: Timestamp| at <= now && opened_at.is_none_or(|opened| at > opened);
        if closes_at.is_some_and(over) {
            return Some(Phase::Closed(ClosedNext::default()));
        }
        let opens_at = opens_at.filter(|at| now < *at && opened_at.is_none())?;
        let joinable = self.settings.joins_start().is_none_or(|from| from <= now);
        Some(Phase::NotOpen { opens_at, joinable })
    }

    /// Where a place of `incarnation` stands.
    #[must_use]
    pub fn standing(&self, incarnation: Incarnation, seq: Seq) -> Standing {
        let may_live = |told: &Recovery| self.w.contains(seq) || !told.known.contains(seq);
        if let Some(told) = &self.descent.recovery
            && (incarnation == self.incarnation || self.may_be_ours(incarnation, seq))
            && self.passes.get(seq).is_none()
        {
            return if may_live(told) { Standing::Recovering } else { Standing::Ended };
        }
        if !self.is_ours(incarnation, seq) {
            return Standing::Ended;
        }
        if let Some(grant) = self.grant_of(seq) {
            return Standing::Admitted(grant);
        }
        if seq >= self.next_seq {
            // The store gave this number and this replica has not heard of it yet: it waits behind all known.
            return Standing::InLine { position: self.waiting() + (seq - self.next_seq) + 1 };
        }
        if !self.w.contains(seq) {
            return Standing::Ended;
        }
        if self.was_called(seq) {
            return Standing::Absent { returned: self.is_present(seq) };
        }
        Standing::InLine { position: self.in_line_up_to(seq) }
    }

    /// The live pass of a place.
    #[must_use]
    pub fn grant_of(&self, seq: Seq) -> Option<PassGrant> {
        let pass = self.passes.get(seq)?;
        let mut remaining = pass.deadline - self.clocks.silence_ms;
        if self.descent.recovery.as_ref().is_some_and(|told| told.shown.contains(seq)) {
            // In use: it runs on from the window's end.
            remaining = remaining.max(self.settings.pass_ttl);
        }
        Some(PassGrant {
            id: PassId { incarnation: self.incarnation, seq, grant: pass.grant },
            remaining,
            claimed: pass.claimed_at.is_some(),
        })
    }

    /// The live pass with this id, in whichever of the room's histories it was granted.
    #[must_use]
    pub fn pass(&self, id: PassId) -> Option<&crate::Pass> {
        if !self.is_ours(id.incarnation, id.seq) {
            return None;
        }
        self.passes.get(id.seq).filter(|pass| pass.grant == id.grant)
    }
}
