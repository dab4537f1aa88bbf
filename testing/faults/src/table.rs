//! The results as tables: on the terminal, and for the page in docs/reference. Runs nothing.

use std::fmt::Write as _;

use crate::found::Broken;
use crate::row::Row;

/// Everything in Markdown.
pub(crate) fn markdown(rows: &[Row], people: usize) -> String {
    let mut text = format!("{people} people at the start of each run unless said otherwise.\n\n");
    text.push_str(
        "| fault | what visitors were told | longest until served again | acknowledged / kept | order violations | cap violations | absent |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let (told, longest) = (row.told.codes_text(), row.told.longest_text());
        let kept = format!("{} / {}", row.acknowledged, row.kept);
        let counts = [&row.order, &row.caps, &row.absent].map(|broken| broken.count.to_string());
        line(&mut text, &[&row.title, &told, &longest, &kept, &counts[0], &counts[1], &counts[2]]);
    }
    text.push_str(
        "\n| fault | `/readyz` of each node | highest metrics (`jari_`) | recovering | beside that |\n\
         | --- | --- | --- | ---: | --- |\n",
    );
    for row in rows {
        let span = row.recovering_s.map_or_else(String::new, |seconds| format!("{seconds:.1} s"));
        let readiness = row.readiness.join("<br>");
        line(&mut text, &[&row.title, &readiness, &row.numbers, &span, &row.notes.join("; ")]);
    }
    let policies: Vec<_> = rows.iter().flat_map(|row| &row.policies).collect();
    if !policies.is_empty() {
        text.push_str("\n| policy | who calls | what they are told |\n| --- | --- | --- |\n");
        for [policy, caller, told] in policies {
            line(&mut text, &[policy, caller, told]);
        }
    }
    text
}

fn line(text: &mut String, cells: &[&str]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    // Writing to a string does not fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// One run on the terminal, with what was broken.
pub(crate) fn plain(row: &Row) -> String {
    let mut text = format!("{}: {}\n", row.name, row.title);
    let mut tell = |what: &str, said: &str| {
        let _ = writeln!(text, "  {what:<13} {said}");
    };
    tell("told", &row.told.codes_text());
    tell("longest", &row.told.longest_text());
    tell("acknowledged", &format!("{}, kept {}", row.acknowledged, row.kept));
    let counts = [("order", &row.order), ("caps", &row.caps), ("absent", &row.absent)];
    let counted: Vec<_> =
        counts.iter().map(|(what, broken)| format!("{what} {}", broken.count)).collect();
    tell("violations", &counted.join(", "));
    for readiness in &row.readiness {
        tell("readyz", readiness);
    }
    tell("metrics", &row.numbers);
    if let Some(seconds) = row.recovering_s {
        tell("recovering", &format!("{seconds:.1} s"));
    }
    for note in &row.notes {
        tell("note", note);
    }
    for [policy, caller, told] in &row.policies {
        tell(policy, &format!("{caller}: {told}"));
    }
    for (what, broken) in counts.into_iter().chain([("kept", &row.lost), ("run", &row.run)]) {
        tell_broken(&mut tell, what, broken);
    }
    let verdict = if row.holds() { "holds" } else { "DOES NOT HOLD" };
    tell(verdict, &format!("in {:.0} s", row.seconds));
    text
}

fn tell_broken(tell: &mut impl FnMut(&str, &str), what: &str, broken: &Broken) {
    for said in &broken.texts {
        tell(&format!("! {what}"), said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Call;

    #[test]
    fn a_row_is_told_with_what_it_broke() {
        let mut row = Row { name: "cut".to_owned(), title: "a | cut".to_owned(), ..Row::default() };
        row.told.codes.entry(Call::Join).or_default().insert("503 x".to_owned(), 3);
        row.told.longest_ms.insert(Call::Join, 2_340);
        row.order = Broken { count: 1, texts: vec!["7 has two people".to_owned()] };
        let (page, terminal) = (markdown(&[row.clone()], 300), plain(&row));
        let expected = "| a \\| cut | join: 503 x (3) | join 2.3 s | 0 / 0 | 1 | 0 | 0 |";
        assert!(page.contains(expected), "{page}");
        assert!(!page.contains("| policy |"), "{page}");
        assert!(terminal.contains("! order       7 has two people"), "{terminal}");
        assert!(terminal.contains("DOES NOT HOLD"), "{terminal}");
        row.policies.push(["wait".to_owned(), "a pass".to_owned(), "204".to_owned()]);
        assert!(markdown(&[row], 300).contains("| wait | a pass | 204 |"));
    }
}
