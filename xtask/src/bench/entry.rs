//! One number of a bench, the bar it is held to, and all of them as a table. Measures nothing.

use std::fmt;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

/// One line of the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    /// What is promised: ">= 0.6"; `null` where nothing is.
    #[serde(serialize_with = "as_text")]
    pub(super) bar: Option<Bar>,
    /// `null` where there is no bar.
    pub(super) holds: Option<bool>,
}

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Bar {
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Bar::AtLeast(bar) => value >= bar,
            Bar::AtMost(bar) => value <= bar,
            Bar::Below(bar) => value < bar,
        }
    }

    /// How much of the bar is used up: above 1 it is missed, whichever way it points.
    pub(super) fn used(self, value: f64) -> f64 {
        match self {
            Bar::AtLeast(bar) => bar / value.max(f64::MIN_POSITIVE),
            Bar::AtMost(0.0) => f64::from(u8::from(value > 0.0)) * 2.0,
            Bar::AtMost(bar) | Bar::Below(bar) => value / bar,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::AtLeast(bar) => write!(f, ">= {bar}"),
            Bar::AtMost(bar) => write!(f, "<= {bar}"),
            Bar::Below(bar) => write!(f, "< {bar}"),
        }
    }
}

fn as_text<S: serde::Serializer>(bar: &Option<Bar>, to: S) -> Result<S::Ok, S::Error> {
    match bar {
        Some(bar) => to.collect_str(bar),
        None => to.serialize_none(),
    }
}

impl Entry {
    /// A number that is only stated.
    pub(super) fn stated(name: impl Into<String>, value: f64, unit: &'static str) -> Entry {
        Entry { name: name.into(), value, unit, bar: None, holds: None }
    }

    /// A number that is held to a bar.
    pub(super) fn held(name: impl Into<String>, value: f64, unit: &'static str, bar: Bar) -> Entry {
        let holds = Some(bar.holds(value));
        Entry { name: name.into(), value, unit, bar: Some(bar), holds }
    }

    pub(super) fn bar_text(&self) -> String {
        self.bar.map_or_else(String::new, |bar| bar.to_string())
    }

    pub(super) fn holds_text(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        }
    }
}

/// A value for people: whole where it is large, with as many decimals as matter where it is small.
pub(super) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut apart = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    format!("{sign}{apart}{rest}")
}

pub(super) fn table(entries: &[Entry]) -> String {
    let mut text = format!("\n{:<34}{:>12}  {:<10}{:<12}holds\n", "name", "value", "unit", "bar");
    for entry in entries {
        let (value, bar, holds) = (number(entry.value), entry.bar_text(), entry.holds_text());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:<34}{value:>12}  {:<10}{bar:<12}{holds}", entry.name, entry.unit);
    }
    text
}

/// The names of those that fall short.
pub(super) fn missed(entries: &[Entry]) -> Vec<&str> {
    let missed = entries.iter().filter(|entry| entry.holds == Some(false));
    missed.map(|entry| entry.name.as_str()).collect()
}

/// A number in a load's report.
pub(super) fn value(report: &Value, pointer: &str) -> Result<f64> {
    let found = report.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("a report without {pointer}"))
}

/// The middle of the values; of two middles their mean.
pub(super) fn median(mut values: Vec<f64>) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    let below = values.len().checked_sub(1).context("nothing was measured")? / 2;
    Ok(f64::midpoint(values[below], values[values.len() / 2]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bar_says_which_way_it_points() {
        for (bar, value, holds) in [
            (Bar::AtLeast(0.6), 0.6, true),
            (Bar::AtLeast(0.6), 0.59, false),
            (Bar::AtMost(50.0), 50.0, true),
            (Bar::AtMost(0.0), 1.0, false),
            (Bar::Below(15.0), 15.0, false),
            (Bar::Below(15.0), 14.9, true),
        ] {
            assert_eq!(bar.holds(value), holds, "{value} {bar}");
            let edge = matches!(bar, Bar::Below(limit) if limit == value);
            assert_eq!(bar.used(value) <= 1.0, holds || edge, "{value} {bar}");
        }
    }

    #[test]
    fn results_are_written_with_these_five_fields() {
        let entries = [
            Entry::held("joins.ratio", 0.71, "x", Bar::AtLeast(0.6)),
            Entry::stated("joins.per_s", 40_000.0, "1/s"),
        ];
        let written = serde_json::to_value(entries).expect("JSON");
        assert_eq!(
            written,
            json!([
                {"name": "joins.ratio", "value": 0.71, "unit": "x", "bar": ">= 0.6", "holds": true},
                {"name": "joins.per_s", "value": 40000.0, "unit": "1/s", "bar": null, "holds": null},
            ])
        );
    }

    #[test]
    fn only_what_has_a_bar_can_fall_short() {
        let entries = [
            Entry::held("a", 1.0, "x", Bar::Below(1.0)),
            Entry::held("b", 0.5, "x", Bar::Below(1.0)),
            Entry::stated("c", 9.0, "x"),
        ];
        assert_eq!(missed(&entries), ["a"]);
        assert!(table(&entries).contains("NO"));
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        for (value, text) in [
            (0.0, "0"),
            (0.714, "0.71"),
            (14.06, "14.1"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
            (-12_345.0, "-12,345"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn medians_are_taken_and_missing_numbers_are_errors() {
        assert_eq!(median(vec![30.0, 10.0, 20.0]).expect("three"), 20.0);
        assert_eq!(median(vec![10.0, 20.0]).expect("two"), 15.0);
        assert!(median(Vec::new()).is_err());
        let report = json!({"server": {"cores": 1.5}});
        assert_eq!(value(&report, "/server/cores").expect("there"), 1.5);
        assert!(value(&report, "/per_s").is_err());
    }
}
