//! Health and metrics, on their own listener, and what is made of them: the reference page, the dashboard, the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use jari_api::admin::PacerBody;
use jari_testkit::{FakeCollector, TestApp, Visitor, eventually};
use reqwest::Method;
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/reference/metrics.md");
const RUNBOOK: &str = include_str!("../../../../docs/how-to/watch-jari.md");
const DASHBOARD: &str = include_str!("../../../../deploy/grafana/jari.json");
const RULES: &str = include_str!("../../../../deploy/prometheus/rules.yml");
const RULES_TEST: &str = include_str!("../../../../deploy/prometheus/rules_test.yml");

/// Families that only some servers show: with a CPU limit, or once a gate was open to everybody.
const SOMETIMES: [&str; 8] = [
    "jari_cgroup_cpu_periods_total",
    "jari_cgroup_cpu_throttled_periods_total",
    "jari_cgroup_cpu_throttled_seconds_total",
    "jari_gate_off_total",
    "jari_gate_shadow_total",
    "jari_gate_unchecked_total",
    "jari_site_passes_total",
    "jari_challenges_total",
];

/// Every sample of a scrape: its name with labels, and its value.
fn samples(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a sample is a name and a value");
            let value = value.parse().unwrap_or_else(|_| panic!("no number in {line:?}"));
            (name.to_owned(), value)
        })
        .collect()
}

/// A family as a scrape shows it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Family {
    kind: String,
    labels: BTreeSet<String>,
}

/// The families of a classic scrape.
fn families(text: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    let mut present = String::new();
    for line in text.lines() {
        if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            present = name.to_owned();
            families.insert(present.clone(), Family { kind: kind.to_owned(), ..Family::default() });
        } else if let Some((_, labels)) = line.split_once('{').filter(|_| !line.starts_with('#')) {
            let labels = labels.rsplit_once('}').expect("labels end").0;
            // No value of ours holds a comma.
            let names = labels.split(',').filter_map(|label| label.split_once('='));
            let names = names.map(|(name, _)| name.to_owned()).filter(|name| name != "le");
            families.get_mut(&present).expect("its type is told first").labels.extend(names);
        }
    }
    families
}

/// A server that has done a little of everything, and what it shows then.
async fn after_some_use() -> (TestApp, String) {
    // Nobody listens there: what is told of spans is that they failed.
    let app = TestApp::builder()
        .set("telemetry.otlp_endpoint", "http://127.0.0.1:9")
        .set("telemetry.sample_ratio", "1")
        .start()
        .await;
    let id = app.create_room(|room| room.settings.pacer = PacerBody::Manual).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    let mut stream = visitor.events(&id).await;
    // Somebody stays: an empty room does not tick.
    app.visitor().wait_in(&id).await;
    let admit = json!({"count": 1});
    app.integrator().await.admit(&id, admit).await.expect(200);
    stream.next_of("admitted").await;
    visitor.poll(&id).await.expect(200);
    visitor.gate(&id).await.expect(204);
    visitor.get(&format!("/v1/rooms/{id}")).await.expect(200);
    visitor.get(&format!("/rooms/{id}")).await.expect(200);
    visitor.leave(&id).await.expect(204);
    let ops = Visitor::new(app.ops_url());
    let text = eventually("a stay, a tick and a notice are counted", async || {
        let text = ops.get("/metrics").await.expect(200).text();
        let counted = |name: &str| {
            samples(&text).iter().any(|(sample, value)| sample.starts_with(name) && *value > 0.0)
        };
        let names = ["jari_dwell_seconds_count", "jari_tick_duration_seconds_count"];
        let notice = "jari_notice_latency_seconds_count{frame=\"place\"}";
        (names.into_iter().all(counted) && counted(notice)).then_some(text)
    })
    .await;
    (app, text)
}

#[tokio::test]
async fn a_scrape_parses_and_counts_what_happened() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.pacer = PacerBody::Manual).await;
    app.operator().set(&id, json!({"capacity": 0})).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    visitor.get("/v1/rooms/none").await.problem(404, "unknown_room");
    let ops = Visitor::new(app.ops_url());
    let waiting = format!("jari_waiting{{room=\"{id}\"}}");
    let text = eventually("a tick was counted", async || {
        let request = ops.request(Method::GET, "/metrics");
        let request = request.header("accept", "application/openmetrics-text;version=1.0.0");
        let text = request.send().await.expect("sent").text().await.expect("text");
        let ticks = samples(&text);
        let ticks = ticks.iter().find(|(name, _)| name == "jari_tick_duration_seconds_count");
        ticks.is_some_and(|(_, count)| *count > 0.0).then_some(text)
    })
    .await;
    assert!(text.ends_with("# EOF\n"), "OpenMetrics ends with its mark");
    let samples = samples(&text);
    let value = |name: &str| {
        let found = samples.iter().find(|(sample, _)| sample == name);
        found.unwrap_or_else(|| panic!("{name} is not in\n{text}")).1
    };
    assert_eq!(value(&waiting), 1.0);
    assert_eq!(value(&format!("jari_joined_total{{room=\"{id}\"}}")), 1.0);
    assert_eq!(value(&format!("jari_room_state{{room=\"{id}\",state=\"open\"}}")), 1.0);
    assert_eq!(value("jari_refused_total{reason=\"unknown_room\"}"), 1.0);
    assert!(value("jari_journal_commits_total") >= 2.0);
    assert_eq!(value("jari_pool_max_connections{pool=\"records\"}"), 4.0);
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 3.0);
    let route = "method=\"POST\",route=\"/v1/rooms/{room}/places\",status=\"201\"";
    assert_eq!(value(&format!("jari_call_duration_seconds_count{{{route}}}")), 1.0);
    assert!(!text.contains("/v1/rooms/none"), "a raw path is a label");
    app.stop().await;
}

