//! admit: the tick. Moves the clocks, ends what is due, fills the bucket and calls the next places.

use jari_units::{Mark, Millis, Seq, Timestamp, limits};

use crate::call::{Look, Turn, call};
use crate::ledger::{Clocks, Ledger, Phase, TOKEN};
use crate::mode::Afterwards;
use crate::{Calls, Done, Event, Flow, Flowed, LostHistory, Room, SeqSet, Tick};

/// What a limit group lends a room for one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupGrant {
    /// Rises with each grant; a room uses each at most once.
    pub grant_no: u64,
    /// Admissions of this tick at most; unused ones are lost.
    pub tokens: u64,
    /// Live passes the room may have.
    pub live_quota: u64,
}

/// What a tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmitOutcome {
    pub called: u64,
    /// Passes that ended: for good, or with a second chance left.
    pub ended: u64,
    /// A lull began at this tick.
    pub lull_began: bool,
    /// Most of the called were unseen: nobody was called. Someone should look.
    pub mass_absence: bool,
    /// People blocked or allowed by name whom the store knew and does not know any more, found at this tick; how a store can
    /// lose them is its own matter. Nobody else knows them: someone has to name them again.
    pub unlisted: u64,
    /// The room is in a limit group, and the store does not know in which: until it is told again nobody is called.
    pub without_group: bool,
}

impl Room {
    /// The tick at `now`, by the store's clock. Within a limit group it needs the group's `grant`.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn admit(
        &mut self,
        mark: Mark,
        now: Timestamp,
        grant: Option<GroupGrant>,
    ) -> Result<Done<AdmitOutcome>, LostHistory> {
        self.guard(mark)?;
        let (outcome, tick, flow) = self.ledger.tick(now, grant);
        let Some(settled) = self.ledger.settling(&tick) else {
            let event = if flow == self.ledger.flow {
                Event::Ticked(Box::new(tick))
            } else {
                Event::Flowed(Box::new(Flowed { tick, flow }))
            };
            return Ok(self.commit(outcome, Some(event)));
        };
        let outcome = AdmitOutcome { lull_began: true, ..outcome };
        Ok(self.commit(outcome, Some(Event::Settled(Box::new(settled)))))
    }
}

impl Ledger {
    fn tick(&self, now: Timestamp, grant: Option<GroupGrant>) -> (AdmitOutcome, Tick, Flow) {
        let mut tick = self.moved_clocks(now);
        let lull_began = tick.lull_until > self.clocks.lull_until;
        let (second_chance, expired) = self.ends_due(tick.silence_ms);
        let ended = second_chance.len() + expired.len();
        let live = self.passes.live() - ended;

        let worst = self.flow.worst(tick.now);
        tick.pacer = self.pacer.step(&self.settings, (live, worst), tick.line_ms);
        tick.bucket = self.filled_bucket(tick.line_ms, tick.pacer.rate_milli);
        let fresh = grant.filter(|grant| grant.grant_no > self.grant_no);
        tick.grant_no = fresh.map_or(self.grant_no, |grant| grant.grant_no);
        tick.live_quota = fresh.map_or(self.live_quota, |grant| grant.live_quota);

        let free = self.free(&tick, live, fresh);
        let mut outcome = AdmitOutcome { ended, lull_began, ..AdmitOutcome::default() };
        let waiting = self.w.union(&second_chance);
        let present =
            if tick.window_turned { self.cur.intersection(&self.w) } else { self.present() };
        let turn = self.turn(&tick, &waiting, &present, free);
        if self.alarms(&tick, &turn) {
            outcome.mass_absence = true;
            outcome.lull_began = true;
            tick.mass_absence = true;
            tick.lull_until = tick.now + self.settings.presence_window;
        } else if !turn.seqs.is_empty() || turn.serving != self.serving {
            outcome.called = turn.seqs.len();
            tick.bucket -= turn.seqs.len() * TOKEN;
            tick.calls = Some(self.calls(turn, tick.silence_ms));
        }
        let called = tick.calls.as_ref().map(|calls| &calls.seqs);
        (tick.swept, tick.sweep_cursor) =
            self.sweep_slice(tick.silence_ms, &waiting, &present, called);
        (tick.second_chance, tick.expired) = (second_chance, expired);
        let live = live + outcome.called;
        let gone = outcome.called + tick.swept.len();
        let idle = live == 0 && waiting.len() == gone;
        let after = Afterwards { live, not_called: present.len() - outcome.called, idle };
        let auto = self.auto_after(&tick, after);
        let flow = Flow { auto, words: self.flow.words_at(tick.now) };
        (outcome, tick, flow)
    }

