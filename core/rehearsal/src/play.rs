//! Plays a crowd through a room in virtual time, one tick after the other.

mod visit;

use std::collections::BTreeMap;

use jari_crowd::{Crowd, Person, Turn, What};
use jari_line::{
    JoinOutcome, Mode, Replica, Room, RoomEvent, SITE, SeenBits, SeqSet, Settings, Standing, Tick,
};
use jari_units::{Mark, Millis, PassId, Seq, SubjectKey, Timestamp, limits};

use crate::agenda::{Agenda, Deed};
use crate::calibration::Shown;
use crate::census::{Census, Stage};
use crate::queued::Queued;
use crate::report::{Moment, Report, Waits};
use crate::site::Site;
use crate::timeline::Timeline;

/// The presence flush of a real node.
const SEEN_EVERY: u64 = 5;
/// Ranges are noted this often, for at most so many people at once.
const SHOWN_EVERY: u64 = 15;
const SHOWN_MAX: u64 = 400;
/// What the site has said counts for so long.
const WORD_SPAN: Millis = Millis::from_secs(5);
/// When virtual time starts. Any time does, but 0 is also "never".
const START: Timestamp = Timestamp(1_000_000);

/// What to rehearse.
#[derive(Clone, Debug)]
pub struct Plan {
    pub settings: Settings,
    pub crowd: Crowd,
    /// What the pacer `signal` hears; without it nobody says anything.
    pub site: Option<Site>,
    /// Virtual time ends here, whoever still waits.
    pub horizon: Millis,
}

/// Where one simulated person stands.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    stage: Stage,
    seq: Option<Seq>,
    joined_at: Millis,
    /// The page is closed or the phone locked so often at once.
    away: u32,
    /// Closed the page for good, or was told that there is nothing more to wait for.
    gone: bool,
    inside: Option<PassId>,
}

struct Play {
    room: Room,
    replica: Replica,
    people: Vec<Person>,
    lives: Vec<Life>,
    owners: BTreeMap<Seq, u32>,
    agenda: Agenda,
    /// Waiting places whose owner can be heard.
    heard: SeqSet,
    now: Millis,
    someone_came_back: bool,
    shown: Shown,
    /// One for each person let in.
    waits: Vec<Millis>,
    census: Census,
    queued: Queued,
    site: Option<Site>,
    /// People who look at the site now.
    visiting: u64,
}

/// Rehearses. `progress` is told of each virtual minute.
pub fn rehearse(plan: &Plan, progress: &mut dyn FnMut(Millis)) -> Report {
    let mut play = Play::new(plan);
    let ticks = plan.horizon.0 / limits::TICK.0;
    let mut timeline = Timeline::default();
    let mut empty_since = None;
    for tick in 0..ticks {
        play.now = Millis(tick * limits::TICK.0);
        let came = play.tick(tick);
        let moment = play.moment();
        if came || moment.waiting > 0 {
            empty_since = None;
        }
        if moment.waiting == 0 {
            empty_since = empty_since.or(Some(play.now));
        }
        timeline.note(moment);
        if tick.is_multiple_of(60) {
            progress(play.now);
        }
        if play.is_over() {
            break;
        }
    }
    play.report(timeline, empty_since)
}

fn subject(person: u32) -> SubjectKey {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&person.wrapping_mul(0x9e37_79b9).to_be_bytes());
    key[4..8].copy_from_slice(&person.to_be_bytes());
    SubjectKey(key)
}

impl Play {
    fn new(plan: &Plan) -> Play {
        // A room that holds nobody up shows nothing: what it would do is rehearsed.
        let mode = match plan.settings.mode {
            Mode::Auto => Mode::Auto,
            Mode::On | Mode::Off | Mode::Shadow => Mode::On,
        };
        // Times of the day mean nothing here: the rehearsal opens the room at once.
        let settings = Settings {
            opens_at: None,
            joins_from: None,
            closes_at: None,
            grouped: false,
            mode,
            ..plan.settings.clone()
        };
        let room = Room::create(settings, START, 0).outcome;
        let people = plan.crowd.in_order_of_arrival();
        let census = Census::of(u64::from(plan.crowd.people()));
        let mut agenda = Agenda::default();
        for (at, person) in people.iter().enumerate() {
            agenda.plan(person.arrives_after, at as u32, Deed::Join);
        }
        Play {
            replica: Replica::new(room.read()),
            room,
            lives: vec![Life::default(); people.len()],
            people,
            owners: BTreeMap::new(),
            agenda,
            heard: SeqSet::default(),
            now: Millis::ZERO,
            someone_came_back: false,
            shown: Shown::default(),
            waits: Vec::new(),
            census,
            queued: Queued::default(),
            site: plan.site,
            visiting: 0,
        }
    }

