//! One simulated person carries out a plan over the wire: arrives, waits, goes in, leaves. The plan is the crowd's.

use std::collections::VecDeque;
use std::sync::Arc;

use jari_api::{PassView, PlaceStatus, PlaceView};
use jari_crowd::{Device, Interruption, Person, Turn, Visit, What};
use jari_units::Millis;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};

use super::cast::Cast;
use super::ear::{Ear, Heard};
use super::line_client::No;
use super::tally::Fate;

/// Tries of a call that got no answer before the person gives up on the site.
const TRIES_MAX: u32 = 20;

/// A room opens with its next tick, so up to this much after its time.
const TICK_MAX: Duration = Duration::from_millis(jari_units::limits::TICK.0);

/// The whole visit, from arriving to leaving.
pub(super) async fn live(cast: Arc<Cast>, plan: Person) {
    let mut visitor = match arrive(&cast, plan).await {
        Some(visitor) => visitor,
        None => return cast.tally.note(Fate::TurnedAway),
    };
    let Some(pass) = visitor.wait().await else { return };
    match visitor.plan.turn {
        Turn::NoShow => cast.tally.note(Fate::NoShow),
        Turn::GoesIn(visit) => visitor.go_in(&pass, visit).await,
    }
}

struct Waiting {
    cast: Arc<Cast>,
    plan: Person,
    identity: String,
    place: String,
    view: Box<PlaceView>,
    /// The best position shown so far.
    shown: Option<u64>,
    joined: Instant,
    second_tabs: JoinSet<()>,
}

async fn arrive(cast: &Arc<Cast>, plan: Person) -> Option<Waiting> {
    let identity = insist(cast, move || cast.line.visitor()).await?;
    let view = join(cast, &identity).await?;
    cast.tally.note(Fate::Joined);
    let mut waiting = Waiting {
        cast: cast.clone(),
        plan,
        identity,
        place: String::new(),
        view: Box::new(view.clone()),
        shown: None,
        joined: Instant::now(),
        second_tabs: JoinSet::new(),
    };
    waiting.take(Box::new(view));
    Some(waiting)
}

