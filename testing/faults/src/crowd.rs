//! The crowd: people who come, wait, go in, use their pass and leave, each by habits of their own, until they are told to
//! stand still.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use jari_api::PlaceStatus;
use parking_lot::Mutex;
use reqwest::Client;
use tokio::sync::Mutex as Turns;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::person::{Person, client};
use crate::scene::Scene;
use crate::seen::Call;
use crate::truth::{Place, Word};

/// Calls at once where everybody is asked.
const ASKING: usize = 48;
/// Longest that one person is asked again for while the line stands still.
const TOLD_WITHIN: Duration = Duration::from_secs(60);
/// An identity is asked for again after this: no store is behind it.
const IDENTIFY_AGAIN: Duration = Duration::from_millis(500);

type One = Arc<Turns<Person>>;

/// Who does what, as shares of the people by their number: the same in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// One in so many who are inside stays until told to leave.
    pub(crate) stays_one_in: usize,
    /// Time inside of all others, seconds: from, to.
    pub(crate) inside_s: (u64, u64),
    /// One in so many leaves the line by themselves.
    pub(crate) gives_up_one_in: usize,
}

impl Habits {
    fn inside_for(self, id: usize) -> Option<Duration> {
        let (from, to) = self.inside_s;
        // Far apart for people who come after one another, and by a prime, so that all times are met.
        let seconds = from + (id as u64 * 11) % (to - from);
        (!id.is_multiple_of(self.stays_one_in)).then(|| Duration::from_secs(seconds))
    }

    fn waits_for(self, id: usize) -> Option<Duration> {
        let gives_up = id % self.gives_up_one_in == self.gives_up_one_in / 2;
        gives_up.then(|| Duration::from_secs(4 + (id as u64 * 3) % 20))
    }
}

#[derive(Debug)]
pub(crate) struct Crowd {
    pub(crate) scene: Arc<Scene>,
    habits: Habits,
    client: Client,
    people: Mutex<Vec<One>>,
    next: AtomicUsize,
    lives: Mutex<JoinSet<()>>,
}

impl Crowd {
    pub(crate) fn new(scene: Arc<Scene>, habits: Habits) -> Crowd {
        let (people, next, lives) = Default::default();
        Crowd { scene, habits, client: client(), people, next, lives }
    }

    fn born(&self, door: usize) -> One {
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        let one = Arc::new(Turns::new(Person::new(id, self.client.clone(), door)));
        self.people.lock().push(one.clone());
        one
    }

    /// So many come at this node, one every `apart`.
    pub(crate) fn come_to(&self, door: usize, many: usize, apart: Duration) {
        for nth in 0..many {
            let after = apart.saturating_mul(u32::try_from(nth).expect("a crowd is no million"));
            let (scene, habits, one) = (self.scene.clone(), self.habits, self.born(door));
            self.lives.lock().spawn(live(scene, habits, one, after));
        }
    }

    /// So many come, spread over the nodes, one every `apart`.
    pub(crate) fn come(&self, many: usize, apart: Duration) {
        let doors = self.scene.doors();
        for nth in 0..many {
            let after = apart.saturating_mul(u32::try_from(nth).expect("a crowd is no million"));
            let (scene, habits, one) = (self.scene.clone(), self.habits, self.born(nth % doors));
            self.lives.lock().spawn(live(scene, habits, one, after));
        }
    }

    fn everybody(&self) -> Vec<One> {
        self.people.lock().clone()
    }