#[tokio::test]
async fn health_is_told_apart_from_readiness() {
    let app = TestApp::start().await;
    let ops = Visitor::new(app.ops_url());
    ops.get("/healthz").await.expect(200);
    let ready = ops.get("/readyz").await.expect(200).text();
    assert_eq!(ready, "ready\nroles: web, gate, admitter\n");
    app.visitor().get("/metrics").await.problem(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn the_reference_page_the_dashboard_and_the_rules_name_what_is_shown() {
    let (app, text) = after_some_use().await;
    let shown = families(&text);
    let written = rows();
    for (name, family) in &shown {
        assert_eq!(Some(family), written.get(name), "the page's row of {name}");
    }
    let missing = written.keys().filter(|name| !shown.contains_key(*name));
    let missing: Vec<_> = missing.filter(|name| !SOMETIMES.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "on the page and not shown: {missing:?}");

    let recorded: BTreeSet<_> =
        RULES.lines().filter_map(|line| line.trim().strip_prefix("- record: ")).collect();
    for (file, text) in [("dashboard", DASHBOARD), ("rules", RULES), ("rules' tests", RULES_TEST)] {
        let names = names(text);
        assert!(names.len() > 10, "{file} names metrics");
        for name in names {
            let known = recorded.contains(name) || written.contains_key(family_of(name, &written));
            assert!(known, "{name} of the {file} is no metric");
        }
    }
    for cache in ["room_view", "room_page"] {
        let missed = format!("jari_cache_requests_total{{cache=\"{cache}\",outcome=\"miss\"}} 1\n");
        assert!(text.contains(&missed), "{missed} in\n{text}");
    }
    promtool(&["check", "metrics"], &text);
    app.stop().await;
}

/// The families of the reference page.
fn rows() -> BTreeMap<String, Family> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, rest) = row.split_once("` |").expect("a name");
        let cells: Vec<_> = rest.split('|').map(str::trim).collect();
        let [kind, unit, labels, ..] = cells.as_slice() else { panic!("a short row: {row}") };
        for (end, wanted) in [("_seconds", "seconds"), ("_bytes", "bytes"), ("_events", "events")] {
            let named = name.trim_end_matches("_total").ends_with(end);
            assert!(!named || unit.starts_with(wanted), "{name} has the unit {unit}");
        }
        let labels = labels.split(',').map(str::trim).filter(|label| !label.is_empty());
        let labels = labels.map(str::to_owned).collect();
        (name.to_owned(), Family { kind: (*kind).to_owned(), labels })
    })
    .collect()
}

/// Every name of a metric in a text, recorded ones too.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words
        .map(|word| word.trim_end_matches(':'))
        .filter(|word| ["jari_", "jari:", "process_"].iter().any(|start| word.starts_with(start)))
        .collect()
}

fn family_of<'a>(name: &'a str, known: &BTreeMap<String, Family>) -> &'a str {
    let ends = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end));
    let histogram = ends.filter(|name| known.get(*name).is_some_and(|of| of.kind == "histogram"));
    histogram.unwrap_or(name)
}

/// Runs promtool on `text` and fails where it finds anything wrong.
fn promtool(arguments: &[&str], text: &str) {
    let mut promtool = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed; `cargo xtask test --only tools` does it");
    let mut stdin = promtool.stdin.take().expect("it is piped");
    stdin.write_all(text.as_bytes()).expect("promtool reads");
    drop(stdin);
    let output = promtool.wait_with_output().expect("promtool ends");
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
}

#[test]
fn every_alert_has_a_test_and_a_section_of_the_runbook() {
    let alerts: Vec<_> =
        RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    for alert in &alerts {
        assert!(RUNBOOK.contains(alert), "the runbook says nothing about {alert}");
        let mut tests = RULES_TEST.split("- alertname: ").skip(1);
        let fires = tests.any(|test| test.starts_with(alert) && test.contains("exp_labels"));
        assert!(fires, "no test has {alert} fire");
    }
    let anchors: BTreeSet<_> =
        RUNBOOK.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let anchors: BTreeSet<_> =
        anchors.iter().map(|title| title.to_lowercase().replace(' ', "-")).collect();
    let runbooks: Vec<_> =
        RULES.lines().filter_map(|line| line.trim().strip_prefix("runbook: ")).collect();
    assert_eq!(runbooks.len(), alerts.len(), "one each");
    for runbook in runbooks {
        let section = runbook.trim_matches('"').strip_prefix("docs/how-to/watch-jari.md#");
        assert!(section.is_some_and(|section| anchors.contains(section)), "{runbook} is nowhere");
    }
}

#[tokio::test]
async fn spans_are_counted_by_what_became_of_them() {
    let fake = FakeCollector::start().await;
    let app = TestApp::builder()
        .set("telemetry.otlp_endpoint", fake.endpoint())
        .set("telemetry.sample_ratio", "1")
        .start()
        .await;
    app.visitor().identify().await;
    let ops = Visitor::new(app.ops_url());
    eventually("a sent span is counted", async || {
        let samples = samples(&ops.get("/metrics").await.expect(200).text());
        let sent = "jari_trace_spans_total{outcome=\"sent\"}";
        samples.iter().any(|(name, count)| name == sent && *count > 0.0).then_some(())
    })
    .await;
    app.stop().await;
}
