//! A file of arrivals: how many came each second, as measured or imagined. Reads and checks it; draws nobody.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use jari_crowd::{Arrivals, POINTS_MAX, Shape, ShapeError};
use jari_units::Millis;
use thiserror::Error;

use super::HORIZON_MAX;

const HEADER: [&str; 2] = ["second", "people_per_second"];
/// Bytes of a file at most: `POINTS_MAX` rows of 100 characters.
const BYTES_MAX: u64 = 1_000_000;

/// What a file holds.
#[derive(Debug, PartialEq)]
pub(super) struct ArrivalsFile {
    pub(super) arrivals: Arrivals,
    /// What the rates add up to.
    pub(super) people: f64,
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq, Error)]
pub(super) enum ArrivalsError {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("more than {BYTES_MAX} bytes")]
    TooLong,
    #[error("more than {POINTS_MAX} rows")]
    TooManyRows,
    #[error("line 1: the header must be `second,people_per_second`, not `{0}`")]
    Header(String),
    #[error("line {0}: two values and a comma between them")]
    Fields(u64),
    #[error("line {0}: not UTF-8")]
    NotUtf8(u64),
    #[error("line {line}: `{text}` is no second from 0 to 604800 (7 days)")]
    Second { line: u64, text: String },
    #[error("line {line}: `{text}` is no rate: a number from 0 on")]
    Rate { line: u64, text: String },
    #[error("line {0}: the first row must be second 0; write `0,0` where nobody comes yet")]
    Start(u64),
    #[error("line {0}: the second is not later than the one before")]
    Order(u64),
    #[error("two rows at least: a start and an end")]
    TooFewRows,
    #[error("nobody ever comes: every rate is 0")]
    Nobody,
}

/// One row and the line it stands on.
struct Row {
    line: u64,
    at: Millis,
    rate: f64,
}

