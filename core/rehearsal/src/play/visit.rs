//! What people do inside, from the first use of their pass to its end; and those who are inside without a wait.

use jari_crowd::{Person, Turn};
use jari_line::{PassGrant, PassOutcome, Standing};
use jari_units::{Mark, Millis, PassId};

use super::Play;
use crate::agenda::Deed;
use crate::census::Stage;

impl Play {
    /// A newcomer to an `auto` room that does not queue: the first request is at the site, and uses the pass.
    pub(super) fn walk_in(&mut self, person: u32, grant: PassGrant) {
        let (seq, now) = (grant.id.seq, self.now);
        self.step(person, &[Stage::ToCome], Stage::LetIn);
        self.waits.push(Millis::ZERO);
        self.queued.walked_in += 1;
        self.owners.insert(seq, person);
        let life = self.life(person);
        (life.seq, life.joined_at) = (Some(seq), now);
        self.enter(person, grant.id);
    }

    pub(super) fn go_in(&mut self, person: u32) {
        let life = self.lives[person as usize];
        let Some(seq) = life.seq.filter(|_| !life.gone && life.inside.is_none()) else { return };
        let Standing::Admitted(grant) = self.standing(seq) else { return };
        let Turn::GoesIn(_) = self.people[person as usize].turn else { return };
        self.enter(person, grant.id);
    }

    fn enter(&mut self, person: u32, pass: PassId) {
        self.step(person, &[Stage::LetIn], Stage::WentIn);
        let done = self.room.claim(Mark::NONE, &[pass]).expect("no mark is never ahead");
        self.follow(done.event.as_deref());
        let Person { turn, .. } = self.people[person as usize];
        let Turn::GoesIn(visit) = turn else {
            // Who would not have gone in after a wait has seen one page, and goes without a word.
            self.life(person).gone = true;
            return;
        };
        self.life(person).inside = Some(pass);
        self.visiting += 1;
        self.agenda.plan(self.now + visit.touch_every, person, Deed::Touch);
        self.agenda.plan(self.now + visit.dwell, person, Deed::Finish);
    }

    pub(super) fn touch(&mut self, person: u32) {
        let Some(pass) = self.lives[person as usize].inside else { return };
        let done = self.room.touch(Mark::NONE, &[pass]).expect("no mark is never ahead");
        self.follow(done.event.as_deref());
        let Turn::GoesIn(visit) = self.people[person as usize].turn else { return };
        if matches!(done.outcome[..], [PassOutcome::Live(_)]) {
            self.agenda.plan(self.now + visit.touch_every, person, Deed::Touch);
        }
    }

    pub(super) fn finish(&mut self, person: u32) {
        let Some(pass) = self.life(person).inside.take() else { return };
        self.visiting -= 1;
        self.life(person).gone = true;
        let ends = matches!(self.people[person as usize].turn, Turn::GoesIn(visit) if visit.ends);
        if ends {
            let done = self.room.end_pass(Mark::NONE, &[pass]).expect("no mark is never ahead");
            self.follow(done.event.as_deref());
        }
    }
}
