//! Settings as JSON in one column, with the schema they were written in, so that settings can grow without migrations.

use jari_line::{GroupSettings, Settings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::column::damaged;

/// Raised when a setting changes its meaning. One that is new needs no raise: it takes its default where it is missing.
const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    schema: u32,
    settings: T,
}

pub(crate) fn write<T: Serialize>(settings: &T) -> String {
    let stored = Stored { schema: SCHEMA, settings };
    serde_json::to_string(&stored).expect("settings are numbers, texts and flags: JSON has all")
}

/// A room's settings; those that the text lacks take their defaults.
pub(crate) fn read_room(text: &str) -> Result<Settings, sqlx::Error> {
    let stored: Map<String, Value> = read(text)?;
    let default = serde_json::to_value(Settings::default());
    let Ok(Value::Object(mut all)) = default else {
        unreachable!("settings are a JSON object");
    };
    all.extend(stored);
    serde_json::from_value(Value::Object(all)).map_err(|error| damaged(error_text(&error)))
}

pub(crate) fn read_group(text: &str) -> Result<GroupSettings, sqlx::Error> {
    read(text)
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    let schema = serde_json::from_str::<Stored<serde::de::IgnoredAny>>(text);
    let schema = schema.map_err(|error| damaged(error_text(&error)))?.schema;
    if schema > SCHEMA {
        let newer = format!("settings of schema {schema}, this Jari knows {SCHEMA}: upgrade it");
        return Err(damaged(newer));
    }
    let stored: Stored<T> =
        serde_json::from_str(text).map_err(|error| damaged(error_text(&error)))?;
    Ok(stored.settings)
}

fn error_text(error: &serde_json::Error) -> String {
    format!("settings cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let settings = Settings { capacity: 7, admit_total: Some(3), ..Settings::default() };
        assert_eq!(read_room(&write(&settings)).unwrap(), settings);
        let group = GroupSettings { capacity: 1, rate_milli: u64::MAX, burst: 3 };
        assert_eq!(read_group(&write(&group)).unwrap(), group);
    }

    #[test]
    fn settings_that_an_older_version_lacked_take_their_defaults() {
        let read =
            read_room(r#"{"schema": 1, "settings": {"capacity": 7, "gone": true}}"#).unwrap();
        assert_eq!(read, Settings { capacity: 7, ..Settings::default() });
    }

    #[test]
    fn newer_and_damaged_settings_are_refused() {
        for (text, want) in [
            (r#"{"schema": 2, "settings": {}}"#, "schema 2"),
            (r#"{"schema": 1, "settings": {"capacity": "all"}}"#, "invalid type"),
            ("{", "cannot be read"),
        ] {
            let error = read_room(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