pub(super) fn read(path: &Path) -> Result<ArrivalsFile, ArrivalsError> {
    let unreadable = |error: std::io::Error| ArrivalsError::Unreadable(error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(ArrivalsError::TooLong);
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<ArrivalsFile, ArrivalsError> {
    // Spreadsheets put a byte order mark before UTF-8.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // With CR LF the reader would count a record's line too low.
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'\r').collect();
    let lines = Lines(bytes.split(|byte| *byte == b'\n').collect());
    let mut reader =
        ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(&bytes[..]);
    let header = reader.headers().map_err(|error| bad_record(&error, &lines))?;
    if *header != HEADER[..] {
        let header: Vec<_> = header.iter().collect();
        return Err(ArrivalsError::Header(header.join(",")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        if rows.len() == POINTS_MAX {
            return Err(ArrivalsError::TooManyRows);
        }
        let record = record.map_err(|error| bad_record(&error, &lines))?;
        rows.push(row(&record, lines.of(record.position()))?);
    }
    arrivals(&rows)
}

/// The file's lines, to tell where a record stands.
struct Lines<'a>(Vec<&'a [u8]>);

impl Lines<'_> {
    /// The line of the record at `position`, which is before the empty lines and comments that the reader skipped.
    fn of(&self, position: Option<&csv::Position>) -> u64 {
        let first = position.map_or(1, csv::Position::line);
        let lines = self.0.iter().skip(first as usize - 1);
        let skipped = lines.take_while(|line| matches!(line, [] | [b'#', ..])).count();
        first + skipped as u64
    }
}

fn bad_record(error: &csv::Error, lines: &Lines<'_>) -> ArrivalsError {
    let line = lines.of(error.position());
    match error.kind() {
        csv::ErrorKind::UnequalLengths { .. } => ArrivalsError::Fields(line),
        csv::ErrorKind::Utf8 { .. } => ArrivalsError::NotUtf8(line),
        _ => ArrivalsError::Unreadable(error.to_string()),
    }
}

fn row(record: &StringRecord, line: u64) -> Result<Row, ArrivalsError> {
    let text = |at: usize| record.get(at).unwrap_or_default().to_owned();
    let number = |at: usize| text(at).parse().ok().filter(|number: &f64| number.is_finite());
    let last = HORIZON_MAX.0 as f64 / 1_000.0;
    let second = number(0).filter(|second| (0.0..=last).contains(second));
    let second = second.ok_or_else(|| ArrivalsError::Second { line, text: text(0) })?;
    let rate = number(1).filter(|rate| *rate >= 0.0);
    let rate = rate.ok_or_else(|| ArrivalsError::Rate { line, text: text(1) })?;
    Ok(Row { line, at: Millis((second * 1_000.0).round() as u64), rate })
}

fn arrivals(rows: &[Row]) -> Result<ArrivalsFile, ArrivalsError> {
    let points: Vec<_> = rows.iter().map(|row| (row.at, row.rate)).collect();
    let shape = Shape::through(&points).map_err(|error| match error {
        ShapeError::Count(_) => ArrivalsError::TooFewRows,
        ShapeError::Start => ArrivalsError::Start(rows[0].line),
        ShapeError::Order(at) => ArrivalsError::Order(rows[at].line),
        ShapeError::Rate(at) => {
            ArrivalsError::Rate { line: rows[at].line, text: rows[at].rate.to_string() }
        }
        ShapeError::Nobody => ArrivalsError::Nobody,
    })?;
    let between = |pair: &[Row]| {
        let secs = (pair[1].at - pair[0].at).0 as f64 / 1_000.0;
        // Halved before they are added: two huge rates do not overflow.
        secs * (pair[0].rate / 2.0 + pair[1].rate / 2.0)
    };
    let people = rows.windows(2).map(between).sum();
    let window = rows.last().map_or(Millis::ZERO, |row| row.at);
    Ok(ArrivalsFile { arrivals: Arrivals { shape, window }, people })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        parse(text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn rows_are_points_and_add_up() {
        let text =
            "\u{feff}second, people_per_second\r\n0, 0\r\n# the doors\r\n60,20\r\n\r\n120.5,0\r\n";
        let file = parse(text.as_bytes()).expect("good rows");
        assert!((file.people - 1_205.0).abs() < 1e-9, "{}", file.people);
        assert_eq!(file.arrivals.window, Millis(120_500));
        let rate = file.arrivals.rate_per_s(1_205, Millis::from_secs(30));
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let with = |rows: &str| told(&format!("second,people_per_second\n{rows}"));
        for (rows, want) in [
            ("", "two rows at least"),
            ("0,1", "two rows at least"),
            ("0,1\n5", "line 3: two values"),
            ("0,1\n5,1,1", "line 3: two values"),
            ("0,1\n-5,1", "line 3: `-5` is no second"),
            ("0,1\n604801,1", "line 3: `604801` is no second"),
            ("0,1\nten,1", "line 3: `ten` is no second"),
            ("0,1\r\n\r\n9,NaN", "line 4: `NaN` is no rate"),
            ("0,-1\n9,1", "line 2: `-1` is no rate"),
            ("0,1\n9,", "line 3: `` is no rate"),
            ("0,1\n# pause\n9,1e999", "line 4: `1e999` is no rate"),
            ("1,1\n9,1", "line 2: the first row must be second 0"),
            ("0,1\n9,1\n9,2", "line 4: the second is not later"),
            ("0,0\n9,0", "nobody ever comes"),
        ] {
            assert!(with(rows).starts_with(want), "{rows:?}: {}", with(rows));
        }
        assert!(told("").starts_with("line 1: the header must be"), "{}", told(""));
        assert!(told("0,1\n9,1").ends_with("not `0,1`"), "{}", told("0,1\n9,1"));
        let bytes = b"second,people_per_second\n0,1\n9,\xff\n";
        assert_eq!(parse(bytes), Err(ArrivalsError::NotUtf8(3)));
    }

    #[test]
    fn files_are_bounded() {
        let rows = |count: usize| -> String {
            let rows = (0..count).map(|second| format!("{second},1\n"));
            std::iter::once("second,people_per_second\n".to_owned()).chain(rows).collect()
        };
        assert!(parse(rows(POINTS_MAX).as_bytes()).is_ok());
        assert_eq!(parse(rows(POINTS_MAX + 1).as_bytes()), Err(ArrivalsError::TooManyRows));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("long.csv");
        assert!(matches!(read(&path), Err(ArrivalsError::Unreadable(_))));
        std::fs::write(&path, vec![b'\n'; BYTES_MAX as usize + 1]).expect("it is written");
        assert_eq!(read(&path), Err(ArrivalsError::TooLong));
    }
}
