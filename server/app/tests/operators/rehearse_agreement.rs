//! One rehearsal as text, as JSON and as a picture: they say the same.

use serde_json::Value;

use crate::rehearse::jari;

/// Rows of the text and what JSON calls them. Rows of nobody may be left out.
const ROWS: [(&str, &str); 14] = [
    ("Turned away", "turned_away"),
    ("Gave up", "gave_up"),
    ("Missed their turn", "missed_turn"),
    ("Let in", "let_in"),
    ("  went in", "went_in"),
    ("Still waiting", "waiting_at_end"),
    ("Away at their turn", "absent_at_end"),
    ("Not come yet", "not_come"),
    ("Places given", "joined_total"),
    ("  longest line", "line_max"),
    ("  passed over", "absent_total"),
    ("  of them returned", "returned_total"),
    ("  admitted", "admitted_total"),
    ("Unused passes", "no_shows_total"),
];

/// The rows in which each person is once.
const EVERYBODY: [&str; 7] = [
    "turned_away",
    "gave_up",
    "missed_turn",
    "let_in",
    "waiting_at_end",
    "absent_at_end",
    "not_come",
];

fn whole(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

/// The number in a row of the text.
fn row(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.find_map(|rest| whole(rest.strip_prefix("  ")?.trim()))
}

/// The values on the axes of the picture's panels, each with the pixel that it is at. Each axis begins at 0.
fn axes(picture: &roxmltree::Document<'_>) -> Vec<Vec<(f64, f64)>> {
    let mut axes = Vec::new();
    for node in picture.descendants().filter(|node| node.attribute("text-anchor") == Some("end")) {
        let label = node.text().unwrap_or_default().trim().replace(',', "");
        let at = node.attribute("y").and_then(|y| y.parse().ok()).expect("a pixel");
        let value: f64 = label.parse().expect("a number");
        if value == 0.0 {
            axes.push(Vec::new());
        }
        axes.last_mut().expect("the first label is 0").push((value, at));
    }
    axes
}

/// The pixel of the highest point of the longest line in this colour.
fn top_of(picture: &roxmltree::Document<'_>, colour: &str) -> f64 {
    let lines = picture.descendants().filter(|node| {
        node.has_tag_name(("http://www.w3.org/2000/svg", "polyline"))
            && node.attribute("stroke") == Some(colour)
    });
    let points = lines.filter_map(|line| line.attribute("points"));
    let longest = points.max_by_key(|points| points.len()).expect("a line in this colour");
    let pixels = longest.split_whitespace().map(|point| {
        point.split_once(',').and_then(|(_, y)| y.parse::<f64>().ok()).expect("a pixel")
    });
    pixels.fold(f64::INFINITY, f64::min)
}

#[tokio::test]
async fn text_json_and_picture_say_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("picture.svg");
    let svg = svg.to_str().expect("UTF-8");
    let crowd = ["rehearse", "--people=600", "--seed=7"];
    let cases = [
        &["--window=2m", "--capacity=60", "--rate=5", "--burst=5"][..],
        &["--window=2m", "--capacity=60", "--rate=5", "--horizon=4m", "--no-shows=30%"],
        &["--window=5m", "--capacity=30", "--rate=5", "--horizon=5m", "--curve=ramp"],
        &["--capacity=90", "--rate=50", "--curve=waves", "--give-up=100%", "--patience=1m"],
    ];
    for more in cases {
        let (code, text, _) = jari(&[&crowd, more, &["--svg", svg, "--force"]].concat()).await;
        assert_eq!(code, 0, "{more:?}: {text}");
        let answer: Value =
            serde_json::from_str(&jari(&[&crowd, more, &["--json"]].concat()).await.1)
                .expect("JSON");
        let number = |name: &str| answer[name].as_u64();
        for (name, field) in ROWS {
            let told = row(&text, name).unwrap_or_default();
            assert_eq!(Some(told), number(field), "{more:?} {name}: {text}\n{answer:#}");
        }
        let all: u64 = EVERYBODY.iter().filter_map(|field| number(field)).sum();
        assert_eq!(Some(all), answer["crowd"]["people"].as_u64(), "{more:?}: {answer:#}");
        assert_eq!(answer["waits"]["people"], answer["let_in"], "{more:?}");
        let most = [number("waiting_max"), number("live_max")].map(|most| most.expect("a number"));
        let sentence =
            format!("At most {} wait at once; inside are at most {} of", most[0], most[1]);
        assert!(text.contains(&sentence), "{sentence} is not in {text}");
        let empty = text.starts_with("The line is empty");
        assert_eq!(empty, answer["drained_after_ms"].is_u64(), "{more:?}: {text}");

        let picture = std::fs::read_to_string(svg).expect("it was drawn");
        let picture = roxmltree::Document::parse(&picture).expect("well-formed");
        let axes = axes(&picture);
        assert_eq!(axes.len(), 3, "{axes:?}");
        for ((colour, most), axis) in ["#0072B2", "#D55E00"].into_iter().zip(most).zip(&axes) {
            let (zero, (value, at)) = (axis[0].1, axis[axis.len() - 1]);
            // Of one pixel.
            let worth = value / (zero - at);
            let drawn = (zero - top_of(&picture, colour)) * worth;
            let off = (drawn - most as f64).abs();
            assert!(off <= 2.0 * worth, "{more:?}: {colour} reaches {drawn}, at most {most}");
        }
    }
}
