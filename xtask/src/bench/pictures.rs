//! What is drawn of the results: which numbers, side by side or over time. How it looks is `drawing`'s business.

use serde_json::Value;

use super::entry::{Entry, number};

/// One file: panels, one above the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Panel {
    Lines(Lines),
    Bars(Bars),
}

/// Values over something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lines {
    pub(super) across: &'static str,
    pub(super) up: &'static str,
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
    /// A bar across the panel.
    pub(super) limit: Option<f64>,
    pub(super) free: Corner,
}

/// Where no line runs, so that there is room for the names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Corner {
    #[default]
    UpperLeft,
    LowerRight,
}

/// Values side by side, each with its own words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bars {
    pub(super) across: &'static str,
    /// Label, value, what is written beside it, whether it is as it should be.
    pub(super) rows: Vec<(String, f64, String, bool)>,
    pub(super) limit: Option<f64>,
}

impl Picture {
    pub(super) fn file(&self) -> String {
        format!("bench-{}.svg", self.name.replace('_', "-"))
    }

    fn new(name: &str, title: impl Into<String>, panels: Vec<Panel>) -> Picture {
        Picture { name: name.to_owned(), title: title.into(), panels }
    }
}

/// Every entry that has a bar, by how much of it is used up.
pub(super) fn reach(name: &str, title: &str, entries: &[Entry]) -> Picture {
    /// A bar that is missed by more is drawn so long, and its number is written beside it.
    const LONGEST: f64 = 2.0;
    let rows = entries.iter().filter_map(|entry| {
        let used = entry.bar?.used(entry.value).min(LONGEST);
        let told = format!("{} {} ({})", number(entry.value), entry.unit, entry.bar_text());
        Some((entry.name.clone(), used, told, entry.holds == Some(true)))
    });
    let across = "share of the bar that is used up; beyond 1 it is missed";
    let bars = Bars { across, rows: rows.collect(), limit: Some(1.0) };
    Picture::new(name, title, vec![Panel::Bars(bars)])
}

/// For each kind of request: the share of answers (up) that came within a time (across), over all rounds.
pub(super) fn latencies(name: &str, title: &str, kinds: &[(&str, &Vec<Value>)]) -> Picture {
    let series = kinds.iter().map(|(kind, reports)| {
        let counts = reports.iter().flat_map(|report| counts(report, "/counts"));
        ((*kind).to_owned(), shares(counts.collect()))
    });
    let lines = Lines {
        across: "milliseconds",
        up: "% answered within",
        series: series.collect(),
        limit: None,
        free: Corner::LowerRight,
    };
    Picture::new(name, title, vec![Panel::Lines(lines)])
}

/// A room that grows: people, memory, and the longest poll of each half second.
pub(super) fn growth(report: &Value) -> Picture {
    let over = |name: &str, scale: f64| {
        points(report, "/timeline", "waiting", name)
            .into_iter()
            .map(|(waiting, value)| (waiting / 1_000.0, value * scale))
            .collect::<Vec<_>>()
    };
    let across = "thousand waiting";
    let panel = |up: &'static str, series: Vec<(f64, f64)>, limit| {
        let series = vec![(up.to_owned(), series)];
        Panel::Lines(Lines { across, up, series, limit, ..Lines::default() })
    };
    let panels = vec![
        panel("seconds", over("at_s", 1.0), None),
        panel("MB of the server", over("rss_mb", 1.0), None),
        panel("ms, longest poll", over("worst_poll_ms", 1.0), Some(50.0)),
    ];
    Picture::new("growth", "A room that grows, with a poll every 5 ms beside it", panels)
}

/// How long after the first stream every other one had the same line.
pub(super) fn receipts(report: &Value) -> Picture {
    let shares = shares(counts(report, "/each_counts"));
    let lines = Lines {
        across: "milliseconds after the first stream",
        up: "% of the streams",
        series: vec![("streams that have the line".to_owned(), shares)],
        ..Lines::default()
    };
    let streams = report.pointer("/streams").and_then(Value::as_f64).unwrap_or_default();
    let title = format!("A line on its way to {} streams while people join", number(streams));
    Picture::new("streams", title, vec![Panel::Lines(lines)])
}

/// A rush over time: who waits, who was let in, and how long the notices of each call took.
pub(super) fn rush(name: &str, title: &str, bar_ms: f64, report: &Value) -> Picture {
    let across = "seconds";
    let people = ["registered", "notified", "open"].map(|what| {
        let told = if what == "open" { "streams open" } else { what };
        (told.to_owned(), points(report, "/timeline", "at_s", what))
    });
    let notices = [("p95", "notice_p95_ms"), ("longest", "notice_max_ms")]
        .map(|(told, what)| (told.to_owned(), points(report, "/calls", "at_s", what)));
    let panels = vec![
        Panel::Lines(Lines { across, up: "people", series: people.into(), ..Lines::default() }),
        Panel::Lines(Lines {
            across,
            up: "ms, from the call to the notice",
            series: notices.into(),
            limit: Some(bar_ms),
            ..Lines::default()
        }),
    ];
    Picture::new(name, format!("Register, subscribe, allow: {title}"), panels)
}

