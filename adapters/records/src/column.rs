//! Columns to and from the port's words: numbers, ids, times and bytes.

use std::fmt::Write;

use jari_units::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

type Read<T> = Result<T, sqlx::Error>;

/// A column's value that no version of Jari wrote.
pub(crate) fn damaged(what: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(what.to_string().into())
}

/// Databases have signed integers only. Nothing here comes near their end: times reach it in 292 million years.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn number(row: &AnyRow, column: &str) -> Read<u64> {
    let signed: i64 = row.try_get(column)?;
    u64::try_from(signed).map_err(|_| damaged(format!("{column} is {signed}")))
}

pub(crate) fn time(row: &AnyRow, column: &str) -> Read<Timestamp> {
    number(row, column).map(Timestamp)
}

pub(crate) fn time_or_none(row: &AnyRow, column: &str) -> Read<Option<Timestamp>> {
    let signed: Option<i64> = row.try_get(column)?;
    signed.map(|_| time(row, column)).transpose()
}

/// A text that names something: an id, or one of a few words.
pub(crate) fn named<T>(
    row: &AnyRow,
    column: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Read<T> {
    let text: &str = row.try_get(column)?;
    parse(text).ok_or_else(|| damaged(format!("{column} is {text:?}")))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// 32 bytes; never quotes them in an error, for they may be a secret.
pub(crate) fn bytes32(row: &AnyRow, column: &str) -> Read<[u8; 32]> {
    let text: &str = row.try_get(column)?;
    let wrong = || damaged(format!("{column} is not 32 bytes in hex"));
    let mut bytes = [0; 32];
    if text.len() != bytes.len() * 2 || !text.is_ascii() {
        return Err(wrong());
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        let digits = &text[at * 2..at * 2 + 2];
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}
