//! `jari rehearse` as an operator runs it: its answer, its picture, a copied room, and how it fails.

use std::path::Path;

use jari_api::admin::PacerBody;
use jari_testkit::{Process, TestApp};
use serde_json::{Value, json};

use crate::JARI;

/// Few people in little time: the tests' crowd.
const SMALL: [&str; 7] = [
    "rehearse",
    "--people=600",
    "--window=2m",
    "--capacity=60",
    "--rate=5",
    "--burst=5",
    "--seed=7",
];

/// Runs a command without a server; gives the exit code and both outputs.
pub(crate) async fn jari(args: &[&str]) -> (i32, String, String) {
    let mut process = Process::command(JARI, args).spawn();
    let code = process.wait().await.code().expect("it ends by itself");
    (code, process.stdout(), process.stderr())
}

async fn rehearse(more: &[&str]) -> String {
    let (code, stdout, stderr) = jari(&[&SMALL, more].concat()).await;
    assert_eq!((code, stderr.as_str()), (0, ""), "{more:?}: {stdout}");
    stdout
}

#[tokio::test]
async fn the_answer_comes_first() {
    insta::assert_snapshot!(rehearse(&[]).await);
}

#[tokio::test]
async fn whoever_still_waits_at_the_end_is_told() {
    let text = rehearse(&["--horizon", "5m"]).await;
    let first = text.lines().next().expect("an answer");
    assert!(first.starts_with("After 5 min ") && first.contains("still wait. Of those"), "{text}");
    // With nobody let in and nobody giving up, everybody still waits.
    let flags = ["rehearse", "--people=600", "--capacity=0", "--give-up=0%", "--horizon=1h"];
    let text = jari(&flags).await.1;
    assert!(text.starts_with("After 60 min 600 people still wait.\nAt most 600 wait"), "{text}");
}

/// Everybody is accounted for, and the flags of the crowd reach it.
#[tokio::test]
async fn json_holds_every_number() {
    let flags = ["--no-shows=0%", "--give-up=0%", "--dwell=30s", "--curve=waves", "--json"];
    let answer: Value = serde_json::from_str(&rehearse(&flags).await).expect("JSON");
    let number = |path: &str| answer.pointer(path).and_then(Value::as_u64).expect(path);
    assert_eq!(answer["crowd"]["curve"], "waves");
    assert_eq!((number("/crowd/people"), number("/joined_total")), (600, 600));
    assert_eq!((number("/gave_up"), number("/waiting_at_end")), (0, 0));
    assert_eq!(number("/let_in") + number("/missed_turn"), 600);
    assert_eq!(number("/waits/people"), number("/let_in"));
    assert_eq!(number("/settings/capacity"), 60);
    assert!(number("/live_max") <= 60 && number("/waiting_max") > 100, "{answer:#}");
    assert!(number("/waits/p50_ms") <= number("/waits/p90_ms"));
    let held =
        number("/estimates/within") + number("/estimates/sooner") + number("/estimates/later");
    assert_eq!(held, number("/estimates/shown"));
    let timeline = answer["timeline"].as_array().expect("moments");
    let last = timeline.last().expect("a last moment");
    assert_eq!(last["at_ms"], answer["ended_after_ms"]);
    assert_eq!(last["admitted"], answer["admitted_total"]);
    let usual: Value = serde_json::from_str(&rehearse(&["--json"]).await).expect("JSON");
    assert!(usual["gave_up"].as_u64() > Some(0) && usual["no_shows_total"].as_u64() > Some(0));
}

/// Of a room that queues by itself: when it does, and who walks in. Of others nothing of it is said.
#[tokio::test]
async fn issue_5_an_auto_room_tells_when_it_queues() {
    let text = rehearse(&["--mode", "auto", "--quiet-for", "30s"]).await;
    assert!(text.contains("It queues after ") && text.contains("  walked in"), "{text}");
    assert!(text.contains("mode auto, 5/s, capacity 60"), "{text}");
    let quiet = ["rehearse", "--people=600", "--mode=auto"];
    let text = jari(&quiet).await.1;
    assert!(text.contains("It never queues: 600 people walk in.\n"), "{text}");
    let json = jari(&[&quiet[..], &["--json"]].concat()).await.1;
    let answer: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(answer["settings"]["mode"], "auto");
    let queued = ["walked_in", "queued_first_after_ms", "queued_ms"].map(|name| &answer[name]);
    assert_eq!(queued, [&json!(600), &Value::Null, &json!(0)]);
    assert_eq!(answer["waits"]["max_ms"], 0);
    let on = rehearse(&[]).await;
    assert!(!on.contains("queues") && !on.contains("walked in"), "{on}");
}

