//! A rehearsal as a picture: waiting, inside and admissions over time, as SVG. Says nothing that the text does not.

use jari_rehearsal::{Moment, Report};
use jari_units::Millis;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::case::Case;
use super::wording::{count, limits};
use crate::cli::Failure;

/// Pixels; a panel for each series, one above the other, since their numbers may lie far apart.
const SIZE: (u32, u32) = (880, 780);
/// Pixels around everything.
const MARGIN: u32 = 8;
/// Points of a line at most: about one for every second pixel.
const POINTS_MAX: usize = 400;
/// Admissions are counted over so many stretches of time: shorter ones would show single ticks.
const STRETCHES: u64 = 120;
/// A limit is drawn where it is at most this many times the highest value: a far one would flatten the line.
const LIMIT_NEAR: f64 = 2.0;

const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
const GRID: RGBColor = RGBColor(0xe0, 0xe0, 0xe0);
const LIMIT: RGBColor = RGBColor(0x77, 0x77, 0x77);
// Told apart with any colour vision: Okabe and Ito, "Color Universal Design" (2008).
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);

/// The same picture for dark screens. A style's colour beats the colour of an attribute.
const DARK: &str = "\
<style>@media (prefers-color-scheme: dark) {
[fill=\"#FFFFFF\"]{fill:#16191D} [fill=\"#333333\"]{fill:#DDDDDD} [stroke=\"#333333\"]{stroke:#DDDDDD}
[stroke=\"#E0E0E0\"]{stroke:#33383E} [stroke=\"#777777\"]{stroke:#999999} [stroke=\"#0072B2\"]{stroke:#56B4E9}
}</style>
";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
/// Minutes from the start, and a value.
type Points = Vec<(f64, f64)>;

/// One series with the scale that fits it.
struct Panel {
    label: &'static str,
    unit: &'static str,
    colour: RGBColor,
    points: Points,
    limit_label: &'static str,
    limit: Points,
}

pub(super) fn draw(case: &Case, report: &Report) -> Result<String, Failure> {
    let mut svg = String::new();
    draw_into(&mut svg, case, report)
        .map_err(|error| Failure::failed(format!("cannot draw the picture: {error}")))?;
    Ok(finished(&svg))
}

/// With a name for screen readers, and the colours for dark screens.
fn finished(svg: &str) -> String {
    let (head, body) = svg.split_at(svg.find('>').map_or(0, |end| end + 1));
    format!(
        "{head}\n<title>A rehearsal: waiting, inside and admissions over time</title>\n{DARK}{body}"
    )
}

fn draw_into(svg: &mut String, case: &Case, report: &Report) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&PAPER)?;
    let root = root.margin(MARGIN, MARGIN, MARGIN, MARGIN);
    let title = ("sans-serif", 20).into_font().color(&INK);
    let about = ("sans-serif", 16).into_font().color(&INK);
    let room = case.room.as_deref().map_or(String::new(), |room| format!("{room}: "));
    let area = root.titled(&format!("Rehearsal: {}", case.coming.text), title)?;
    let area = area.titled(&format!("{room}{}", limits(case)), about)?;
    let moments = until_idle(&report.timeline);
    let panels = panels(case, moments);
    let end = moments.last().map_or(Millis::ZERO, |moment| moment.at);
    let minutes = minutes(end.max(Millis::from_secs(1)));
    for (area, panel) in area.split_evenly((panels.len(), 1)).iter().zip(&panels) {
        draw_panel(area, panel, minutes)?;
    }
    root.present()
}

/// The timeline up to the moment when nobody waits or is inside any more: behind it there is nothing to see.
fn until_idle(timeline: &[Moment]) -> &[Moment] {
    let busy = timeline.iter().rposition(|moment| moment.waiting + moment.live > 0);
    &timeline[..busy.map_or(timeline.len(), |busy| (busy + 2).min(timeline.len()))]
}

fn panels(case: &Case, moments: &[Moment]) -> [Panel; 3] {
    let capacity = vec![(0.0, case.settings.capacity as f64)];
    [
        Panel {
            label: "waiting",
            unit: "people in line",
            colour: BLUE,
            points: line(moments, |moment| moment.waiting as f64),
            limit_label: "",
            limit: Vec::new(),
        },
        Panel {
            label: "inside",
            unit: "live passes",
            colour: VERMILLION,
            points: line(moments, |moment| moment.live as f64),
            limit_label: "capacity",
            limit: capacity,
        },
        Panel {
            label: "admitted",
            unit: "admissions a minute",
            colour: GREEN,
            points: per_minute(moments),
            limit_label: "rate",
            limit: line(moments, |moment| moment.rate_milli as f64 * 60.0 / 1_000.0),
        },
    ]
}

fn minutes(at: Millis) -> f64 {
    at.0 as f64 / 60_000.0
}

