//! The four steps laid over each other: which text or value each key has, and which step gave it. Judges no value.

use std::collections::BTreeMap;
use std::io;

use toml::{Table, Value};

use crate::fields::{self, Field, Kind, VARIABLE_PREFIX};
use crate::problems::Problem;
use crate::sources::{NamedFile, Sources};

pub(crate) const DEFAULT: &str = include_str!("default.toml");

/// How the built-in step is called in messages.
pub(crate) const DEFAULT_ORIGIN: &str = "default";

/// A key's value and where it was given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) origin: String,
}

/// What each key is, after all steps.
pub(crate) type Layers = BTreeMap<&'static str, Given>;

/// Lays the steps over each other. Unknown keys and files that cannot be read become problems.
pub(crate) fn stack(sources: &Sources, problems: &mut Vec<Problem>) -> Layers {
    let mut layers = Layers::new();
    let default = DEFAULT.parse::<Table>().expect("default.toml is TOML: a test reads it");
    lay_table(&mut layers, &default, DEFAULT_ORIGIN, problems);
    if let Some(file) = &sources.file
        && let Some(table) = read_file(file, problems)
    {
        lay_table(&mut layers, &table, &file.path.display().to_string(), problems);
    }
    for (name, text) in &sources.environment {
        if let Some(rest) = name.strip_prefix(VARIABLE_PREFIX) {
            let key = rest.to_lowercase().replace("__", ".");
            lay_text(&mut layers, &key, text, name, problems);
        }
    }
    for given in &sources.overrides.given {
        lay_text(&mut layers, &given.key, &given.text, &given.flag, problems);
    }
    layers
}

fn read_file(file: &NamedFile, problems: &mut Vec<Problem>) -> Option<Table> {
    let mut problem = |wrong: String, fix: &str| {
        problems.push(Problem {
            key: file.path.display().to_string(),
            value: String::new(),
            origin: "file".to_owned(),
            wrong,
            fix: fix.to_owned(),
        });
        None
    };
    let text = match std::fs::read_to_string(&file.path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !file.required => return None,
        Err(error) => {
            return problem(format!("cannot be read: {error}"), "name a file that can be read");
        }
    };
    match text.parse::<Table>() {
        Ok(table) => Some(table),
        Err(error) => {
            // Not the error's own picture of the line: there may be a password in it.
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            problem(format!("is not TOML: {} in line {line}", error.message()), "mend that line")
        }
    }
}

fn lay_table(layers: &mut Layers, table: &Table, origin: &str, problems: &mut Vec<Problem>) {
    for (key, value) in flatten(table) {
        match fields::find(&key) {
            Some(field) => lay(layers, field, value.clone(), origin),
            None => problems.push(unknown(&key, origin)),
        }
    }
}

/// Every leaf of a table under its dotted path. An empty table is a leaf where it is no known section.
fn flatten(table: &Table) -> Vec<(String, &Value)> {
    let mut leaves = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                let below = flatten(inner).into_iter();
                leaves.extend(below.map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            Value::Table(_) if is_section(key) => {}
            _ => leaves.push((key.clone(), value)),
        }
    }
    leaves
}

fn is_section(name: &str) -> bool {
    fields::FIELDS.iter().any(|field| field.key.split('.').next() == Some(name))
}

/// A variable or flag is a text: what it means depends on the key. A text that is no number stays one, and the
/// validation says so.
fn lay_text(layers: &mut Layers, key: &str, text: &str, origin: &str, problems: &mut Vec<Problem>) {
    let Some(field) = fields::find(key) else {
        problems.push(unknown(key, origin));
        return;
    };
    let as_text = || Value::String(text.to_owned());
    let value = match field.kind {
        Kind::Text => as_text(),
        Kind::Number { .. } => text.trim().parse().map_or_else(|_| as_text(), Value::Integer),
        Kind::Ratio => text.trim().parse().map_or_else(|_| as_text(), Value::Float),
        Kind::List => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::Array(parts.map(|part| Value::String(part.to_owned())).collect())
        }
    };
    lay(layers, field, value, origin);
}

fn lay(layers: &mut Layers, field: &'static Field, value: Value, origin: &str) {
    layers.insert(field.key, Given { value, origin: origin.to_owned() });
}

/// The value is not shown: under a key that nobody knows it may be anything, a secret too.
fn unknown(key: &str, origin: &str) -> Problem {
    let fix = match fields::nearest(key) {
        Some(known) => format!("did you mean {known}?"),
        None => "remove it; docs/reference/configuration.md has all keys".to_owned(),
    };
    Problem {
        key: key.to_owned(),
        value: String::new(),
        origin: origin.to_owned(),
        wrong: "there is no such key".to_owned(),
        fix,
    }
}
