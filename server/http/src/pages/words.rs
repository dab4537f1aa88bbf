//! Numbers, spans of time and estimates in words, for pages rendered on the server. The script has the same in `texts.js`.

use jari_api::{EstimateView, NoEstimate};
use jari_units::Millis;

use super::language::Language;

const MINUTE_MS: u64 = 60_000;

/// A message with its places filled in.
pub(super) fn say(language: Language, key: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(language.text(key).to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// `1201` as `1,201`: Korean and English group digits alike.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A wait in minutes; beyond an hour to ten minutes, since nobody can promise more.
fn minutes(language: Language, minutes: u64) -> String {
    if minutes < 60 {
        return say(language, "minutes", &[("m", &minutes.to_string())]);
    }
    let rounded = (minutes + 5) / 10 * 10;
    hours_minutes(language, rounded / 60, rounded % 60)
}

fn hours_minutes(language: Language, hours: u64, minutes: u64) -> String {
    let key = if minutes == 0 { "hours" } else { "hours_minutes" };
    say(language, key, &[("h", &hours.to_string()), ("m", &minutes.to_string())])
}

/// A range such as "about 3 to 5 minutes", or why there is none.
pub(super) fn estimate(
    language: Language,
    estimate: Option<&EstimateView>,
    reason: Option<NoEstimate>,
) -> String {
    let Some(estimate) = estimate else { return no_estimate(language, reason) };
    let low = estimate.low_ms / MINUTE_MS;
    let high = estimate.high_ms.div_ceil(MINUTE_MS);
    if high <= 1 {
        return say(language, "under_minute", &[]);
    }
    let to = minutes(language, high);
    if low < 1 {
        return say(language, "up_to", &[("high", &to)]);
    }
    let from = minutes(language, low);
    if from == to {
        return say(language, "about", &[("high", &to)]);
    }
    // "3-5 min" and "2-3 h", not "3 min-5 min".
    let tens = |minutes: u64| (minutes + 5) / 10;
    let short = if high < 60 {
        low.to_string()
    } else if low >= 60 && tens(low).is_multiple_of(6) && tens(high).is_multiple_of(6) {
        (tens(low) / 6).to_string()
    } else {
        from
    };
    say(language, "range", &[("low", &short), ("high", &to)])
}

fn no_estimate(language: Language, reason: Option<NoEstimate>) -> String {
    let key = match reason {
        Some(NoEstimate::NotOpen) => "no_estimate.not_open",
        Some(NoEstimate::Paused) => "no_estimate.paused",
        Some(NoEstimate::Closed) => "no_estimate.closed",
        Some(NoEstimate::Unknown) | None => "no_estimate.unknown",
    };
    say(language, key, &[])
}

/// A span to the second below an hour, to the minute below a day.
pub(super) fn span(language: Language, span: Millis) -> String {
    let seconds = span.as_secs_ceil();
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let text = |n: u64| n.to_string();
    match seconds {
        0..60 => say(language, "seconds", &[("s", &text(seconds))]),
        60..3_600 if seconds.is_multiple_of(60) => {
            say(language, "minutes", &[("m", &text(minutes))])
        }
        60..3_600 => {
            say(language, "minutes_seconds", &[("m", &text(minutes)), ("s", &text(seconds % 60))])
        }
        3_600..86_400 => hours_minutes(language, hours, minutes % 60),
        _ => say(language, "days_hours", &[("d", &text(hours / 24)), ("h", &text(hours % 24))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, want) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), want);
        }
    }

    #[test]
    fn estimates_are_ranges_in_words() {
        for (low_s, high_s, ko, en) in [
            (5, 50, "1분 이내", "less than a minute"),
            (30, 150, "3분 이내", "up to 3 min"),
            (190, 290, "약 3~5분", "about 3 to 5 min"),
            (3_000, 4_000, "약 50분~1시간 10분", "about 50 min to 1 h 10 min"),
            (7_200, 10_800, "약 2~3시간", "about 2 to 3 h"),
            (7_200, 12_000, "약 2시간~3시간 20분", "about 2 h to 3 h 20 min"),
            (7_200, 7_260, "약 2시간", "about 2 h"),
        ] {
            let view = EstimateView { low_ms: low_s * 1_000, high_ms: high_s * 1_000 };
            assert_eq!(estimate(Language::Ko, Some(&view), None), ko);
            assert_eq!(estimate(Language::En, Some(&view), None), en);
        }
        assert_eq!(estimate(Language::Ko, None, Some(NoEstimate::Paused)), "재개 후 안내");
    }

    #[test]
    fn spans_get_coarser_as_they_grow() {
        for (seconds, want) in [
            (9, "9초"),
            (120, "2분"),
            (150, "2분 30초"),
            (3_600, "1시간"),
            (5_430, "1시간 30분"),
            (90_000, "1일 1시간"),
        ] {
            assert_eq!(span(Language::Ko, Millis::from_secs(seconds)), want);
        }
    }
}