    /// The clocks at `now`. A late tick starts a lull: nobody is punished for a time when Jari could not hear them.
    fn moved_clocks(&self, now: Timestamp) -> Tick {
        let Clocks { line_ms, silence_ms, lull_until, window_start, was_idle, .. } = self.clocks;
        let now = now.max(self.clocks.now);
        let since = now.since(self.clocks.now);
        let late = since > limits::TICK_LATE;
        let mut tick = Tick { now, line_ms, silence_ms, lull_until, ..Tick::default() };
        if late && was_idle {
            // Nobody was here to be heard: the line's clock goes on, nobody's silence does.
            tick.line_ms += since;
        } else if late && self.is_recovering() {
            // Nobody could tell anything meanwhile: the window is as long as ever.
            tick.lull_until = lull_until + since;
        } else if late {
            tick.lull_until = now + self.settings.presence_window;
        } else {
            tick.line_ms += since;
            let heard = if self.is_recovering() { now } else { lull_until.max(self.clocks.now) };
            tick.silence_ms += now.since(heard);
        }
        tick.window_turned = tick.silence_ms - window_start >= self.settings.presence_window;
        tick
    }

    /// Passes due: unclaimed ones with a second chance left, and all that end for good.
    fn ends_due(&self, silence_ms: Millis) -> (SeqSet, SeqSet) {
        if self.is_recovering() {
            return (SeqSet::default(), SeqSet::default());
        }
        let (unclaimed, claimed) = self.passes.due(silence_ms, limits::EXPIRE_MAX);
        let twice = unclaimed.intersection(&self.once);
        (unclaimed.difference(&twice), claimed.union(&twice))
    }

    fn filled_bucket(&self, line_ms: Millis, rate_milli: u64) -> u64 {
        let fill = rate_milli.saturating_mul((line_ms - self.clocks.line_ms).0);
        let full = self.settings.burst.saturating_mul(TOKEN);
        self.bucket.saturating_add(fill).min(full)
    }

    fn free(&self, tick: &Tick, live: u64, grant: Option<GroupGrant>) -> u64 {
        // A rate of nothing means nobody (an operator's brake, or the tenant admits by hand), whatever the bucket holds
        // from before.
        if tick.pacer.rate_milli == 0 || self.phase_at(tick.now) != Phase::Open {
            return 0;
        }
        // Who is next, and how many are inside, is still being told.
        if self.is_recovering() {
            return 0;
        }
        let group = match (self.settings.grouped, grant) {
            (false, _) => u64::MAX,
            (true, None) => 0,
            (true, Some(grant)) => grant.tokens.min(grant.live_quota.saturating_sub(live)),
        };
        let here = self.room_for_more(live).min(tick.bucket / TOKEN).min(self.settings.per_tick);
        here.min(group)
    }

    /// Admissions that capacity and the quota leave.
    pub(crate) fn room_for_more(&self, live: u64) -> u64 {
        let quota = self.settings.admit_total.unwrap_or(u64::MAX);
        let quota_left = quota.saturating_sub(self.totals.admitted);
        self.settings.capacity.saturating_sub(live).min(quota_left)
    }

    fn turn(&self, tick: &Tick, waiting: &SeqSet, present: &SeqSet, free: u64) -> Turn {
        let mut again = self.called_above();
        // A second chance that begins at this tick is one as well.
        again.extend(waiting.difference(&self.w).iter().filter(|seq| *seq > self.serving));
        let look = Look {
            waiting,
            present,
            again: &again,
            serving: self.serving,
            next_seq: self.next_seq,
            in_lull: tick.now < tick.lull_until,
        };
        call(&look, free)
    }

    fn alarms(&self, tick: &Tick, turn: &Turn) -> bool {
        tick.now >= tick.lull_until
            && tick.silence_ms >= self.clocks.mass_guard_until
            && turn.is_mass_absence()
    }

    pub(crate) fn calls(&self, turn: Turn, silence_ms: Millis) -> Calls {
        Calls {
            serving: turn.serving,
            served: self.served + turn.passed,
            seqs: turn.seqs,
            deadline: silence_ms + self.settings.claim_window,
        }
    }

    /// One slice of absences whose grace ran out, and where the next slice starts (0: at the lowest waiting place).
    fn sweep_slice(
        &self,
        silence_ms: Millis,
        waiting: &SeqSet,
        present: &SeqSet,
        called: Option<&SeqSet>,
    ) -> (SeqSet, Seq) {
        if self.is_recovering() {
            return (SeqSet::default(), self.sweep_cursor);
        }
        let grace = self.settings.absence_grace;
        let old = self.marks.iter().rev().find(|(at, _)| silence_ms - *at >= grace);
        let Some((_, limit)) = old else {
            return (SeqSet::default(), 0);
        };
        let Some(lowest) = waiting.min().filter(|lowest| lowest <= limit) else {
            return (SeqSet::default(), 0);
        };
        let start = if self.sweep_cursor > *limit { lowest } else { self.sweep_cursor.max(lowest) };
        let end = (start + limits::SWEEP_SLICE).min(limit + 1);
        let mut swept = waiting.within(start..=end - 1).difference(present);
        if let Some(called) = called {
            swept.remove_all(called);
        }
        (swept, end)
    }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
