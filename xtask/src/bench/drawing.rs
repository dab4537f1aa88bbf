//! Pictures as SVG, in one style with those of `jari rehearse`. Knows no measurement.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::entry::number;
use super::pictures::{Bars, Corner, Lines, Panel, Picture};

/// Pixels across.
const WIDTH: u32 = 880;
/// Pixels of a panel of lines, of a row of bars, and of the title.
const PANEL: u32 = 260;
const ROW: u32 = 26;
const TITLE: u32 = 44;
/// Pixels of the axes of a panel of bars.
const BAR_AXES: u32 = 60;
/// Pixels around everything.
const MARGIN: u32 = 8;
/// Points of a line at most: about one for every second pixel.
const POINTS_MAX: usize = 400;
/// A limit is drawn where it is at most this many times the highest value: a far one would flatten the line.
const LIMIT_NEAR: f64 = 3.0;

const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
const GRID: RGBColor = RGBColor(0xe0, 0xe0, 0xe0);
const LIMIT: RGBColor = RGBColor(0x77, 0x77, 0x77);
// Told apart with any colour vision: Okabe and Ito, "Color Universal Design" (2008).
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
const COLOURS: [RGBColor; 4] = [BLUE, VERMILLION, GREEN, ORANGE];

/// The same picture for dark screens. A style's colour beats the colour of an attribute.
const DARK: &str = "\
<style>@media (prefers-color-scheme: dark) {
[fill=\"#FFFFFF\"]{fill:#16191D} [fill=\"#333333\"]{fill:#DDDDDD} [stroke=\"#333333\"]{stroke:#DDDDDD}
[stroke=\"#E0E0E0\"]{stroke:#33383E} [stroke=\"#777777\"]{stroke:#999999}
[stroke=\"#0072B2\"]{stroke:#56B4E9} [fill=\"#0072B2\"]{fill:#56B4E9}
}</style>
";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The picture as SVG, with a name for screen readers.
pub(super) fn draw(picture: &Picture) -> Result<String> {
    let mut svg = String::new();
    draw_into(&mut svg, picture)
        .map_err(|error| anyhow!("{} cannot be drawn: {error}", picture.name))?;
    let (head, body) = svg.split_at(svg.find('>').map_or(0, |end| end + 1));
    let title = picture.title.replace('&', "&amp;").replace('<', "&lt;");
    Ok(format!("{head}\n<title>{title}</title>\n{DARK}{body}"))
}

fn height(panel: &Panel) -> u32 {
    match panel {
        Panel::Lines(_) => PANEL,
        Panel::Bars(bars) => ROW * u32::try_from(bars.rows.len()).unwrap_or(1) + BAR_AXES,
    }
}

fn draw_into(svg: &mut String, picture: &Picture) -> Drawn {
    let heights: Vec<u32> = picture.panels.iter().map(height).collect();
    let all = heights.iter().sum::<u32>() + TITLE + 2 * MARGIN;
    let root = SVGBackend::with_string(svg, (WIDTH, all)).into_drawing_area();
    root.fill(&PAPER)?;
    let root = root.margin(MARGIN, MARGIN, MARGIN, MARGIN);
    let title = ("sans-serif", 20).into_font().color(&INK);
    let mut rest = root.titled(&picture.title, title)?;
    for (panel, height) in picture.panels.iter().zip(heights) {
        let (own, below) = rest.split_vertically(height);
        match panel {
            Panel::Lines(lines) => draw_lines(&own, lines)?,
            Panel::Bars(bars) => draw_bars(&own, bars)?,
        }
        rest = below;
    }
    root.present()
}

fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn draw_lines(area: &Area<'_>, lines: &Lines) -> Drawn {
    let points = || lines.series.iter().flat_map(|(_, points)| points);
    let right = highest(points().map(|point| point.0)).max(f64::MIN_POSITIVE);
    let peak = highest(points().map(|point| point.1));
    let limit = lines.limit.filter(|limit| *limit <= peak * LIMIT_NEAR);
    let top = peak.max(limit.unwrap_or_default()).max(f64::MIN_POSITIVE) * 1.08;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    let text = ("sans-serif", 14).into_font().color(&INK);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text.clone())
        .x_desc(lines.across)
        .y_desc(lines.up)
        .y_labels(5)
        .x_label_formatter(&|value| axis_number(*value))
        .y_label_formatter(&|value| axis_number(*value))
        .draw()?;
    if let Some(limit) = limit {
        let across = LineSeries::new([(0.0, limit), (right, limit)], &LIMIT);
        chart
            .draw_series(across)?
            .label("bar")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], LIMIT));
    }
    for ((label, points), colour) in lines.series.iter().zip(COLOURS.iter().cycle()) {
        let stroke = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(thinned(points), stroke))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], stroke));
    }
    if lines.series.len() < 2 && limit.is_none() {
        return Ok(());
    }
    let position = match lines.free {
        Corner::UpperLeft => SeriesLabelPosition::UpperLeft,
        Corner::LowerRight => SeriesLabelPosition::LowerRight,
    };
    chart
        .configure_series_labels()
        .position(position)
        .background_style(PAPER)
        .border_style(GRID)
        .label_font(text)
        .draw()
}

