//! Settings as JSON in one column, with the schema they were written in, so that settings can grow without migrations.

use jari_line::{AutoQueue, GroupSettings, Mode, Settings};
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

/// A room's settings. Its mode stands beside the others under names of its own, which an older Jari passes over: settings
/// themselves are encoded for journals, whose layout is fixed.
pub(crate) fn write_room(settings: &Settings) -> String {
    let Settings { mode, auto, .. } = *settings;
    let others = Settings { mode: Mode::default(), auto: AutoQueue::default(), ..settings.clone() };
    let mut all = serde_json::to_value(others).expect("settings are numbers, texts and flags");
    all["mode"] = serde_json::to_value(mode).expect("a word");
    all["auto"] = serde_json::to_value(auto).expect("numbers");
    write(&all)
}

/// A room's settings; those that the text lacks take their defaults.
pub(crate) fn read_room(text: &str) -> Result<Settings, sqlx::Error> {
    let mut stored: Map<String, Value> = read(text)?;
    let failed = |error| damaged(error_text(&error));
    let mode = stored.remove("mode").map(serde_json::from_value::<Mode>);
    let auto = stored.remove("auto").map(serde_json::from_value::<AutoQueue>);
    let mode = mode.transpose().map_err(failed)?.unwrap_or_default();
    let auto = auto.transpose().map_err(failed)?.unwrap_or_default();
    let default = serde_json::to_value(Settings::default());
    let Ok(Value::Object(mut all)) = default else {
        unreachable!("settings are a JSON object");
    };
    all.extend(stored);
    let others: Settings = serde_json::from_value(Value::Object(all)).map_err(failed)?;
    Ok(Settings { mode, auto, ..others })
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
    use jari_line::{PacerKind, Signal};

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let settings = Settings { capacity: 7, admit_total: Some(3), ..Settings::default() };
        assert_eq!(read_room(&write_room(&settings)).unwrap(), settings);
        let auto = AutoQueue { at_live: Some(9), ..AutoQueue::default() };
        let pacer = PacerKind::Signal(Signal::default());
        let settings = Settings { mode: Mode::Auto, auto, pacer, ..settings };
        assert_eq!(read_room(&write_room(&settings)).unwrap(), settings);
        let group = GroupSettings { capacity: 1, rate_milli: u64::MAX, burst: 3 };
        assert_eq!(read_group(&write(&group)).unwrap(), group);
    }

    #[test]
    fn settings_that_an_older_version_lacked_take_their_defaults() {
        let read =
            read_room(r#"{"schema": 1, "settings": {"capacity": 7, "gone": true}}"#).unwrap();
        assert_eq!(read, Settings { capacity: 7, ..Settings::default() });
    }

    /// An older Jari reads `settings` as they were before there were modes.
    #[test]
    fn a_mode_is_not_among_what_an_older_version_reads() {
        let text = write_room(&Settings { mode: Mode::Off, ..Settings::default() });
        let stored: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(stored["settings"]["pacer"], "Fixed", "{text}");
        assert_eq!(stored["settings"]["mode"], "Off", "{text}");
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
