//! How an event changes a ledger. The only place where a ledger changes.

use jari_units::{EventNo, Incarnation, Millis, Seq};
use thiserror::Error;

use crate::ledger::{Ledger, Notice, TOKEN};
use crate::{Calls, Change, EndReason, Event, Pass, RoomEvent, SeqSet, Settings, Tick, WalkedIn};

/// An event that is not the next one of this history: the copy must be read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("event {got} of incarnation {got_in} does not follow event {have} of {have_in}")]
pub struct OutOfOrder {
    pub have_in: Incarnation,
    pub have: EventNo,
    pub got_in: Incarnation,
    pub got: EventNo,
}

impl Ledger {
    /// Applies the next event.
    ///
    /// # Errors
    /// [`OutOfOrder`] where it is not the next event of this incarnation; nothing changed then.
    pub fn apply(&mut self, event: &RoomEvent) -> Result<(), OutOfOrder> {
        if let Event::Recovering(recovering) = &event.event
            && recovering.after == Some((self.incarnation, self.event_no))
        {
            self.go_on(event.incarnation, recovering);
            return Ok(());
        }
        if event.incarnation != self.incarnation || event.event_no != self.event_no + 1 {
            return Err(OutOfOrder {
                have_in: self.incarnation,
                have: self.event_no,
                got_in: event.incarnation,
                got: event.event_no,
            });
        }
        self.event_no = event.event_no;
        match &event.event {
            // A second beginning in one incarnation cannot be numbered: it is event 1.
            Event::Created { .. } | Event::Recovering(_) => {}
            Event::Joined { first, people, granted, deadline } => {
                self.joined(*first, people.len() as u64, granted, *deadline);
            }
            Event::Ended { seqs, reason } => self.end(seqs, *reason),
            Event::Seen { seqs } => self.cur.add_all(seqs),
            Event::Ticked(tick) => self.ticked(tick),
            Event::Called(calls) => {
                self.bring_in(calls);
            }
            Event::Touched { seqs, deadline } => self.touched(seqs, *deadline),
            Event::Extended { seq, deadline, since } => self.extended(*seq, *deadline, *since),
            Event::Changed { change, ended, granted, deadline } => {
                self.end(ended, EndReason::Blocked);
                self.grant(granted, *deadline);
                self.changed(change);
            }
            Event::Lulled { until, guard_until } => {
                self.clocks.lull_until = *until;
                self.clocks.mass_guard_until = *guard_until;
                self.totals.mass_absences += 1;
            }
            Event::Restored(restored) => self.restored(restored),
            Event::Reattached(reattached) => self.reattached(reattached),
            Event::Settled(settled) => self.settled(settled),
            Event::Attended { node, at } => self.attended(*node, *at),
            Event::WalkedIn(walked_in) => self.walked_in(walked_in),
            Event::Flowed(flowed) => {
                self.ticked(&flowed.tick);
                self.flow = flowed.flow.clone();
            }
            Event::Signalled(word) => self.signalled(*word),
            Event::Redeemed { seq, landing, deadline } => {
                self.redeemed(*seq, *landing, *deadline);
            }
        }
        Ok(())
    }

    fn joined(&mut self, first: Seq, count: u64, granted: &SeqSet, deadline: Millis) {
        self.next_seq = first + count;
        self.totals.joined += count;
        if count > 0 {
            self.w.insert_range(first..=first + count - 1);
            self.cur.insert_range(first..=first + count - 1);
        }
        self.grant(granted, deadline);
    }

    fn walked_in(&mut self, event: &WalkedIn) {
        self.joined(event.first, event.people.len() as u64, &event.granted, event.deadline);
        self.bucket = self.bucket.saturating_sub(event.walked.saturating_mul(TOKEN));
    }

    /// Turns places into passes: the one way a pass comes to be.
    fn grant(&mut self, seqs: &SeqSet, deadline: Millis) {
        let waited = seqs.intersection(&self.w);
        self.totals.returned +=
            waited.iter().filter(|seq| self.was_passed_over(*seq)).count() as u64;
        for bits in [&mut self.w, &mut self.cur, &mut self.prev] {
            bits.remove_all(seqs);
        }
        for seq in seqs.iter() {
            let grant = if self.once.contains(seq) { 2 } else { 1 };
            self.totals.admitted += u64::from(grant == 1);
            let granted_at = self.clocks.silence_ms;
            let (claimed_at, paying_since, landed) = (None, None, None);
            let pass = Pass { grant, deadline, granted_at, claimed_at, paying_since, landed };
            self.passes.put(seq, pass);
        }
    }

    fn bring_in(&mut self, calls: &Calls) {
        let passed = calls.served - self.served;
        let in_turn = calls.seqs.difference(&self.once);
        let called_in_turn = in_turn.count_between(self.serving, calls.serving);
        self.totals.absent += passed.saturating_sub(called_in_turn);
        self.grant(&calls.seqs, calls.deadline);
        if calls.serving != self.serving {
            self.marks.push_back((self.clocks.silence_ms, calls.serving));
        }
        self.serving = calls.serving;
        self.served = calls.served;
    }