/// As short as it can be: axes have round numbers.
fn axis_number(value: f64) -> String {
    let text = number(value);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A few hundred of the points, with the last.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let mut shown: Vec<_> = points.iter().copied().step_by(every).collect();
    if let Some(last) = points.last().filter(|last| shown.last() != Some(last)) {
        shown.push(*last);
    }
    shown
}

fn draw_bars(area: &Area<'_>, bars: &Bars) -> Drawn {
    let rows = bars.rows.len().max(1);
    let longest = highest(bars.rows.iter().map(|row| row.1));
    // Room for the words beside the longest.
    let right = longest.max(bars.limit.unwrap_or_default()).max(f64::MIN_POSITIVE) * 1.4;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(210)
        .build_cartesian_2d(0.0..right, rows as f64..0.0)?;
    let text = ("sans-serif", 14).into_font().color(&INK);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text.clone())
        .x_desc(bars.across)
        .y_labels(0)
        .x_label_formatter(&|value| axis_number(*value))
        .draw()?;
    for (nth, (label, value, told, good)) in bars.rows.iter().enumerate() {
        let (from, until) = (nth as f64 + 0.15, nth as f64 + 0.85);
        let colour = if *good { BLUE } else { VERMILLION };
        // What is below nothing (memory given back) has no length.
        let value = value.max(0.0);
        let bar = Rectangle::new([(0.0, from), (value, until)], colour.filled());
        chart.draw_series(std::iter::once(bar))?;
        let at = chart.backend_coord(&(value, nth as f64 + 0.25));
        let left = chart.backend_coord(&(0.0, nth as f64 + 0.25));
        let (x, y) = area.get_base_pixel();
        area.draw(&Text::new(told.clone(), (at.0 - x + 6, at.1 - y), text.clone()))?;
        area.draw(&Text::new(label.clone(), (10, left.1 - y), text.clone()))?;
    }
    if let Some(limit) = bars.limit {
        let line = [(limit, 0.0), (limit, rows as f64)];
        chart.draw_series(LineSeries::new(line, LIMIT.stroke_width(2)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(panels: Vec<Panel>) -> Picture {
        Picture { name: "x".to_owned(), title: "a < b".to_owned(), panels }
    }

    #[test]
    fn every_series_label_and_limit_is_in_the_picture() {
        let lines = Lines {
            across: "seconds",
            up: "people",
            series: vec![
                ("one".to_owned(), vec![(0.0, 1.0), (5.0, 30.0)]),
                ("other".to_owned(), Vec::new()),
            ],
            limit: Some(20.0),
            free: Corner::UpperLeft,
        };
        let bars = Bars {
            across: "share",
            rows: vec![("row".to_owned(), 0.5, "0.5 x".to_owned(), true)],
            limit: Some(1.0),
        };
        let svg = draw(&picture(vec![Panel::Lines(lines), Panel::Bars(bars)])).expect("drawn");
        for part in ["<svg", "a &lt; b", "one", "other", "people", "row", "0.5 x", "#777777"] {
            assert!(svg.contains(part), "{part} is not in it");
        }
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn nothing_measured_is_still_a_picture() {
        for panel in [Panel::Lines(Lines::default()), Panel::Bars(Bars::default())] {
            assert!(draw(&picture(vec![panel])).expect("drawn").contains("</svg>"));
        }
    }

    #[test]
    fn axes_have_short_numbers() {
        for (value, text) in
            [(0.2, "0.2"), (20.0, "20"), (1_000.0, "1,000"), (0.0, "0"), (2.5, "2.5")]
        {
            assert_eq!(axis_number(value), text);
        }
    }

    #[test]
    fn lines_are_thin_and_keep_their_last_point() {
        for count in [0, 1, 2, 399, 400, 401, 1_201] {
            let points: Vec<_> = (0..count).map(|n| (f64::from(n), 0.0)).collect();
            let shown = thinned(&points);
            assert!(shown.len() <= POINTS_MAX + 1, "{count}");
            assert_eq!(shown.last(), points.last(), "{count}");
        }
    }
}
