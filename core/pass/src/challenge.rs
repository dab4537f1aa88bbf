//! Proof of work before a join: whether a room asks for it, how much, and what a solution must be of. Computes no hash and
//! knows no format: whoever calls has checked that this server signed it and that the work was done.

use jari_units::{RoomId, SubjectKey, Timestamp};
use thiserror::Error;

/// Tries at most: below this the work is not worth the round trip.
pub const DIFFICULTY_MIN: u32 = 100;
/// Tries at most: a minute and more on a good phone. Whoever wants more than this wants nobody in line.
pub const DIFFICULTY_MAX: u32 = 1_000_000;
/// About a second on a good phone, some seconds on an old one.
pub const DIFFICULTY_DEFAULT: u32 = 10_000;

/// What a room asks of newcomers before it gives them a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    pub kind: ChallengeKind,
    /// Tries that find the solution at the latest, half of them on average; [`DIFFICULTY_MIN`] to [`DIFFICULTY_MAX`].
    pub difficulty: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChallengeKind {
    /// Nothing.
    #[default]
    Off,
    /// A short calculation by their device.
    ProofOfWork,
}

/// What a good solution was made for, as its signed challenge says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    pub room: String,
    pub visitor: SubjectKey,
    pub difficulty: u32,
    /// From this moment on it counts no more.
    pub expires_at: Timestamp,
}

/// Why a solution opens nothing, in order of precedence. The first three are found before anything in it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Unsolved {
    #[error("there is no solution")]
    Missing,
    #[error("it is not a solution's form")]
    Malformed,
    #[error("this server did not make that challenge")]
    Forged,
    #[error("it is not the solution")]
    Wrong,
    #[error("the challenge has expired")]
    Expired,
    #[error("the challenge was another room's")]
    OtherRoom,
    #[error("the challenge was another visitor's")]
    OtherVisitor,
    #[error("the room asks for more by now")]
    TooEasy,
}

/// A difficulty that nobody could mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} is not in {DIFFICULTY_MIN}..={DIFFICULTY_MAX}")]
pub struct DifficultyError(pub u32);

impl Default for Challenge {
    fn default() -> Self {
        Challenge { kind: ChallengeKind::Off, difficulty: DIFFICULTY_DEFAULT }
    }
}

impl Challenge {
    /// Checks the difficulty, of a room that asks for nothing too: it may be turned on with it.
    ///
    /// # Errors
    /// Where it is out of its range.
    pub fn check(&self) -> Result<(), DifficultyError> {
        let range = DIFFICULTY_MIN..=DIFFICULTY_MAX;
        let good = range.contains(&self.difficulty);
        good.then_some(()).ok_or(DifficultyError(self.difficulty))
    }

    /// Whether newcomers are asked for anything.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.kind != ChallengeKind::Off
    }

    /// Whether a solution lets `visitor` join `room` at `now`. It is good for that one identity, as often as it likes until
    /// it expires: an identity has one place, so showing it again gains nothing.
    ///
    /// # Errors
    /// [`Unsolved`], the first that applies in its order.
    pub fn judge(
        &self,
        solved: &Solved,
        room: &RoomId,
        visitor: SubjectKey,
        now: Timestamp,
    ) -> Result<(), Unsolved> {
        if solved.expires_at <= now {
            return Err(Unsolved::Expired);
        }
        if solved.room != room.as_str() {
            return Err(Unsolved::OtherRoom);
        }
        if solved.visitor != visitor {
            return Err(Unsolved::OtherVisitor);
        }
        if solved.difficulty < self.difficulty { Err(Unsolved::TooEasy) } else { Ok(()) }
    }
}

const _: () = assert!(DIFFICULTY_MIN <= DIFFICULTY_DEFAULT && DIFFICULTY_DEFAULT <= DIFFICULTY_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn solved() -> Solved {
        Solved {
            room: "shop".to_owned(),
            visitor: SubjectKey([7; 16]),
            difficulty: 1_000,
            expires_at: Timestamp(2_000),
        }
    }

    fn judged(solved: &Solved, now: u64) -> Result<(), Unsolved> {
        let room = Challenge { kind: ChallengeKind::ProofOfWork, difficulty: 1_000 };
        room.judge(solved, &"shop".parse().unwrap(), SubjectKey([7; 16]), Timestamp(now))
    }

    #[test]
    fn a_solution_is_for_one_visitor_of_one_room_for_a_while() {
        assert_eq!(judged(&solved(), 1_999), Ok(()));
        assert_eq!(judged(&Solved { difficulty: 5_000, ..solved() }, 1_999), Ok(()));
        for (solved, now, why) in [
            (solved(), 2_000, Unsolved::Expired),
            (Solved { room: "show".to_owned(), ..solved() }, 1_999, Unsolved::OtherRoom),
            (Solved { visitor: SubjectKey([8; 16]), ..solved() }, 1_999, Unsolved::OtherVisitor),
            (Solved { difficulty: 999, ..solved() }, 1_999, Unsolved::TooEasy),
        ] {
            assert_eq!(judged(&solved, now), Err(why), "{solved:?}");
        }
    }

    #[test]
    fn of_several_reasons_the_first_is_told() {
        let none_of_it = Solved {
            room: "show".to_owned(),
            visitor: SubjectKey([8; 16]),
            difficulty: 1,
            expires_at: Timestamp(0),
        };
        let mut solution = none_of_it;
        let mut told = Vec::new();
        for mend in 0..5 {
            match mend {
                1 => solution.expires_at = Timestamp(2_000),
                2 => solution.room = "shop".to_owned(),
                3 => solution.visitor = SubjectKey([7; 16]),
                4 => solution.difficulty = 1_000,
                _ => {}
            }
            told.push(judged(&solution, 1_000).err());
        }
        let order =
            [Unsolved::Expired, Unsolved::OtherRoom, Unsolved::OtherVisitor, Unsolved::TooEasy];
        assert_eq!(told[..4], order.map(Some));
        assert_eq!(told[4], None);
    }

    #[test]
    fn a_difficulty_is_within_its_range_also_while_off() {
        for (difficulty, good) in [
            (0, false),
            (DIFFICULTY_MIN - 1, false),
            (DIFFICULTY_MIN, true),
            (DIFFICULTY_MAX, true),
            (DIFFICULTY_MAX + 1, false),
            (u32::MAX, false),
        ] {
            for kind in [ChallengeKind::Off, ChallengeKind::ProofOfWork] {
                assert_eq!(Challenge { kind, difficulty }.check().is_ok(), good, "{difficulty}");
            }
        }
        assert!(!Challenge::default().is_on() && Challenge::default().check().is_ok());
    }
}
