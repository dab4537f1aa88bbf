//! Pages of which a part is written by a task: what stands between two marks is the task's, all else is people's.

use anyhow::{Context, Result};

/// The two marks of a part with this name.
pub(crate) fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|end| format!("<!-- {name}: {end} -->"))
}

/// The page with `part` between the marks of this name.
///
/// # Errors
/// Where the page lacks one of them.
pub(crate) fn between_marks(page: &str, name: &str, part: &str) -> Result<String> {
    let [begin, end] = marks(name);
    let (before, rest) = page.split_once(&begin).context("the page has no mark to begin at")?;
    let (_, after) = rest.split_once(&end).context("the page has no mark to end at")?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", part.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_between_its_marks_and_only_there() {
        let [begin, end] = marks("faults");
        let page = format!("# A\n{begin}\nstale\n{end}\n## B\n");
        let once = between_marks(&page, "faults", "| a |\n\n").expect("both marks");
        assert_eq!(once, format!("# A\n{begin}\n| a |\n{end}\n## B\n"));
        assert_eq!(between_marks(&once, "faults", "| a |").expect("both marks"), once);
        assert!(between_marks("# A", "faults", "| a |").is_err());
    }
}
