//! The results on the page of benchmarks: the table between two marks, and the pictures beside it. Measures nothing.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::entry::{Entry, number};
use super::pictures::Picture;
use crate::command::{command, output};
use crate::marks::between_marks;

/// The page, and where its pictures lie.
const PAGE: &str = "docs/reference/benchmarks.md";
const PICTURES: &str = "docs/images";

/// The name of the marks between which a bench's results stand.
fn marks_of(bench: &str) -> String {
    format!("bench {bench}")
}

/// Writes both for the bench of this name; `from` is where the pictures are.
pub(super) fn write(
    root: &Path,
    from: &Path,
    bench: &str,
    entries: &[Entry],
    pictures: &[Picture],
) -> Result<()> {
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {PAGE}"))?;
    let text =
        between_marks(&text, &marks_of(bench), &section(&machine(root)?, entries, pictures))?;
    fs::write(&page, text).with_context(|| format!("cannot write {PAGE}"))?;
    let images = root.join(PICTURES);
    fs::create_dir_all(&images)?;
    for picture in pictures {
        fs::copy(from.join(picture.file()), images.join(picture.file()))?;
    }
    println!("written into {PAGE}, with the pictures in {PICTURES}");
    Ok(())
}

/// What it was measured on, and when.
fn machine(root: &Path) -> Result<String> {
    let told = |program, args: &[&str]| -> Result<String> {
        Ok(output(&mut command(root, program, args))?.trim().to_owned())
    };
    let cores = std::thread::available_parallelism()?;
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kb = meminfo.split_ascii_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok());
    let memory = kb.map_or(String::new(), |kb| format!(", {:.0} GB", kb / 1_048_576.0));
    let system = told("uname", &["-sr"])?;
    let day = told("date", &["-u", "+%F"])?;
    Ok(format!("{cores} cores{memory}, {system}, {day}"))
}

fn section(machine: &str, entries: &[Entry], pictures: &[Picture]) -> String {
    let mut text = format!("Measured on {machine}.\n\n");
    text.push_str("| name | value | unit | bar | holds |\n| --- | ---: | --- | --- | --- |\n");
    for entry in entries {
        let (value, bar, holds) = (number(entry.value), entry.bar_text(), entry.holds_text());
        let bar = bar.replace('<', "&lt;").replace('>', "&gt;");
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{}` | {value} | {} | {bar} | {holds} |", entry.name, entry.unit);
    }
    for picture in pictures {
        let _ = write!(text, "\n![{}](../images/{})\n", picture.title, picture.file());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::entry::Bar;
    use super::*;
    use crate::marks::marks;

    #[test]
    fn the_page_and_its_pictures_are_written() {
        let root = tempfile::tempdir().expect("a folder");
        let (page, from) = (root.path().join(PAGE), root.path().join("from"));
        fs::create_dir_all(page.parent().expect("it has one")).expect("made");
        fs::create_dir_all(&from).expect("made");
        fs::write(&page, format!("# A\n{}\n", marks(&marks_of("line")).join("\n")))
            .expect("written");
        let picture =
            Picture { name: "a_b".to_owned(), title: "A, B".to_owned(), panels: Vec::new() };
        fs::write(from.join("bench-a-b.svg"), "<svg/>").expect("written");
        let entries = [Entry::stated("joins.per_s", 40_000.0, "1/s")];
        write(root.path(), &from, "line", &entries, &[picture]).expect("written");
        let text = fs::read_to_string(page).expect("there");
        assert!(text.contains("![A, B](../images/bench-a-b.svg)"), "{text}");
        assert!(text.contains("Measured on ") && text.contains("`joins.per_s`"), "{text}");
        let copied = fs::read_to_string(root.path().join(PICTURES).join("bench-a-b.svg"));
        assert_eq!(copied.expect("there"), "<svg/>");
    }

    #[test]
    fn the_table_stands_between_the_marks_and_only_there() {
        let entries = [
            Entry::held("joins.p99", 12.0, "ms", Bar::Below(15.0)),
            Entry::stated("joins.per_s", 40_000.0, "1/s"),
        ];
        let section = section("2 cores", &entries, &[]);
        assert!(section.contains("| `joins.p99` | 12.0 | ms | &lt; 15 | yes |\n"));
        assert!(section.contains("| `joins.per_s` | 40,000 | 1/s |  |  |\n"));
        let (other, own) =
            (marks(&marks_of("redis")).join("kept"), marks(&marks_of("line")).join("stale"));
        let page = format!("# A\n{other}\n{own}\n## B\n");
        let once = between_marks(&page, "bench line", &section).expect("both marks");
        assert!(once.starts_with("# A\n") && once.ends_with("\n## B\n"), "{once}");
        assert!(!once.contains("stale") && once.contains("kept"), "{once}");
        let again = between_marks(&once, "bench line", &section).expect("both marks");
        assert_eq!(again, once, "again changes nothing");
        assert!(between_marks("# A", "bench line", &section).is_err());
    }
}
