//! What operators load into Prometheus and Grafana, read by Prometheus's own promtool: rules, their tests, the example, and
//! each query of the dashboard. That the metrics exist is a test of the server.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::command::{command, run};

const FOLDER: &str = "deploy/prometheus";
const DASHBOARD: &str = "deploy/grafana/jari.json";

/// The dashboard's variables and what stands for them here.
const VARIABLES: [(&str, &str); 2] = [("$job", "jari"), ("$room", ".*")];

pub(super) fn check(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    run(&mut command(&folder, "promtool", &["check", "config", "prometheus.yml"]))?;
    run(&mut command(&folder, "promtool", &["test", "rules", "rules_test.yml"]))?;
    dashboard(root)
}

/// promtool reads no dashboards, but queries in the shape of rules.
fn dashboard(root: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join(DASHBOARD))
        .with_context(|| format!("cannot read {DASHBOARD}"))?;
    let rules = as_rules(&text).with_context(|| format!("{DASHBOARD} is not as expected"))?;
    let folder = tempfile::tempdir()?;
    // JSON is YAML too.
    let file = folder.path().join("dashboard.yml");
    fs::write(&file, rules.to_string())?;
    run(command(root, "promtool", &["check", "rules"]).arg(&file))
}

fn as_rules(dashboard: &str) -> Result<Value> {
    let dashboard: Value = serde_json::from_str(dashboard)?;
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    ensure!(!queries.is_empty(), "it has no query");
    let rules: Vec<Value> = queries
        .into_iter()
        .enumerate()
        .map(|(nth, query)| json!({"record": format!("dashboard:query{nth}"), "expr": query}))
        .collect();
    Ok(json!({"groups": [{"name": "dashboard", "rules": rules}]}))
}

/// Every `expr`, wherever it is.
fn collect(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(query) if name == "expr" => queries.push(filled_in(query)),
                    other => collect(other, queries),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, queries)),
        _ => {}
    }
}

fn filled_in(query: &str) -> String {
    VARIABLES.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_becomes_a_rule() {
        let dashboard = r#"{"panels": [{"targets": [{"expr": "up{job=\"$job\"}"}]}],
            "annotations": {"list": [{"expr": "changes(a{room=~\"$room\"}[1m])"}]}}"#;
        let rules = as_rules(dashboard).unwrap();
        let rules = rules["groups"][0]["rules"].as_array().unwrap();
        let queries: Vec<&str> = rules.iter().map(|rule| rule["expr"].as_str().unwrap()).collect();
        assert_eq!(queries, ["changes(a{room=~\".*\"}[1m])", "up{job=\"jari\"}"]);
        assert!(as_rules("{}").is_err(), "a dashboard without a query checks nothing");
    }
}
