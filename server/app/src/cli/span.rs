//! Spans, times and shares as people type them: `90s`, `5%`, an RFC 3339 time or `none`. Reads no clock.

use jari_api::Utc;

/// Reads a span: whole numbers with their units, `ms`, `s`, `m`, `h` or `d`, such as `10m` or `2m30s`. Answers
/// milliseconds.
pub(super) fn span_ms(text: &str) -> Result<u64, String> {
    let wrong = || "a span is a number and a unit: 500ms, 90s, 2m30s, 2h or 1d".to_owned();
    let too_long = || "that span is too long".to_owned();
    let (mut rest, mut sum) = (text, 0_u64);
    loop {
        let unit = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, after) = rest.split_at(unit);
        let next = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let factor = unit_ms(&after[..next]).ok_or_else(wrong)?;
        let part = number.checked_mul(factor).ok_or_else(too_long)?;
        sum = sum.checked_add(part).ok_or_else(too_long)?;
        rest = &after[next..];
        if rest.is_empty() {
            return Ok(sum);
        }
    }
}

fn unit_ms(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    })
}

/// Something that can be taken back with `none`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OrNone<T> {
    None,
    Some(T),
}

impl<T: serde::Serialize> OrNone<T> {
    /// As a patch says it: `null` takes it back.
    pub(super) fn json(&self) -> serde_json::Value {
        match self {
            OrNone::None => serde_json::Value::Null,
            OrNone::Some(value) => serde_json::json!(value),
        }
    }
}

/// Reads a time with its offset from UTC.
pub(super) fn time(text: &str) -> Result<Utc, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "a time is RFC 3339 with its offset: 2027-01-31T20:00:00+09:00".to_owned())
}

pub(super) fn time_or_none(text: &str) -> Result<OrNone<Utc>, String> {
    if text == "none" { Ok(OrNone::None) } else { time(text).map(OrNone::Some) }
}

pub(super) fn count_or_none(text: &str) -> Result<OrNone<u64>, String> {
    if text == "none" {
        return Ok(OrNone::None);
    }
    text.parse().map(OrNone::Some).map_err(|_| "a whole number, or none".to_owned())
}

pub(super) fn id_or_none(text: &str) -> Result<OrNone<String>, String> {
    Ok(if text == "none" { OrNone::None } else { OrNone::Some(text.to_owned()) })
}

/// Reads a rate: admissions per second, at most three decimals.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let wrong = || "admissions per second: a number such as 50 or 0.5".to_owned();
    text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= 0.0).ok_or_else(wrong)
}

/// Reads a share of all people, such as `5%`. Answers 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let percent = number.filter(|percent: &f64| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "a share is a percentage from 0% to 100%: 5% or 2.5%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_unit() {
        for (text, want) in [
            ("500ms", Some(500)),
            ("90s", Some(90_000)),
            ("10m", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("0s", Some(0)),
            ("2m30s", Some(150_000)),
            ("1h5", None),
            ("1d99999999999999d", None),
            ("", None),
            ("10", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("10 m", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(span_ms(text).ok(), want, "{text}");
        }
    }

    #[test]
    fn shares_need_a_percent_sign() {
        for (text, want) in [("5%", Some(0.05)), ("0%", Some(0.0)), ("100%", Some(1.0))] {
            assert_eq!(share(text).ok(), want, "{text}");
        }
        for text in ["0.05", "101%", "-1%", "NaN%", "%", "5 %"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn none_takes_back() {
        assert_eq!(time_or_none("none").expect("a word").json(), serde_json::Value::Null);
        let at = time_or_none("2027-01-31T20:00:00+09:00").expect("a time").json();
        assert_eq!(at, "2027-01-31T11:00:00.000Z");
        assert!(time_or_none("tomorrow").is_err());
        assert!(rate("-1").is_err() && rate("inf").is_err() && rate("0.5").is_ok());
    }
}
