//! Which stores the suite runs on and how much of it: stores' tests take their sizes from here, and the page that people read,
//! docs/reference/conformance.md, is made of it. Runs nothing.

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`crate::clauses::CLAUSES`]
    Clauses,
    /// [`crate::recovery::CLAUSES`]
    Losing,
    /// [`crate::leases::CLAUSES`]
    Leases,
    /// [`crate::oracle::check_histories`]
    Histories(Size),
    /// [`crate::recovery_history::check_histories`]
    Losses(Size),
    /// [`crate::oracle::check_large_room`]
    LargeRoom,
}

/// How many random histories, and how long each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub histories: u32,
    /// Steps of a history, at most; at least half as many.
    pub steps_max: usize,
}

/// A part of the suite on a store, and the test that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub part: Part,
    /// The test's function, in one of the store's [`files`](Store::files).
    pub test: &'static str,
}

/// A store that the suite runs on.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// For people: the head of a column.
    pub name: &'static str,
    /// Where its tests are, from the repository's root.
    pub files: &'static [&'static str],
    pub runs: &'static [Run],
}

impl Store {
    /// The sizes of this store's random histories: (how many, steps at most).
    ///
    /// # Panics
    /// Where the list has none for it: what is not listed is not run.
    #[must_use]
    pub fn histories(&self) -> (u32, usize) {
        self.size(|part| if let Part::Histories(size) = part { Some(size) } else { None })
    }

    /// The same of histories in which the store loses what it had.
    ///
    /// # Panics
    /// Where the list has none for it.
    #[must_use]
    pub fn losses(&self) -> (u32, usize) {
        self.size(|part| if let Part::Losses(size) = part { Some(size) } else { None })
    }

    fn size(&self, of: impl Fn(Part) -> Option<Size>) -> (u32, usize) {
        let size = self.runs.iter().find_map(|run| of(run.part));
        let size = size.unwrap_or_else(|| panic!("{} is listed without a size", self.name));
        (size.histories, size.steps_max)
    }
}

const fn run(part: Part, test: &'static str) -> Run {
    Run { part, test }
}

const fn size(histories: u32, steps_max: usize) -> Size {
    Size { histories, steps_max }
}

/// Every store of the list, in the order of its columns.
pub const STORES: &[Store] =
    &[EMBEDDED, EMBEDDED_CHECKPOINTS, EMBEDDED_CRASHES, REDIS, CLUSTER, VALKEY];

/// As it is used.
pub const EMBEDDED: Store = Store {
    name: "embedded",
    files: &["adapters/embedded/tests/conformance.rs"],
    runs: &[
        run(Part::Clauses, "every_clause_holds"),
        run(Part::Histories(size(80, 400)), "histories_equal_the_core"),
        run(Part::LargeRoom, "a_large_room_equals_the_core"),
    ],
};

/// A checkpoint after every few events, so that each restart begins with one.
pub const EMBEDDED_CHECKPOINTS: Store = Store {
    name: "embedded, checkpoints all the time",
    files: &["adapters/embedded/src/tests/conformance.rs"],
    runs: &[
        run(Part::Clauses, "every_clause_holds"),
        run(Part::Losing, "every_clause_of_losing_history_holds"),
        run(
            Part::Histories(size(40, 200)),
            "histories_with_checkpoints_and_restarts_equal_the_core",
        ),
        run(Part::Losses(size(40, 200)), "histories_with_losses_equal_the_core"),
    ],
};

/// Restarts are crashes: only what the files hold at that moment comes back.
pub const EMBEDDED_CRASHES: Store = Store {
    name: "embedded, crashes as restarts",
    files: &["adapters/embedded/src/tests/conformance.rs"],
    runs: &[run(Part::Histories(size(40, 200)), "histories_with_crashes_equal_the_core")],
};

const ON_REDIS: &[&str] = &[
    "adapters/redis/tests/redis/conformance.rs",
    "adapters/redis/tests/redis/losing.rs",
    "adapters/redis/tests/redis/leases.rs",
];

pub const REDIS: Store = Store {
    name: "Redis 7",
    files: ON_REDIS,
    runs: &[
        run(Part::Clauses, "every_clause_holds_on_redis"),
        run(Part::Losing, "every_clause_of_losing_history_holds_on_redis"),
        run(Part::Leases, "every_clause_of_the_leases_holds_on_redis"),
        run(Part::Histories(size(60, 400)), "histories_equal_the_core_on_redis"),
        run(Part::Losses(size(40, 300)), "histories_with_losses_equal_the_core_on_redis"),
        run(Part::LargeRoom, "a_large_room_equals_the_core_on_redis"),
    ],
};

/// Three primaries that share the slots.
pub const CLUSTER: Store = Store {
    name: "Redis 7, a Cluster of 3",
    files: ON_REDIS,
    runs: &[
        run(Part::Clauses, "every_clause_holds_on_a_cluster"),
        run(Part::Losing, "every_clause_of_losing_history_holds_on_a_cluster"),
        run(Part::Leases, "every_clause_of_the_leases_holds_on_a_cluster"),
        run(Part::Histories(size(30, 400)), "histories_equal_the_core_on_a_cluster"),
        run(Part::Losses(size(15, 300)), "histories_with_losses_equal_the_core_on_a_cluster"),
    ],
};

pub const VALKEY: Store = Store {
    name: "Valkey 8",
    files: ON_REDIS,
    runs: &[
        run(Part::Clauses, "every_clause_holds_on_valkey"),
        run(Part::Losing, "every_clause_of_losing_history_holds_on_valkey"),
        run(Part::Leases, "every_clause_of_the_leases_holds_on_valkey"),
        run(Part::Histories(size(30, 400)), "histories_equal_the_core_on_valkey"),
        run(Part::Losses(size(20, 300)), "histories_with_losses_equal_the_core_on_valkey"),
        run(Part::LargeRoom, "a_large_room_equals_the_core_on_valkey"),
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What the list says is run is run: each test is there, once, and is not left out.
    #[test]
    fn every_run_of_the_list_is_a_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two below");
        for store in STORES {
            let texts = store.files.iter().map(|file| std::fs::read_to_string(root.join(file)));
            let text: String = texts.collect::<Result<_, _>>().expect("the store's tests");
            for Run { test, .. } in store.runs {
                let head = format!("#[test]\nfn {test}() {{");
                assert_eq!(text.matches(&head).count(), 1, "{}: {test}", store.name);
            }
        }
    }
}