/// A few hundred points of the timeline, with its first and last. Of the moments that share a point the highest is drawn:
/// the line reaches as high as the text says.
fn line(moments: &[Moment], value: impl Fn(&Moment) -> f64) -> Points {
    let every = moments.len().div_ceil(POINTS_MAX).max(1);
    let highest =
        |few: &'_ [Moment]| few.iter().copied().max_by(|a, b| value(a).total_cmp(&value(b)));
    let ends = (moments.first().copied(), moments.last().copied());
    let shown = ends.0.into_iter().chain(moments.chunks(every).filter_map(highest)).chain(ends.1);
    let mut shown: Vec<Moment> = shown.collect();
    shown.dedup_by_key(|moment| moment.at);
    shown.iter().map(|moment| (minutes(moment.at), value(moment))).collect()
}

/// Admissions over stretches of the timeline, each drawn as a step. Those of the first moment are in the first.
fn per_minute(moments: &[Moment]) -> Points {
    let whole = moments.last().map_or(0, |moment| moment.at.0);
    let stretch = Millis((whole / STRETCHES).max(60_000));
    let mut points = Vec::new();
    let (mut start, mut before) = (Millis::ZERO, 0);
    for moment in moments {
        let length = moment.at - start;
        let is_last = Some(moment) == moments.last();
        if length < stretch && !is_last || length == Millis::ZERO {
            continue;
        }
        let rate = (moment.admitted - before) as f64 / minutes(length);
        points.extend([(minutes(start), rate), (minutes(moment.at), rate)]);
        (start, before) = (moment.at, moment.admitted);
    }
    points
}

fn highest(points: &Points) -> f64 {
    points.iter().map(|point| point.1).fold(0.0, f64::max)
}

fn draw_panel(area: &Area<'_>, panel: &Panel, minutes: f64) -> Drawn {
    let (peak, limit) = (highest(&panel.points), highest(&panel.limit));
    let near = limit > 0.0 && limit <= peak * LIMIT_NEAR;
    let top = if near { peak.max(limit) } else { peak }.max(1.0) * 1.08;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..minutes, 0.0..top)?;
    let text = ("sans-serif", 14).into_font().color(&INK);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text.clone())
        .x_desc("minutes from the first arrival")
        .y_desc(panel.unit)
        .y_labels(5)
        .x_label_formatter(&|minutes| number(*minutes))
        .y_label_formatter(&|value| number(*value))
        .draw()?;
    if near {
        let mut limit = panel.limit.clone();
        limit.push((minutes, limit[limit.len() - 1].1));
        chart
            .draw_series(LineSeries::new(limit, &LIMIT))?
            .label(panel.limit_label)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], LIMIT));
    }
    let stroke = panel.colour.stroke_width(2);
    chart
        .draw_series(LineSeries::new(panel.points.iter().copied(), stroke))?
        .label(panel.label)
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], stroke));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(PAPER)
        .border_style(GRID)
        .label_font(text)
        .draw()
}

/// An axis' number: whole with its thousands apart, or with the decimals that a short axis needs.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(secs: u64, admitted: u64) -> Moment {
        let at = Millis::from_secs(secs);
        Moment { at, waiting: secs, admitted, ..Moment::default() }
    }

    #[test]
    fn lines_are_thin_and_keep_their_last_point() {
        for ticks in [0, 1, 2, 399, 400, 401, 1_201] {
            let moments: Vec<_> = (0..ticks).map(|secs| moment(secs, 0)).collect();
            let points = line(&moments, |moment| moment.waiting as f64);
            assert!(points.len() <= POINTS_MAX + 2, "{ticks}");
            assert!(points.is_sorted_by(|a, b| a.0 < b.0), "{ticks}");
            let last = points.last().map(|point| point.1);
            assert_eq!(last, moments.last().map(|moment| moment.waiting as f64), "{ticks}");
        }
    }

    #[test]
    fn lines_reach_their_highest_moment() {
        for peak in [0, 1, 17, 998, 999] {
            let mut moments: Vec<_> = (0..1_000).map(|secs| moment(secs, 0)).collect();
            moments[peak].waiting = 5_000;
            let points = line(&moments, |moment| moment.waiting as f64);
            assert_eq!(highest(&points), 5_000.0, "{peak}");
            assert!(points.contains(&(minutes(moments[peak].at), 5_000.0)), "{peak}");
        }
    }

    /// The steps' area is everybody admitted, whatever the stretches.
    #[test]
    fn steps_add_up_to_the_admissions() {
        for every in [1, 7, 60, 240] {
            let moments: Vec<_> = (0..500).map(|n| moment(n * every, 7 + n * n)).collect();
            let points = per_minute(&moments);
            let area: f64 = points.chunks(2).map(|step| (step[1].0 - step[0].0) * step[0].1).sum();
            assert!((area - (7.0 + 499.0 * 499.0)).abs() < 1e-6, "{every}: {area}");
        }
        assert_eq!(per_minute(&[moment(0, 0)]), []);
    }
}
