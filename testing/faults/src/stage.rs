//! The course of a run: the room fills, the fault is made, all is waited for to be well again, and everybody is asked in the
//! quiet. Which fault it is, its own file says.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use crate::crowd::{Crowd, Habits};
use crate::found::Kind;
use crate::row::Row;
use crate::scene::Scene;
use crate::seen::Told;
use crate::site::{Ground, Plan, ROOM, Site};
use crate::truth::{Truth, Word};
use crate::watch::Watch;

/// Longest that the room takes to fill, and what each person adds to it; a busy machine is slow.
const FILLED_WITHIN: Duration = Duration::from_secs(120);
const FILLED_WITHIN_EACH: Duration = Duration::from_millis(20);
/// Longest from the fault's end until all is well: a recovery's window, a breaker's longest pause, and time to spare.
const WELL_WITHIN: Duration = Duration::from_secs(90);
/// All must have been well for so long.
const WELL_FOR: Duration = Duration::from_secs(2);
/// How often what is waited for is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Longest until a place that became free is given on.
const GOES_ON_WITHIN: Duration = Duration::from_secs(60);
/// Places made free to see that the line goes on.
const MADE_FREE: usize = 5;
/// Newcomers come one by one so far apart while the fault is made.
const NEWCOMERS_APART: Duration = Duration::from_millis(400);
/// Of the people of the beginning, one in so many comes in that time besides; the last ones when all is over.
const NEWCOMERS_ONE_IN: usize = 2;

const HABITS: Habits = Habits { stays_one_in: 4, inside_s: (5, 40), gives_up_one_in: 20 };

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) crowd: Crowd,
    pub(crate) watch: Watch,
    pub(crate) notes: Vec<String>,
    pub(crate) plan: Plan,
    /// At the beginning.
    pub(crate) people: usize,
    told: Told,
}

impl Stage {
    pub(crate) async fn set(ground: Ground, plan: Plan, people: usize) -> Result<Stage> {
        let site = Site::start(ground, plan).await?;
        let mut watch = Watch::new(ROOM, &site.key);
        for node in &site.nodes {
            watch.also(&node.url(), &node.ops_url());
        }
        let doors = site.nodes.iter().map(crate::node::Node::url).collect();
        let truth = Truth::new(plan.caps.capacity);
        let scene = Arc::new(Scene::new(ROOM, doors, truth));
        let crowd = Crowd::new(scene, HABITS);
        let (notes, told) = Default::default();
        Ok(Stage { site, crowd, watch, notes, plan, people, told })
    }

    pub(crate) fn scene(&self) -> &Scene {
        &self.crowd.scene
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    pub(crate) fn broken(&self, text: impl Into<String>) {
        self.scene().truth.found.note(Kind::Run, text.into());
    }

    /// People come, once every node knows the room, until it is full inside and all of them have a place.
    pub(crate) async fn fill(&mut self) {
        let people = self.people;
        let deadline = Instant::now() + FILLED_WITHIN;
        while !self.watch.seen.are_well(self.site.alive()) {
            if Instant::now() > deadline {
                return self.broken("the nodes are not ready before anything was done to them");
            }
            sleep(LOOK).await;
        }
        self.crowd.come(people, Duration::from_millis(5));
        let each = FILLED_WITHIN_EACH.saturating_mul(u32::try_from(people).expect("a crowd"));
        let deadline = Instant::now() + FILLED_WITHIN + each;
        loop {
            let (given, inside) = (self.scene().truth.given(), self.scene().truth.admissions());
            if given == people as u64 && inside >= self.plan.caps.capacity {
                return;
            }
            if Instant::now() > deadline {
                return self.broken(format!("{given} of {people} came, {inside} were let in"));
            }
            sleep(LOOK).await;
        }
    }

    /// From here on counts what people see. More people come meanwhile.
    pub(crate) fn fault_begins(&self, newcomers: bool) {
        self.watch.seen.fault_begins();
        self.scene().seen.begin();
        if newcomers {
            self.crowd.come(self.people / NEWCOMERS_ONE_IN, NEWCOMERS_APART);
        }
    }

    /// The fault is over as far as it was made: waits until every node is ready and nobody's calls go unserved.
    pub(crate) async fn well_again(&mut self) {
        let (begun, mut since) = (Instant::now(), None::<Instant>);
        loop {
            let well = self.watch.seen.are_well(self.site.alive());
            if well && self.scene().seen.unserved() == 0 {
                let since = *since.get_or_insert_with(Instant::now);
                if since.elapsed() >= WELL_FOR {
                    let took = (since - begun).as_secs_f64();
                    self.note(format!("well {took:.1} s after the fault was over"));
                    break;
                }
            } else {
                since = None;
            }
            if begun.elapsed() > WELL_WITHIN {
                let unserved = self.scene().seen.unserved();
                self.broken(format!(
                    "not well {WELL_WITHIN:?} after the fault: nodes well: {well}, calls unserved: {unserved}"
                ));
                break;
            }
            sleep(LOOK).await;
        }
        self.told = self.scene().seen.end();
    }

    /// Everybody stands still and is asked; then the line goes on, and everybody is asked once more.
    pub(crate) async fn ask_everybody(&mut self, who_left_too: bool) -> Result<()> {
        self.ask_in_the_quiet(who_left_too).await?;
        self.goes_on().await;
        self.ask_in_the_quiet(false).await
    }

    async fn ask_in_the_quiet(&mut self, who_left_too: bool) -> Result<()> {
        let scene = self.crowd.scene.clone();
        let _still = scene.going.write().await;
        self.site.steer("pause").await?;
        self.settled().await;
        self.crowd.ask_all().await;
        let places = self.crowd.places().await;
        let there: Vec<_> = places.iter().filter(|place| place.left == Word::Not).collect();
        scene.truth.in_order(&there);
        if who_left_too {
            self.crowd.come_back().await;
        }
        self.site.steer("resume").await
    }

    /// Paused: until every node has heard of it. A tick later all of them show the same.
    async fn settled(&self) {
        let deadline = Instant::now() + GOES_ON_WITHIN;
        let from = self.watch.seen.newest_tick();
        while self.watch.seen.newest_tick() < from + 2_000 {
            if Instant::now() > deadline {
                return self.broken("the room's clock stands still");
            }
            sleep(LOOK).await;
        }
    }

    async fn goes_on(&self) {
        let truth = &self.scene().truth;
        let before = truth.admissions();
        let left = self.crowd.make_room(MADE_FREE).await as u64;
        let deadline = Instant::now() + GOES_ON_WITHIN;
        while truth.admissions() < before + left {
            if Instant::now() > deadline {
                let came = truth.admissions() - before;
                return self.broken(format!("{left} left and {came} came in their place"));
            }
            sleep(LOOK).await;
        }
        if left == 0 {
            self.broken("nobody inside could leave: the run shows nothing of what comes after");
        }
    }

    /// The caps are held to what was sampled all along; then everything ends.
    pub(crate) async fn end(self, name: &str, title: &str) -> Row {
        let found = self.scene().truth.found.clone();
        self.plan.caps.check(&self.watch.seen.samples(), &found);
        let places = self.crowd.places().await;
        self.crowd.end();
        let mut row = Row::new(name, title, &places, &found);
        row.told = self.told;
        row.notes = self.notes;
        row.watched(&self.watch.seen);
        for (nth, node) in self.site.nodes.iter().enumerate() {
            row.log.extend(node.complaints().into_iter().map(|line| format!("node {nth}: {line}")));
        }
        row
    }
}
