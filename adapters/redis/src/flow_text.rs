//! What a room has seen of its traffic, as the scripts' part `flow` keeps it: six fields, "since;why;window;joined;busy;words".

use jari_line::{Auto, Busy, Flow, Load, Queueing, Source, Word};
use jari_units::{Millis, Timestamp};

/// A load as the scripts take it.
pub(crate) fn load_number(load: Load) -> u64 {
    match load {
        Load::Ok => 0,
        Load::Busy => 1,
        Load::Overloaded => 2,
    }
}

pub(crate) fn load(number: u64) -> Option<Load> {
    [Load::Ok, Load::Busy, Load::Overloaded].into_iter().find(|load| load_number(*load) == number)
}

/// The flow in an event's field.
pub(crate) fn read(text: &str) -> Option<Flow> {
    let fields: Vec<&str> = text.split(';').collect();
    let [since, why, window, joined, busy, words] = fields[..] else { return None };
    from_fields([since, why, window, joined, busy, words])
}

/// The flow whose fields are these, in order; empty ones are "not so" or zero.
pub(crate) fn from_fields(fields: [&str; 6]) -> Option<Flow> {
    let [since, why, window, joined, busy, words] = fields;
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let queueing = match since {
        "" => None,
        _ => Some(Queueing { since: Timestamp(number(since)?), why: reason(why)? }),
    };
    let (window_start, busy_at) = (Millis(number(window)?), Millis(number(busy)?));
    let auto = Auto { queueing, window_start, joined_before: number(joined)?, busy_at };
    let words =
        words.split(',').filter(|word| !word.is_empty()).map(word).collect::<Option<_>>()?;
    Some(Flow { auto, words })
}

fn reason(word: &str) -> Option<Busy> {
    match word {
        "live" => Some(Busy::Live),
        "arrivals" => Some(Busy::Arrivals),
        "line" => Some(Busy::Line),
        _ => None,
    }
}

fn word(text: &str) -> Option<Word> {
    let mut parts = text.split(':');
    let source: Source = parts.next()?.parse().ok()?;
    let load = load(parts.next()?.parse().ok()?)?;
    let until = Timestamp(parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(Word { source, load, until })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_read_from_its_six_fields() {
        let queueing = Some(Queueing { since: Timestamp(1_700_000_000_000), why: Busy::Line });
        let auto = Auto { queueing, window_start: Millis(5), joined_before: 6, busy_at: Millis(7) };
        let words = vec![
            Word { source: 0, load: Load::Ok, until: Timestamp(9) },
            Word { source: u64::MAX, load: Load::Overloaded, until: Timestamp(10) },
        ];
        let text = "1700000000000;line;5;6;7;0:0:9,18446744073709551615:2:10";
        assert_eq!(read(text), Some(Flow { auto, words }));
        assert_eq!(read(";;0;0;0;"), Some(Flow::default()));
        assert_eq!(from_fields([""; 6]), Some(Flow::default()), "a room of an older release");
        for odd in ["", ";;0;0;0", "1;;0;0;0;", ";;x;0;0;", ";;0;0;0;1:3:9", ";;0;0;0;1:1"] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
    }
}
