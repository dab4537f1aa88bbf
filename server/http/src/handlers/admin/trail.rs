//! Writing the audit trail. A change of definitions is noted after it is stored; a live command before it is carried out,
//! so that nothing happens to a line that the trail does not know of.

use jari_ports::AuditEntry;
use serde::Serialize;
use serde_json::Value;

use crate::api_keys::Caller;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// What was and what is: `Value::Null` where there is none.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) before: Value,
    pub(super) after: Value,
}

impl Step {
    pub(super) fn made(after: impl Serialize) -> Self {
        Step { before: Value::Null, after: json(after) }
    }

    pub(super) fn changed(before: impl Serialize, after: impl Serialize) -> Self {
        Step { before: json(before), after: json(after) }
    }

    pub(super) fn gone(before: impl Serialize) -> Self {
        Step { before: json(before), after: Value::Null }
    }
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("wire bodies have text keys and finite numbers")
}

fn text(value: &Value) -> String {
    if value.is_null() { String::new() } else { value.to_string() }
}

/// Notes what `caller` did to `target`.
pub(super) async fn note(
    state: &AppState,
    caller: &Caller,
    action: &str,
    target: String,
    step: Step,
) -> Result<(), Refusal> {
    let entry = AuditEntry {
        no: 0,
        at: state.clock.now(),
        actor: caller.actor(),
        action: action.to_owned(),
        target,
        before: text(&step.before),
        after: text(&step.after),
    };
    state.control.append_audit(entry).await?;
    state.operator_feed.note_change();
    Ok(())
}
