//! Plain tables for a terminal: aligned columns, no borders, easy to cut and grep.

/// Lines up columns; the last one is not padded, so long texts go there.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&head).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        for (i, (cell, width)) in row.iter().zip(widths).enumerate() {
            if i + 1 == N {
                text.push_str(cell);
            } else {
                text.push_str(&format!("{cell:width$}  "));
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Names and values, one a line.
pub(super) fn card(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// A value that may be missing.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_do_not_end_in_spaces() {
        let rows = vec![["a".to_owned(), "1".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(table(["ID", "N"], &rows), "ID    N\na     1\nlong\n");
        assert_eq!(card(&[("id", "a".to_owned()), ("rate", "5".to_owned())]), "id    a\nrate  5\n");
    }
}