/// Everybody at once at a site that takes `capacity`: the site's work and the passes, and below them the line.
pub(super) fn burst(name: &str, title: String, capacity: f64, report: &Value) -> Picture {
    let series = |told: &str, what| (told.to_owned(), points(report, "/timeline", "at_s", what));
    let across = "seconds";
    let inside = Lines {
        across,
        up: "at once",
        series: vec![series("pages at the site", "at_site"), series("passes", "inside")],
        limit: Some(capacity),
        free: Corner::LowerRight,
    };
    let line = vec![series("in line", "waiting")];
    let waiting = Lines { across, up: "people", series: line, ..Lines::default() };
    Picture::new(name, title, vec![Panel::Lines(inside), Panel::Lines(waiting)])
}

/// Values of one unit, one below the other.
pub(super) fn bars(
    name: &str,
    title: &str,
    across: &'static str,
    limit: Option<f64>,
    rows: &[(String, f64)],
) -> Picture {
    let row = |(label, value): &(String, f64)| {
        let good = limit.is_none_or(|limit| *value <= limit);
        (label.clone(), *value, number(*value), good)
    };
    let bars = Bars { across, rows: rows.iter().map(row).collect(), limit };
    Picture::new(name, title, vec![Panel::Bars(bars)])
}

pub(super) fn estimates(within: &[(&str, f64)]) -> Picture {
    let row = |(curve, share): &(&str, f64)| {
        ((*curve).to_owned(), *share, format!("{share:.1} %"), *share >= 90.0)
    };
    let bars = Bars {
        across: "% of the shown estimates that held",
        rows: within.iter().map(row).collect(),
        limit: Some(90.0),
    };
    Picture::new(
        "estimates",
        "How often the truth lay inside the shown range",
        vec![Panel::Bars(bars)],
    )
}

/// Points out of a list of objects.
fn points(report: &Value, list: &str, across: &str, up: &str) -> Vec<(f64, f64)> {
    let rows = report.pointer(list).and_then(Value::as_array);
    let rows = rows.into_iter().flatten();
    rows.filter_map(|row| Some((row.get(across)?.as_f64()?, row.get(up)?.as_f64()?))).collect()
}

/// Pairs of microseconds and how often they came.
fn counts(report: &Value, pointer: &str) -> Vec<(f64, f64)> {
    let pairs = report.pointer(pointer).and_then(Value::as_array);
    let pairs = pairs.into_iter().flatten();
    pairs.filter_map(|pair| Some((pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?))).collect()
}

/// Of counts: milliseconds, and the percentage that took no longer. The last half percent is left out, as one outlier
/// would flatten all; the table has it.
fn shares(mut counts: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    /// Drawn up to this percentage.
    const UP_TO: f64 = 99.5;
    counts.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = counts.iter().map(|(_, count)| count).sum();
    let mut so_far = 0.0;
    let shares = counts.into_iter().map(|(us, count)| {
        so_far += count;
        (us / 1_000.0, so_far / all * 100.0)
    });
    shares.take_while(|(_, share)| *share <= UP_TO).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::entry::Bar;
    use super::*;

    #[test]
    fn shares_rise_and_leave_the_outlier_out() {
        let shares = shares(vec![(2_000.0, 50.0), (1_000.0, 49.0), (9_000_000.0, 1.0)]);
        assert_eq!(shares, [(1.0, 49.0), (2.0, 99.0)]);
    }

    #[test]
    fn only_what_has_a_bar_is_in_the_overview() {
        let entries = [
            Entry::held("a", 300.0, "ms", Bar::Below(100.0)),
            Entry::stated("b", 1.0, "x"),
            Entry::held("c", 0.8, "x", Bar::AtLeast(0.4)),
        ];
        let Panel::Bars(bars) = &reach("all", "All", &entries).panels[0] else { panic!("bars") };
        let rows: Vec<_> = bars.rows.iter().map(|row| (&*row.0, row.1, row.3)).collect();
        assert_eq!(rows, [("a", 2.0, false), ("c", 0.5, true)]);
    }

    #[test]
    fn reports_are_read_into_points() {
        let report = json!({
            "timeline": [{"at_s": 0.5, "registered": 3, "notified": 1, "open": 2}],
            "calls": [{"at_s": 1.0, "notice_p95_ms": 4.0, "notice_max_ms": 5.0}],
        });
        let picture = rush("rush_400", "x", 90.0, &report);
        assert_eq!(picture.file(), "bench-rush-400.svg");
        let Panel::Lines(people) = &picture.panels[0] else { panic!("lines") };
        assert_eq!(people.series[2], ("streams open".to_owned(), vec![(0.5, 2.0)]));
        let Panel::Lines(notices) = &picture.panels[1] else { panic!("lines") };
        assert_eq!((notices.series[1].1[0], notices.limit), ((1.0, 5.0), Some(90.0)));
        let report = json!({"timeline": [{"at_s": 1.5, "at_site": 7, "inside": 8, "waiting": 90}]});
        let picture = burst("gate_auto", "x".to_owned(), 200.0, &report);
        let Panel::Lines(inside) = &picture.panels[0] else { panic!("lines") };
        assert_eq!((inside.series[1].1[0], inside.limit), ((1.5, 8.0), Some(200.0)));
    }
}
