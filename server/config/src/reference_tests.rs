//! That `default.toml` and the reference page say what the table of fields says.

use crate::fields::{FIELDS, Field, Kind, VARIABLE_PREFIX};
use crate::layers::DEFAULT;

impl Field {
    /// The variable that sets this key.
    pub(crate) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.key.replace('.', "__").to_uppercase())
    }
}

const PAGE: &str = include_str!("../../../docs/reference/configuration.md");

/// The comment above each key of `default.toml`, in order.
fn commented_keys() -> Vec<(String, String)> {
    let (mut section, mut comment, mut keys) = ("", String::new(), Vec::new());
    for line in DEFAULT.lines() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push_str(text);
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            comment.clear();
        } else if let Some((key, _)) = line.split_once(" = ") {
            keys.push((format!("{section}.{key}"), std::mem::take(&mut comment)));
        }
    }
    keys
}

fn default_of(field: &Field) -> String {
    let table: toml::Table = DEFAULT.parse().unwrap();
    let (section, key) = field.key.split_once('.').unwrap();
    table[section][key].to_string()
}

/// The field's row on the reference page.
fn row(field: &Field) -> String {
    let unit = match field.kind {
        Kind::Number { unit, .. } => unit,
        Kind::Text => "text",
        Kind::List => "list",
        Kind::Ratio => "share",
    };
    let (key, allowed, default) = (field.key, field.allowed, default_of(field));
    format!("| `{key}` | {unit} | {allowed} | `{default}` | `{}` |", field.variable())
}

#[test]
fn default_toml_has_every_key_in_order_with_what_is_allowed() {
    let commented = commented_keys();
    let keys: Vec<_> = commented.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, FIELDS.iter().map(|field| field.key).collect::<Vec<_>>());
    for (field, (_, comment)) in FIELDS.iter().zip(&commented) {
        let allowed = format!("Allowed: {}", field.allowed);
        assert!(comment.contains(&allowed), "{}: {comment:?} lacks {allowed:?}", field.key);
    }
}

#[test]
fn the_reference_page_has_the_table() {
    let rows: Vec<_> = FIELDS.iter().map(row).collect();
    let table = rows.join("\n");
    assert!(PAGE.contains(&table), "docs/reference/configuration.md should have:\n{table}");
}

#[test]
fn explaining_knows_every_key() {
    let text = crate::Config::default().explain();
    assert_eq!(text.matches(" # default").count(), FIELDS.len());
}
