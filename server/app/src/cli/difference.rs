//! What changed between two JSON values, in a line a person reads. Compares only: `--json` shows everything.

use serde_json::Value;

/// The fields that differ, as `settings.rate_per_s 200 -> 50`; a new value's own fields where there was none before.
pub(super) fn difference(before: &Value, after: &Value) -> String {
    let mut changes = Vec::new();
    walk("", before, after, &mut changes);
    changes.join(", ")
}

fn walk(path: &str, before: &Value, after: &Value, changes: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        for key in new.keys().chain(gone) {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let at = |side: &serde_json::Map<String, Value>| side.get(key).cloned();
            walk(&inner, &at(old).unwrap_or_default(), &at(new).unwrap_or_default(), changes);
        }
        return;
    }
    let name = if path.is_empty() { String::new() } else { format!("{path} ") };
    let change = match before {
        Value::Null => format!("{name}{}", shown(after)),
        _ => format!("{name}{} -> {}", shown(before), shown(after)),
    };
    changes.push(change);
}

/// A value on one line; texts without their quotes, nothing as a dash.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changed_is_told() {
        let room = json!({"title": {"en": "Sale"}, "settings": {"rate_per_s": 200, "burst": 9}});
        let mut slower = room.clone();
        slower["settings"]["rate_per_s"] = json!(50);
        for (before, after, want) in [
            (&room, &slower, "settings.rate_per_s 200 -> 50"),
            (&room, &room, ""),
            (&Value::Null, &json!({}), "{}"),
            (&Value::Null, &json!({"text": "hello"}), "{\"text\":\"hello\"}"),
            (&json!({"a": 1}), &json!({"b": "x"}), "b x, a 1 -> -"),
            (&json!({"a": 1}), &Value::Null, "{\"a\":1} -> -"),
        ] {
            assert_eq!(difference(before, after), want, "{before} {after}");
        }
    }
}