    /// Everybody's place as last told.
    pub(crate) async fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for one in self.everybody() {
            places.push(one.lock().await.place.clone());
        }
        places
    }

    /// Everybody who has a place is asked for it, while nobody else does anything: `still` is held by the caller.
    pub(crate) async fn ask_all(&self) {
        let scene = &self.scene;
        stream::iter(self.everybody())
            .for_each_concurrent(ASKING, |one| async move {
                let mut person = one.lock().await;
                if person.place.seq > 0 && person.place.left == Word::Not {
                    tell(scene, &mut person).await;
                }
            })
            .await;
    }

    /// Everybody who left shows the cookies of before they did; their number must not be theirs again.
    pub(crate) async fn come_back(&self) {
        let scene = &self.scene;
        stream::iter(self.everybody())
            .for_each_concurrent(ASKING, |one| async move {
                let person = one.lock().await;
                if person.place.left == Word::Told
                    && let Some(mut back) = person.come_back()
                {
                    tell(scene, &mut back).await;
                }
            })
            .await;
    }

    /// So many of those inside give their pass back; how many did.
    pub(crate) async fn make_room(&self, many: usize) -> usize {
        let mut left = 0;
        for one in self.everybody() {
            let mut person = one.lock().await;
            if left < many && Scene::is_inside(&person) && person.place.left == Word::Not {
                let deadline = Instant::now() + TOLD_WITHIN;
                while person.place.left != Word::Told && Instant::now() < deadline {
                    let again = self.scene.call(&mut person, Call::Leave).await;
                    if person.place.left != Word::Told {
                        sleep(again.unwrap_or_default()).await;
                    }
                }
                left += usize::from(person.place.left == Word::Told);
            }
        }
        left
    }

    /// Everybody turns to the next node, with all that they hold.
    pub(crate) async fn turn_all(&self) {
        let doors = self.scene.doors();
        for one in self.everybody() {
            one.lock().await.turn(doors);
        }
    }

    /// Nobody does anything any more.
    pub(crate) fn end(&self) {
        self.lives.lock().abort_all();
    }
}

/// Polls until told.
async fn tell(scene: &Scene, person: &mut Person) {
    let (deadline, told) = (Instant::now() + TOLD_WITHIN, person.place.told);
    loop {
        let again = scene.call(person, Call::Poll).await;
        if person.place.told > told {
            return;
        }
        if Instant::now() > deadline {
            let text = format!("place {} is not told within {TOLD_WITHIN:?}", person.place.seq);
            return scene.truth.lost(&mut person.place, text);
        }
        sleep(again.unwrap_or(Duration::from_millis(500)).min(Duration::from_secs(2))).await;
    }
}

/// One person's life. Each step is a turn that waits while everybody is to stand still.
async fn live(scene: Arc<Scene>, habits: Habits, me: One, after: Duration) {
    sleep(after).await;
    let came = Instant::now();
    let mut inside_since: Option<Instant> = None;
    loop {
        let next = {
            let _going = scene.going.read().await;
            let mut me = me.lock().await;
            if Scene::is_inside(&me) {
                inside_since.get_or_insert_with(Instant::now);
            }
            step(&scene, habits, &mut me, came.elapsed(), inside_since.map(|at| at.elapsed())).await
        };
        match next {
            Some(after) => sleep(after).await,
            None => return,
        }
    }
}

/// What a person does now, and when they go on; `None` where their visit is over.
async fn step(
    scene: &Scene,
    habits: Habits,
    me: &mut Person,
    here: Duration,
    inside: Option<Duration>,
) -> Option<Duration> {
    if !me.has_identity() {
        let known = scene.identify(me).await;
        return Some(if known { Duration::ZERO } else { IDENTIFY_AGAIN });
    }
    let over = |until: Option<Duration>, so_far: Duration| until.is_some_and(|end| so_far >= end);
    let call = match (me.place.left, me.place.status) {
        (Word::Told, _) | (_, Some(PlaceStatus::Ended)) => return None,
        (Word::Sent, _) => Call::Leave,
        (Word::Not, None) => Call::Join,
        (Word::Not, Some(PlaceStatus::Admitted)) => {
            let leaves = over(habits.inside_for(me.id), inside.unwrap_or_default());
            if leaves { Call::Leave } else { Call::Gate }
        }
        (Word::Not, Some(_)) if over(habits.waits_for(me.id), here) => Call::Leave,
        (Word::Not, Some(_)) => Call::Poll,
    };
    let again = scene.call(me, call).await;
    if Scene::is_inside(me) && inside.is_none() {
        // The page goes on to the site at once.
        return Some(Duration::ZERO);
    }
    Some(again.unwrap_or(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HABITS: Habits = Habits { stays_one_in: 4, inside_s: (5, 40), gives_up_one_in: 20 };

    #[test]
    fn habits_are_spread_over_the_people() {
        let stay = (0..1_000).filter(|id| HABITS.inside_for(*id).is_none()).count();
        let give_up = (0..1_000).filter(|id| HABITS.waits_for(*id).is_some()).count();
        assert_eq!((stay, give_up), (250, 50));
        let times: std::collections::BTreeSet<_> =
            (0..1_000).filter_map(|id| HABITS.inside_for(id)).collect();
        assert_eq!(times.len(), 35, "every second from 5 to 39");
    }
}
