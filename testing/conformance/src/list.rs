//! The list of what holds where, for people: clauses by stores, and the sizes of the random histories. Runs no store.

use std::fmt::Write as _;

use crate::stores::{Part, Run, STORES, Size, Store};
use crate::{clauses, leases, oracle, recovery, recovery_history};

/// What stands where nothing is run.
const NOT_RUN: &str = "";

/// The whole list as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::new();
    for (title, names, is) in groups() {
        let _ = write!(text, "### {title} ({})\n\n", names.len());
        clauses_table(&mut text, &names, is);
    }
    let _ = write!(text, "### Random histories\n\n");
    histories_table(&mut text);
    text
}

type Group = (&'static str, Vec<&'static str>, fn(Part) -> bool);

fn groups() -> [Group; 3] {
    [
        (
            "Clauses of every line store",
            clauses::CLAUSES.iter().map(|(name, _)| *name).collect(),
            |part| part == Part::Clauses,
        ),
        (
            "Clauses of a store that lost something",
            recovery::CLAUSES.iter().map(|(name, _)| *name).collect(),
            |part| part == Part::Losing,
        ),
        (
            "Clauses of the admitters' leases",
            leases::CLAUSES.iter().map(|(name, _)| *name).collect(),
            |part| part == Part::Leases,
        ),
    ]
}

/// Writing to a string does not fail.
fn clauses_table(text: &mut String, names: &[&str], is: fn(Part) -> bool) {
    let held = |store: &&Store| store.runs.iter().any(|run| is(run.part));
    let stores: Vec<&Store> = STORES.iter().filter(held).collect();
    text.push_str("| Clause |");
    stores.iter().for_each(|store| _ = write!(text, " {} |", store.name));
    let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(stores.len()));
    for name in names {
        let _ = writeln!(text, "| {name} |{}", " held |".repeat(stores.len()));
    }
    text.push('\n');
}

fn histories_table(text: &mut String) {
    text.push_str(
        "| Store | Histories | Steps of each | Steps in all | With losses: histories | Steps of each | Steps in all | \
         A crowd of 70,000 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for store in STORES {
        let live =
            find(store, |part| if let Part::Histories(size) = part { Some(size) } else { None });
        let lost =
            find(store, |part| if let Part::Losses(size) = part { Some(size) } else { None });
        let large = store.runs.iter().any(|run| run.part == Part::LargeRoom);
        let large = if large { "held" } else { NOT_RUN };
        let live = cells(live.map(|size| (size, oracle::steps_in_all(size))));
        let lost = cells(lost.map(|size| (size, recovery_history::steps_in_all(size))));
        let _ = writeln!(text, "| {} | {live} | {lost} | {large} |", store.name);
    }
}

fn find(store: &Store, of: impl Fn(Part) -> Option<Size>) -> Option<Size> {
    store.runs.iter().find_map(|Run { part, .. }| of(*part))
}

fn cells(played: Option<(Size, usize)>) -> String {
    match played {
        Some((Size { histories, steps_max }, all)) => {
            format!("{histories} | {} to {} | {all}", steps_max / 2, steps_max - 1)
        }
        None => format!("{NOT_RUN} | {NOT_RUN} | {NOT_RUN}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_clause_store_and_size() {
        let list = markdown();
        for (title, names, _) in groups() {
            assert!(list.contains(title), "{title}");
            for name in names {
                assert!(list.contains(&format!("| {name} | held |")), "{name}");
            }
        }
        for store in STORES {
            let name = store.name;
            assert!(list.contains(&format!("\n| {name} | ")), "a row of histories: {name}");
            assert!(list.contains(&format!(" {name} |")), "a column of clauses: {name}");
        }
        assert!(list.contains("| 60 | 200 to 399 |"), "{list}");
    }
}
