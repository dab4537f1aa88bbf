//! A whole crowd of a seed: its people, one by one or in order of arrival. Carries no plan out.

use crate::arrivals::Arrivals;
use crate::habits::{Habits, HabitsError};
use crate::person::{Person, draw};

/// People in one crowd: as many as a room's `max_waiting` default; about 300 MB of plans if all are kept at once.
pub const PEOPLE_MAX: u32 = 2_000_000;

/// A crowd. Nobody is kept in memory: each person is drawn when asked for, the same each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    seed: u64,
    people: u32,
    arrivals: Arrivals,
    habits: Habits,
}

impl Crowd {
    /// A crowd of `people`, at most [`PEOPLE_MAX`] (more are cut off).
    ///
    /// # Errors
    /// [`HabitsError`] for habits out of their bounds.
    pub fn new(
        seed: u64,
        people: u32,
        arrivals: Arrivals,
        habits: Habits,
    ) -> Result<Crowd, HabitsError> {
        habits.check()?;
        Ok(Crowd { seed, people: people.min(PEOPLE_MAX), arrivals, habits })
    }

    #[must_use]
    pub fn people(&self) -> u32 {
        self.people
    }

    #[must_use]
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Person `number` (0, 1, 2, ...), the same in a crowd of any size.
    #[must_use]
    pub fn person(&self, number: u32) -> Person {
        draw(self.seed, number, &self.arrivals, &self.habits)
    }

    /// Everybody, in order of arrival.
    #[must_use]
    pub fn in_order_of_arrival(&self) -> Vec<Person> {
        let mut all: Vec<Person> = (0..self.people).map(|number| self.person(number)).collect();
        all.sort_by_key(|person| (person.arrives_after, person.number));
        all
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Millis;

    use super::*;
    use crate::{Curve, Device, GivesUp, Turn, What};

    const PEOPLE: u32 = 10_000;

    fn crowd(seed: u64, curve: Curve) -> Crowd {
        let arrivals = Arrivals { shape: curve.shape(), window: Millis::from_secs(60) };
        Crowd::new(seed, PEOPLE, arrivals, Habits::default()).expect("the defaults are good")
    }

    fn share(of: &[Person], that: impl Fn(&Person) -> bool) -> f64 {
        of.iter().filter(|person| that(person)).count() as f64 / of.len() as f64
    }

    /// Five standard deviations: a right share fails once in two million seeds, and the seed is fixed.
    fn near(what: &str, got: f64, want: f64) {
        let tolerance = 5.0 * (want * (1.0 - want) / f64::from(PEOPLE)).sqrt();
        assert!((got - want).abs() < tolerance, "{what}: {got}, wanted {want} +- {tolerance}");
    }

    #[test]
    fn a_seed_gives_the_same_people_in_a_crowd_of_any_size() {
        let one = crowd(7, Curve::Burst);
        let small = Crowd { people: 10, ..one.clone() };
        assert_eq!(one.in_order_of_arrival(), crowd(7, Curve::Burst).in_order_of_arrival());
        assert!((0..10).all(|n| small.person(n) == one.person(n)));
        let other = crowd(8, Curve::Burst);
        assert!((0..100).all(|n| other.person(n) != one.person(n)));
    }

    #[test]
    fn changing_one_habit_leaves_the_rest_of_the_crowd() {
        let one = crowd(7, Curve::Burst);
        let habits = Habits { no_shows: 1.0, idles: 0.0, ..Habits::default() };
        let other = Crowd { habits, ..one.clone() };
        for n in 0..1_000 {
            let (a, b) = (one.person(n), other.person(n));
            assert_eq!(b.turn, Turn::NoShow);
            assert_eq!((a.arrives_after, a.gives_up), (b.arrives_after, b.gives_up));
            let not_idle = |person: &Person| -> Vec<_> {
                let what = person.interruptions.iter();
                what.filter(|i| !matches!(i.what, What::Idle(_))).copied().collect()
            };
            assert_eq!(not_idle(&a), not_idle(&b));
        }
    }

    #[test]
    fn proportions_are_the_habits() {
        let all = crowd(1, Curve::Burst).in_order_of_arrival();
        let has = |what: fn(&What) -> bool| {
            share(&all, |p| p.interruptions.iter().any(|i| what(&i.what)))
        };
        let h = Habits::default();
        near("streams", share(&all, |p| p.device == Device::Stream), h.streams);
        near("impatient", share(&all, |p| p.gives_up.is_some()), h.impatient);
        near("no-shows", share(&all, |p| p.turn == Turn::NoShow), h.no_shows);
        near("idles", has(|what| matches!(what, What::Idle(_))), h.idles);
        near("closes", has(|what| matches!(what, What::CloseAndReturn(_))), h.closes_page);
        near("refreshes", has(|what| matches!(what, What::Refresh)), h.refreshes);
        near("second tabs", has(|what| matches!(what, What::SecondTab(_))), h.second_tabs);
        let visits: Vec<_> = all
            .iter()
            .filter_map(|p| match p.turn {
                Turn::GoesIn(visit) => Some(visit),
                Turn::NoShow => None,
            })
            .collect();
        let ends = visits.iter().filter(|visit| visit.ends).count();
        near("ends", ends as f64 / visits.len() as f64, h.ends_visit);
        let short = visits.iter().filter(|visit| visit.dwell <= h.dwell.median).count();
        near("dwell's median", short as f64 / visits.len() as f64, 0.5);
        let goodbyes: Vec<GivesUp> = all.iter().filter_map(|p| p.gives_up).collect();
        let said = goodbyes.iter().filter(|g| g.says_goodbye).count() as f64;
        assert!((said / goodbyes.len() as f64 - h.says_goodbye).abs() < 0.05);
        let patience = goodbyes.iter().map(|g| g.after.0).sum::<u64>() / goodbyes.len() as u64;
        assert!(patience.abs_diff(h.patience_mean.0) < h.patience_mean.0 / 10, "{patience}");
    }

    #[test]
    fn people_arrive_as_the_curve_says() {
        for curve in Curve::ALL {
            let crowd = crowd(3, curve);
            let all = crowd.in_order_of_arrival();
            assert!(all.is_sorted_by_key(|person| person.arrives_after));
            for tenth in 1..10_u64 {
                let by = Millis::from_secs(tenth * 6);
                let want = curve.shape().share_by(tenth as f64 / 10.0);
                near("arrived", share(&all, |p| p.arrives_after <= by), want);
            }
            assert!(all.iter().all(|p| p.arrives_after <= crowd.arrivals().window));
        }
    }

    #[test]
    fn plans_are_bounded_and_in_order() {
        for person in crowd(5, Curve::Ramp).in_order_of_arrival() {
            assert!(person.interruptions.len() <= 6, "{person:?}");
            assert!(person.interruptions.is_sorted_by_key(|i| i.after), "{person:?}");
            let last = person.interruptions.last().map(|i| i.after);
            assert!(last <= Some(Habits::default().interrupted_within), "{person:?}");
        }
        let many = Arrivals { shape: Curve::Ramp.shape(), window: Millis::ZERO };
        let many = Crowd::new(1, u32::MAX, many, Habits::default()).expect("good habits");
        assert_eq!(many.people(), PEOPLE_MAX);
        let bad = Habits { idles: 2.0, ..Habits::default() };
        assert!(Crowd::new(1, 1, many.arrivals().clone(), bad).is_err());
    }
}