    fn report(self, timeline: Timeline, empty_since: Option<Millis>) -> Report {
        let ledger = self.room.ledger();
        let all_came = self.census.count(Stage::ToCome) == 0;
        Report {
            people: self.census,
            totals: *ledger.totals(),
            peak: timeline.peak(),
            drained_after: empty_since.filter(|_| all_came),
            waits: Waits::of(self.waits),
            queued: self.queued,
            calibration: self.shown.finish(),
            ended_after: self.now,
            timeline: timeline.finish(),
        }
    }

    fn is_over(&self) -> bool {
        self.agenda.is_empty() && self.room.ledger().is_idle()
    }

    fn moment(&self) -> Moment {
        let ledger = self.room.ledger();
        Moment {
            at: self.now,
            waiting: self.census.count(Stage::InLine),
            line: ledger.waiting(),
            live: ledger.passes().live(),
            admitted: ledger.totals().admitted,
            rate_milli: ledger.rate_milli(),
        }
    }

    /// One tick. Whether somebody came for the first time.
    fn tick(&mut self, tick: u64) -> bool {
        let to_come = self.census.count(Stage::ToCome);
        while let Some((person, deed)) = self.agenda.due(self.now) {
            self.carry_out(person, deed);
        }
        if tick.is_multiple_of(SEEN_EVERY) || std::mem::take(&mut self.someone_came_back) {
            for bits in SeenBits::pack(&self.heard) {
                let done = self.room.seen(Mark::NONE, &bits).expect("no mark is never ahead");
                self.follow(done.event.as_deref());
            }
        }
        self.tell_of_site();
        let serving = self.room.ledger().serving();
        let done = self.room.admit(Mark::NONE, START + self.now, None);
        let event = done.expect("no mark is never ahead").event;
        self.follow(event.as_deref());
        if let Some(ticked) = event.as_ref().and_then(|event| event.event.tick()) {
            self.ticked(ticked, serving);
        }
        self.queued.note(self.room.ledger().queueing().is_some(), self.now);
        self.settle_ranges();
        if tick.is_multiple_of(SHOWN_EVERY) {
            self.show_ranges();
        }
        self.census.count(Stage::ToCome) < to_come
    }

    /// The site speaks as long before each tick as a real one would: its word counts for some ticks.
    fn tell_of_site(&mut self) {
        let Some(site) = self.site else { return };
        let done = self.room.signal(Mark::NONE, SITE, site.says(self.visiting), WORD_SPAN);
        self.follow(done.expect("no mark is never ahead").event.as_deref());
    }

    /// What a tick means for people; the frontier stood at `before`.
    fn ticked(&mut self, tick: &Tick, before: Seq) {
        if let Some(calls) = &tick.calls {
            calls.seqs.iter().for_each(|seq| self.called(seq));
            let passed =
                self.owners.range(before + 1..calls.serving + 1).map(|(_, person)| *person);
            for person in passed.collect::<Vec<_>>() {
                // Whoever was called or has left is somewhere else by now.
                self.step(person, &[Stage::InLine], Stage::Absent);
            }
        }
        for seq in tick.swept.iter() {
            if let Some(person) = self.owners.get(&seq).copied() {
                self.step(person, &[Stage::Absent], Stage::Missed);
            }
        }
        // Their page tells those who are there that they are next, and is heard again.
        let again = tick.second_chance.iter().filter(|seq| self.is_heard(*seq));
        let again: SeqSet = again.collect();
        self.heard.add_all(&again);
        self.someone_came_back |= !again.is_empty();
    }

    /// A person who stands at one of `from` goes on to `to`. Whether they did.
    fn step(&mut self, person: u32, from: &[Stage], to: Stage) -> bool {
        let stage = &mut self.lives[person as usize].stage;
        let goes = from.contains(stage);
        if goes {
            self.census.step(std::mem::replace(stage, to), to);
        }
        goes
    }

    fn follow(&mut self, event: Option<&RoomEvent>) {
        if let Some(event) = event {
            self.replica.apply(event).expect("the events of one room are in order");
        }
    }

    fn carry_out(&mut self, person: u32, deed: Deed) {
        match deed {
            Deed::Join => self.join(person),
            Deed::Away(span) => {
                self.life(person).away += 1;
                self.unhear(person);
                self.agenda.plan(self.now + span, person, Deed::Back);
            }
            Deed::Back => {
                let life = self.life(person);
                life.away -= 1;
                if life.away == 0 {
                    self.look(person);
                }
            }
            Deed::GiveUp => self.give_up(person),
            Deed::GoIn => self.go_in(person),
            Deed::Touch => self.touch(person),
            Deed::Finish => self.finish(person),
        }
    }

    fn life(&mut self, person: u32) -> &mut Life {
        &mut self.lives[person as usize]
    }

