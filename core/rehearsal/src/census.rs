//! How many people of a crowd stand where. Everybody stands at one stage at a time, so that the counts add up to the crowd.

/// The stages a person comes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    ToCome,
    /// Came and got no place: sold out, closed or full.
    TurnedAway,
    InLine,
    /// Passed over while away; may still return.
    Absent,
    /// Passed over while away, and not back within the grace.
    Missed,
    /// Left the line, or closed the page for good before the turn came. The room may not know it yet.
    GaveUp,
    /// Got a pass, and has not used it: not yet, or never.
    LetIn,
    WentIn,
}

impl Stage {
    pub const ALL: [Stage; 8] = [
        Stage::ToCome,
        Stage::TurnedAway,
        Stage::InLine,
        Stage::Absent,
        Stage::Missed,
        Stage::GaveUp,
        Stage::LetIn,
        Stage::WentIn,
    ];
}

/// People by stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census([u64; Stage::ALL.len()]);

impl Census {
    /// A crowd of which nobody has come.
    pub(crate) fn of(people: u64) -> Census {
        let mut census = Census(Default::default());
        census.0[Stage::ToCome as usize] = people;
        census
    }

    #[must_use]
    pub fn count(&self, stage: Stage) -> u64 {
        self.0[stage as usize]
    }

    /// The whole crowd.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Those who got a pass, whether they used it or not.
    #[must_use]
    pub fn let_in(&self) -> u64 {
        self.count(Stage::LetIn) + self.count(Stage::WentIn)
    }

    pub(crate) fn step(&mut self, from: Stage, to: Stage) {
        self.0[from as usize] -= 1;
        self.0[to as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_who_go_from_stage_to_stage_stay_as_many() {
        let mut census = Census::of(3);
        for pair in Stage::ALL.windows(2) {
            census.step(pair[0], pair[1]);
        }
        let counts = Stage::ALL.map(|stage| census.count(stage));
        assert_eq!(counts, [2, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((census.all(), census.let_in()), (3, 1));
    }
}