#[tokio::test]
async fn issue_5_a_site_moves_the_signal_pacer_and_without_one_a_note_says_so() {
    let signal = ["--pacer", "signal"];
    let text = rehearse(&signal).await;
    assert!(text.contains("Note: no site says anything here"), "{text}");
    let site = ["--site-busy-at", "30", "--site-overloaded-at", "40"];
    let text = rehearse(&[&signal[..], &site].concat()).await;
    assert!(text.contains("a site busy at 30 and overloaded at 40"), "{text}");
    assert!(!text.contains("Note:"), "{text}");
}

/// The points of the line in this colour.
fn points_of(picture: &roxmltree::Document<'_>, colour: &str) -> usize {
    let lines = picture.descendants().filter(|node| {
        node.has_tag_name(("http://www.w3.org/2000/svg", "polyline"))
            && node.attribute("stroke") == Some(colour)
    });
    let points = lines.map(|line| line.attribute("points").unwrap_or_default());
    points.map(|points| points.split_whitespace().count()).max().unwrap_or(0)
}

#[tokio::test]
async fn the_picture_is_well_formed_and_holds_three_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("picture.svg");
    let arrivals = folder.path().join("a & b <c>.csv");
    std::fs::write(&arrivals, "second,people_per_second\n0,0\n60,10\n120,0\n").expect("written");
    let (svg, csv) = (path(&picture), path(&arrivals));
    let flags = ["rehearse", "--arrivals", csv, "--capacity=60", "--svg", svg];
    let (code, stdout, stderr) = jari(&flags).await;
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.contains("600 people, as a & b <c>.csv says over 2 min"), "{stdout}");
    assert!(stdout.ends_with(&format!("\nDrawn: {svg}\n")), "{stdout}");
    let text = std::fs::read_to_string(&picture).expect("it was drawn");
    let parsed = roxmltree::Document::parse(&text).expect("well-formed");
    for (series, colour) in [("waiting", "#0072B2"), ("inside", "#D55E00"), ("admitted", "#009E73")]
    {
        let points = points_of(&parsed, colour);
        assert!((15..=500).contains(&points), "{series}: {points} points");
    }
    let texts: Vec<_> =
        parsed.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for want in [
        "waiting",
        "inside",
        "admitted",
        "capacity",
        "people in line",
        "live passes",
        "admissions a minute",
        "minutes from the first arrival",
        "Rehearsal: 600 people, as a & b <c>.csv says over 2 min, seed 1",
    ] {
        assert!(texts.contains(&want), "{want} is missing in {texts:?}");
    }
    assert!(text.len() < 40_000, "{} bytes", text.len());
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[tokio::test]
async fn a_picture_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("picture.svg");
    std::fs::write(&picture, "mine").expect("written");
    let svg = path(&picture);
    let (code, stdout, stderr) = jari(&[&SMALL[..], &["--svg", svg]].concat()).await;
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.contains("--force") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(std::fs::read_to_string(&picture).expect("still there"), "mine");
    rehearse(&["--svg", svg, "--force"]).await;
    assert!(std::fs::read_to_string(&picture).expect("drawn").starts_with("<svg "));
}