    fn end(&mut self, seqs: &SeqSet, reason: EndReason) {
        for bits in [&mut self.w, &mut self.cur, &mut self.prev, &mut self.once] {
            bits.remove_all(seqs);
        }
        self.detach(seqs);
        if let Some(told) = &mut self.descent.recovery {
            // Whatever a replica says of them later is older.
            told.known.add_all(seqs);
        }
        for seq in seqs.iter() {
            if let Some(pass) = self.passes.remove(seq) {
                self.count_end(&pass);
            }
        }
        if reason == EndReason::Left {
            self.totals.left += seqs.len();
        }
    }

    fn count_end(&mut self, pass: &Pass) {
        self.totals.stays += 1;
        self.totals.stay_ms += (self.clocks.silence_ms - pass.granted_at).0;
        if let Some(claimed_at) = pass.claimed_at {
            self.totals.dwells += 1;
            self.totals.dwell_ms += (self.clocks.silence_ms - claimed_at).0;
        } else {
            self.totals.no_shows += 1;
        }
    }

    pub(crate) fn touched(&mut self, seqs: &SeqSet, deadline: Millis) {
        self.used(seqs);
        for seq in seqs.iter() {
            let Some(mut pass) = self.passes.remove(seq) else {
                continue;
            };
            if pass.claimed_at.is_none() {
                pass.claimed_at = Some(self.clocks.silence_ms);
                self.totals.claimed += 1;
            }
            pass.deadline = pass.deadline.max(deadline);
            self.passes.put(seq, pass);
        }
    }

    fn extended(&mut self, seq: Seq, deadline: Millis, since: Millis) {
        let Some(mut pass) = self.passes.remove(seq) else {
            return;
        };
        pass.paying_since = Some(since);
        pass.deadline = pass.deadline.max(deadline);
        self.passes.put(seq, pass);
    }

    pub(crate) fn ticked(&mut self, tick: &Tick) {
        self.clocks.now = tick.now;
        self.clocks.line_ms = tick.line_ms;
        self.clocks.silence_ms = tick.silence_ms;
        self.clocks.lull_until = tick.lull_until;
        if tick.window_turned {
            self.clocks.window_start = tick.silence_ms;
            self.prev = std::mem::take(&mut self.cur);
        }
        self.bucket = tick.bucket;
        self.pacer = tick.pacer;
        self.grant_no = tick.grant_no;
        self.live_quota = tick.live_quota;
        self.expire(tick);
        if let Some(calls) = &tick.calls {
            self.bring_in(calls);
        }
        if tick.mass_absence {
            self.clocks.mass_guard_until = tick.silence_ms + self.settings.presence_window;
            self.totals.mass_absences += 1;
        }
        self.sweep(tick);
        self.clocks.was_idle = self.is_idle();
    }

    fn expire(&mut self, tick: &Tick) {
        for seq in tick.expired.iter() {
            if let Some(pass) = self.passes.remove(seq) {
                self.count_end(&pass);
            }
            self.once.remove(seq);
        }
        self.detach(&tick.expired);
        for seq in tick.second_chance.iter() {
            if let Some(pass) = self.passes.remove(seq) {
                self.count_end(&pass);
            }
            self.once.insert(seq);
            self.w.insert(seq);
        }
    }

    fn sweep(&mut self, tick: &Tick) {
        for bits in [&mut self.w, &mut self.cur, &mut self.prev, &mut self.once] {
            bits.remove_all(&tick.swept);
        }
        self.detach(&tick.swept);
        self.totals.absence_ended += tick.swept.len();
        self.sweep_cursor = tick.sweep_cursor;
        let old = |mark: &(Millis, Seq), grace: Millis| tick.silence_ms - mark.0 >= grace;
        let grace = self.settings.absence_grace;
        while self.marks.get(1).is_some_and(|next| old(next, grace)) {
            self.marks.pop_front();
        }
    }

    fn changed(&mut self, change: &Change) {
        if let Some(told) = &mut self.descent.recovery {
            told.operated = true;
        }
        match change {
            Change::Settings(settings) => self.reset(settings.as_ref().clone()),
            Change::AdmitTotal(total) => self.settings.admit_total = *total,
            Change::Pause => self.control.paused = true,
            Change::Resume => self.control.paused = false,
            Change::Close(next) => self.control.closed = Some(next.clone()),
            Change::Open => {
                self.control.closed = None;
                self.control.opened_at = Some(self.clocks.now);
            }
            Change::SoldOut(sold_out) => self.control.sold_out = *sold_out,
            Change::Announce(text) => {
                let at = self.clocks.now;
                self.control.notice = (!text.is_empty()).then(|| Notice { text: text.clone(), at });
            }
            Change::Block(_) | Change::Unblock(_) | Change::Allow(_) | Change::Disallow(_) => {}
        }
    }

    /// New settings never refill the bucket: they only cut it to the new burst.
    fn reset(&mut self, settings: Settings) {
        self.bucket = self.bucket.min(settings.burst.saturating_mul(TOKEN));
        self.pacer.follow(&self.settings, &settings);
        if settings.opens_at != self.settings.opens_at {
            self.control.opened_at = None;
        }
        let other_mode = settings.mode != self.settings.mode;
        self.settings = settings;
        if other_mode {
            self.flow.auto = self.fresh_auto();
        }
    }
}