    fn is_heard(&self, seq: Seq) -> bool {
        let life = self.owners.get(&seq).map(|person| self.lives[*person as usize]);
        life.is_some_and(|life| life.away == 0 && !life.gone)
    }

    fn join(&mut self, person: u32) {
        let done = self.room.join(Mark::NONE, &[subject(person)]).expect("no mark is never ahead");
        self.follow(done.event.as_deref());
        let seq = match done.outcome[0] {
            JoinOutcome::Joined { seq } => seq,
            JoinOutcome::Allowed(grant) => return self.walk_in(person, grant),
            _ => {
                self.step(person, &[Stage::ToCome], Stage::TurnedAway);
                self.life(person).gone = true;
                return;
            }
        };
        self.step(person, &[Stage::ToCome], Stage::InLine);
        let now = self.now;
        let life = self.life(person);
        (life.seq, life.joined_at) = (Some(seq), now);
        self.owners.insert(seq, person);
        self.heard.insert(seq);
        let Person { interruptions, gives_up, .. } = self.people[person as usize].clone();
        for interruption in interruptions {
            // A refresh and a second tab keep the place and are heard all the same.
            if let What::Idle(span) | What::CloseAndReturn(span) = interruption.what {
                self.agenda.plan(now + interruption.after, person, Deed::Away(span));
            }
        }
        if let Some(gives_up) = gives_up {
            self.agenda.plan(now + gives_up.after, person, Deed::GiveUp);
        }
    }

    fn unhear(&mut self, person: u32) {
        if let Some(seq) = self.lives[person as usize].seq {
            self.heard.remove(seq);
        }
    }

    /// Back at the page: it asks, and shows how the place stands.
    fn look(&mut self, person: u32) {
        let life = self.lives[person as usize];
        let Some(seq) = life.seq.filter(|_| !life.gone && life.inside.is_none()) else { return };
        match self.standing(seq) {
            Standing::Admitted(_) => self.turn_is_seen(person),
            Standing::InLine { .. } | Standing::Absent { .. } | Standing::Recovering => {
                self.heard.insert(seq);
                self.someone_came_back = true;
            }
            Standing::Ended => self.life(person).gone = true,
        }
    }

    fn standing(&self, seq: Seq) -> Standing {
        self.room.ledger().standing(self.room.mark().incarnation, seq)
    }

    fn called(&mut self, seq: Seq) {
        self.heard.remove(seq);
        self.shown.came(seq, self.now);
        let Some(person) = self.owners.get(&seq).copied() else { return };
        let life = self.lives[person as usize];
        // A second chance is no second wait, and whoever has given up waits no more.
        if self.step(person, &[Stage::InLine, Stage::Absent], Stage::LetIn) {
            self.waits.push(self.now - life.joined_at);
        }
        if life.away == 0 && !life.gone {
            self.turn_is_seen(person);
        }
    }

    fn turn_is_seen(&mut self, person: u32) {
        let Person { turn, reaction, .. } = self.people[person as usize];
        if let Turn::GoesIn(_) = turn {
            self.agenda.plan(self.now + reaction, person, Deed::GoIn);
        }
    }

    fn give_up(&mut self, person: u32) {
        let life = self.lives[person as usize];
        let Some(seq) = life.seq.filter(|_| !life.gone) else { return };
        let waited = self.step(person, &[Stage::InLine, Stage::Absent], Stage::GaveUp);
        // Or their pass ran out, and they have had enough before the second one.
        if !waited && !matches!(self.standing(seq), Standing::Absent { .. }) {
            return;
        }
        self.life(person).gone = true;
        self.unhear(person);
        self.shown.drop(seq);
        let goodbye = self.people[person as usize].gives_up.is_some_and(|up| up.says_goodbye);
        if goodbye {
            let left = self.room.leave(Mark::NONE, &[subject(person)]);
            self.follow(left.expect("no mark is never ahead").event.as_deref());
        }
    }

    /// Notes the ranges that people in line are shown now, evenly over the line.
    fn show_ranges(&mut self) {
        let waiting: Vec<Seq> = self.heard.iter_from(self.room.ledger().serving() + 1).collect();
        let every = waiting.len().div_ceil(SHOWN_MAX as usize).max(1);
        for seq in waiting.into_iter().step_by(every) {
            if let Standing::InLine { position } = self.standing(seq)
                && let Ok(estimate) = self.replica.estimate(position)
            {
                self.shown.note(seq, self.now, estimate);
            }
        }
    }

    /// Whom the frontier passed had their turn, there or away. The rest of those called are told by name, and nobody else
    /// leaves the line unnoticed; to ask for the standing of everybody in line each tick would take most of the time.
    fn settle_ranges(&mut self) {
        for seq in self.shown.open_up_to(self.room.ledger().serving()) {
            if !matches!(self.standing(seq), Standing::InLine { .. }) {
                self.shown.came(seq, self.now);
            }
        }
    }
}
