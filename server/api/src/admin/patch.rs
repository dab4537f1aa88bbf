//! JSON merge patch (RFC 7396): what PATCH names changes, null takes a field back. Of fields it knows only the pacer's, which
//! are others with each kind.

use serde_json::Value;

/// What pacers of several kinds have: it stays where the kind changes, and all else of the old one goes.
const OF_SEVERAL_PACERS: [&str; 4] = ["start", "increase", "floor", "ceiling"];

/// Changes what `patch` names in the definition of a room. A pacer of another kind keeps of the old one only what it may have
/// itself: a merge alone would leave it fields that it does not know.
pub fn merge_room(room: &mut Value, patch: Value) {
    let kind = &patch["settings"]["pacer"]["kind"];
    let old = room.pointer_mut("/settings/pacer").and_then(Value::as_object_mut);
    if let (Some(old), Some(_)) = (old, kind.as_str())
        && old.get("kind") != Some(kind)
    {
        old.retain(|name, _| OF_SEVERAL_PACERS.contains(&name.as_str()));
    }
    merge(room, patch);
}

/// Changes what `patch` names in `target`; a null takes the field back to its default.
pub fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let fields = target.as_object_mut().expect("made one above");
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pacer_of_another_kind_keeps_what_it_may_have() {
        let merged = |patch: Value| {
            let mut room = json!({"room": "a", "settings": {"burst": 1,
                "pacer": {"kind": "aimd", "floor": 7, "threshold": 9}}});
            merge_room(&mut room, patch);
            assert_eq!((&room["room"], &room["settings"]["burst"]), (&json!("a"), &json!(1)));
            room["settings"]["pacer"].clone()
        };
        let pacer = |pacer: Value| merged(json!({"settings": {"pacer": pacer}}));
        for (patch, want) in [
            (json!({"kind": "signal"}), json!({"kind": "signal", "floor": 7})),
            (json!({"kind": "signal", "floor": null}), json!({"kind": "signal"})),
            (
                json!({"kind": "signal", "threshold": 1}),
                json!({"kind": "signal", "floor": 7, "threshold": 1}),
            ),
            (json!({"kind": "aimd"}), json!({"kind": "aimd", "floor": 7, "threshold": 9})),
            (json!({"floor": 8}), json!({"kind": "aimd", "floor": 8, "threshold": 9})),
            (json!({"kind": null}), json!({"floor": 7, "threshold": 9})),
        ] {
            assert_eq!(pacer(patch.clone()), want, "{patch}");
        }
        assert_eq!(pacer(json!(5)), json!(5));
        let same = json!({"kind": "aimd", "floor": 7, "threshold": 9});
        assert_eq!(merged(json!({"settings": {}})), same);
        assert_eq!(merged(json!({})), same);
    }

    #[test]
    fn the_standards_examples() {
        for (target, patch, want) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [1]}), json!({"a": [2]}), json!({"a": [2]})),
            (json!({}), json!({"a": {"b": null}}), json!({"a": {}})),
        ] {
            let mut merged = target.clone();
            merge(&mut merged, patch.clone());
            assert_eq!(merged, want, "{target} + {patch}");
        }
    }
}