/// Calls until there is an answer, as a page does: waits for the opening and for a busy server. `None` where the answer
/// is no for good.
async fn insist<T, F>(cast: &Cast, call: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, No>>,
{
    for _ in 0..TRIES_MAX {
        let no = match call().await {
            Ok(answer) => return Some(answer),
            Err(no) => no,
        };
        cast.note(&no);
        match no {
            No::NotOpen => {
                let opened = cast.opens + TICK_MAX;
                sleep_until(opened.max(Instant::now() + Duration::from_millis(300))).await;
            }
            No::Later { after, .. } => sleep(after).await,
            No::Lost => sleep(Duration::from_secs(1)).await,
            No::Refused(_) => return None,
        }
    }
    None
}

async fn join(cast: &Cast, identity: &str) -> Option<PlaceView> {
    insist(cast, move || cast.line.join(identity)).await
}

/// How an interruption leaves the person.
enum Then {
    WaitsOn,
    Gone,
}

impl Waiting {
    /// Waits for the turn; `None` where the person leaves, or has no place any more.
    async fn wait(&mut self) -> Option<PassView> {
        let mut coming: VecDeque<Interruption> =
            std::mem::take(&mut self.plan.interruptions).into();
        let mut ear = self.listen().await;
        loop {
            match self.view.status {
                PlaceStatus::Admitted => return self.view.pass.take(),
                PlaceStatus::Ended => {
                    self.cast.tally.note(Fate::TooLate);
                    return None;
                }
                PlaceStatus::Waiting | PlaceStatus::Next | PlaceStatus::Absent => {}
            }
            let interrupted = coming.front().map(|next| next.after);
            let fed_up = self.plan.gives_up.map(|gives_up| gives_up.after);
            let deadline = interrupted.into_iter().chain(fed_up).min().map(|after| self.at(after));
            let heard = tokio::select! {
                heard = ear.hear(&self.place) => heard,
                () = until(deadline) => {
                    if fed_up.is_some_and(|after| self.at(after) <= Instant::now()) {
                        self.give_up().await;
                        return None;
                    }
                    let next = coming.pop_front()?;
                    // A locked phone or a page that is left hears nothing.
                    drop(ear);
                    if let Then::Gone = self.interrupt(next.what).await {
                        return None;
                    }
                    ear = self.listen().await;
                    continue;
                }
            };
            match heard {
                Heard::Place(view) => self.take(view),
                Heard::Nothing => {}
                Heard::Refused => self.rejoin(false).await?,
            }
        }
    }

    async fn listen(&self) -> Ear {
        Ear::open(&self.cast, self.plan.device, &self.view, &self.place).await
    }

    fn at(&self, after: Millis) -> Instant {
        self.joined + Duration::from_millis(after.0)
    }

    /// Takes in what was told, and checks what every visitor may rely on (Q2: a shown position never rises).
    fn take(&mut self, view: Box<PlaceView>) {
        if self.view.seq != view.seq {
            self.shown = None;
        }
        if let (Some(best), Some(now)) = (self.shown, view.position)
            && now > best
        {
            self.cast.tally.note(Fate::Broken);
        }
        self.shown = view.position.or(self.shown);
        if let Some(token) = &view.place_token {
            token.clone_into(&mut self.place);
        }
        self.view = view;
    }

    /// Joins again as the same person. Done `at_once`, it must find the same place (Q1); who was away may find that it
    /// has ended, and gets a later one.
    async fn rejoin(&mut self, at_once: bool) -> Option<()> {
        let Some(view) = join(&self.cast, &self.identity).await else {
            self.cast.tally.note(Fate::TurnedAway);
            return None;
        };
        if view.seq < self.view.seq || at_once && view.seq != self.view.seq {
            self.cast.tally.note(Fate::Broken);
        }
        self.take(Box::new(view));
        Some(())
    }

    async fn interrupt(&mut self, what: What) -> Then {
        let back = match what {
            What::Idle(span) => {
                sleep(Duration::from_millis(span.0)).await;
                // The page wakes up and asks at once.
                match self.cast.line.place(&self.place).await {
                    Ok(view) => {
                        self.take(Box::new(view));
                        Some(())
                    }
                    Err(_) => self.rejoin(false).await,
                }
            }
            What::CloseAndReturn(away) => {
                sleep(Duration::from_millis(away.0)).await;
                self.cast.tally.note(Fate::Returned);
                self.rejoin(false).await
            }
            What::Refresh => self.rejoin(true).await,
            What::SecondTab(span) => {
                let tab = second_tab(self.cast.clone(), self.identity.clone(), self.view.seq);
                let span = Duration::from_millis(span.0);
                self.second_tabs.spawn(async move {
                    // It is closed when its time is up.
                    let _ = timeout(span, tab).await;
                });
                Some(())
            }
        };
        back.map_or(Then::Gone, |()| Then::WaitsOn)
    }

    async fn give_up(&self) {
        self.cast.tally.note(Fate::GaveUp);
        if self.plan.gives_up.is_some_and(|gives_up| gives_up.says_goodbye)
            && self.cast.line.leave(&self.place).await.is_ok()
        {
            self.cast.tally.note(Fate::Left);
        }
    }

    /// Goes in with the pass, uses it while inside, and ends the visit or vanishes.
    async fn go_in(&self, pass: &PassView, visit: Visit) {
        sleep(Duration::from_millis(self.plan.reaction.0)).await;
        let (cast, token, place) = (&*self.cast, pass.token.as_str(), self.place.as_str());
        if insist(cast, move || cast.line.gate(token)).await.is_none() {
            return cast.tally.note(Fate::TooLate);
        }
        cast.tally.note(Fate::WentIn);
        let until = Instant::now() + Duration::from_millis(visit.dwell.0);
        let every = Duration::from_millis(visit.touch_every.0);
        while Instant::now() + every < until {
            sleep(every).await;
            if insist(cast, move || cast.line.gate(token)).await.is_none() {
                return cast.tally.note(Fate::TooLate);
            }
        }
        sleep_until(until).await;
        if !visit.ends {
            return cast.tally.note(Fate::Vanished);
        }
        match insist(cast, move || cast.line.leave(place)).await {
            Some(()) => cast.tally.note(Fate::Finished),
            None => cast.tally.note(Fate::TurnedAway),
        }
    }
}

/// The same person in another tab: must be told the same place.
async fn second_tab(cast: Arc<Cast>, identity: String, seq: u64) {
    let Some(view) = join(&cast, &identity).await else { return };
    if view.seq != seq && view.status != PlaceStatus::Ended {
        cast.tally.note(Fate::Broken);
    }
    let Some(place) = view.place_token.clone() else { return };
    let mut ear = Ear::open(&cast, Device::Poll, &view, &place).await;
    loop {
        match ear.hear(&place).await {
            Heard::Place(view) if view.status == PlaceStatus::Waiting => {}
            Heard::Nothing => {}
            Heard::Place(_) | Heard::Refused => return,
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