#[tokio::test]
async fn a_rehearsal_takes_the_settings_of_a_running_room_and_the_flags_changes() {
    let app = TestApp::start().await;
    let limits = json!({"capacity": 40, "rate_per_s": 3.0, "burst": 10});
    app.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    let alone = app
        .create_room(|room| {
            room.settings.capacity = 77;
            room.settings.pacer = PacerBody::Manual;
            room.settings.pass_ttl_ms = 60_000;
        })
        .await;
    let grouped = app
        .create_room(|room| {
            "grouped".clone_into(&mut room.room);
            room.group = Some("both".to_owned());
        })
        .await;
    let rehearse = async |room: &str, flags: &[&str]| -> Value {
        let server = app.url();
        let args = ["rehearse", "--people=200", "--window=1m", "--json", "--room", room];
        let mut process = Process::command(JARI, &[&args, flags].concat())
            .env("JARI_SERVER", server.as_str())
            .env("JARI_ADMIN_KEY", app.admin_key())
            .spawn();
        let code = process.wait().await.code();
        assert_eq!(code, Some(0), "{}", process.stderr());
        serde_json::from_str(&process.stdout()).expect("JSON")
    };
    let copy = rehearse(&alone, &["--horizon", "10m"]).await;
    assert_eq!(copy["room"], alone.as_str());
    assert_eq!(
        (&copy["settings"]["capacity"], &copy["settings"]["pass_ttl_ms"]),
        (&json!(77), &json!(60_000))
    );
    assert_eq!((&copy["admitted_total"], &copy["drained_after_ms"]), (&json!(0), &Value::Null));
    let what_if = rehearse(&alone, &["--pacer", "fixed", "--rate", "80"]).await;
    assert_eq!(what_if["settings"]["rate_per_s"], 80.0);
    assert_eq!(what_if["settings"]["capacity"], 77);
    assert!(what_if["drained_after_ms"].is_u64(), "{what_if:#}");
    app.operator().set(&alone, json!({"mode": "shadow"})).await;
    let shadow = rehearse(&alone, &["--horizon", "10m"]).await;
    assert!(
        shadow["notes"][0].as_str().is_some_and(|note| note.contains("mode shadow")),
        "{shadow:#}"
    );
    assert_eq!(shadow["waiting_max"], copy["waiting_max"]);
    let shared = rehearse(&grouped, &[]).await;
    assert_eq!(
        (&shared["settings"]["capacity"], &shared["settings"]["rate_per_s"]),
        (&json!(40), &json!(3.0))
    );
    assert!(shared["notes"][0].as_str().is_some_and(|note| note.contains("limit group both")));
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_rehearsed_is_one_line_with_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.csv");
    std::fs::write(&bad, "second,people_per_second\n0,1\nsoon,1\n").expect("written");
    let few = folder.path().join("few.csv");
    std::fs::write(&few, "second,people_per_second\n0,0.1\n1,0\n").expect("written");
    for (args, code, part) in [
        (&["--arrivals", path(&bad)][..], 1, "bad.csv: line 3: `soon` is no second"),
        (&["--arrivals", path(&few)], 1, "few.csv: it adds up to 0.1 people"),
        (&["--arrivals", "nowhere.csv"], 1, "nowhere.csv: cannot be read"),
        (&["--mode", "off"], 1, "mode off holds nobody up"),
        (&["--mode", "shadow"], 1, "say --mode on or --mode auto"),
        (&["--site-busy-at", "9", "--site-overloaded-at", "10"], 1, "say --pacer signal"),
        (
            &["--pacer=signal", "--site-busy-at=11", "--site-overloaded-at=10"],
            1,
            "--site-busy-at is above --site-overloaded-at",
        ),
        (&["--window", "1h", "--horizon", "10m"], 1, "give a --horizon"),
        (&["--burst", "0"], 1, "burst: 0 is not in"),
        (&["--dwell", "25h"], 1, "dwell must be"),
        (&["--svg", "nowhere/picture.svg", "--people=1"], 1, "cannot write nowhere/picture.svg"),
        (&["--room", "shop"], 4, "no API key"),
        (&["--room", "shop", "--key=k", "--server=http://127.0.0.1:1"], 3, "cannot reach"),
    ] {
        let (ended, stdout, stderr) = jari(&[&["rehearse"], args].concat()).await;
        assert_eq!((ended, stdout.as_str()), (code, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(part) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
    for args in [
        &["--people", "0"][..],
        &["--people", "2000001"],
        &["--curve", "flood"],
        &["--no-shows", "0.05"],
        &["--window", "0s"],
        &["--horizon", "8d"],
        &["--force"],
        &["--arrivals", "a.csv", "--curve", "ramp"],
        &["--opens-at", "none"],
    ] {
        assert_eq!(jari(&[&["rehearse"], args].concat()).await.0, 2, "{args:?}");
    }
}
