//! What goes into the audit trail. A change of definitions and its entry are one write of control; a live command is noted
//! before it is carried out, so that nothing happens to a line that the trail does not know of.

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

/// The entry that tells what `caller` does to `target`; it goes with the write itself.
pub(super) fn entry(
    state: &AppState,
    caller: &Caller,
    action: &str,
    target: String,
    step: &Step,
) -> AuditEntry {
    AuditEntry {
        no: 0,
        at: state.clock.now(),
        actor: caller.actor(),
        action: action.to_owned(),
        target,
        before: text(&step.before),
        after: text(&step.after),
    }
}

/// Notes what `caller` is about to do to a line.
pub(super) async fn note(
    state: &AppState,
    caller: &Caller,
    action: &str,
    target: String,
    step: Step,
) -> Result<(), Refusal> {
    state.control.append_audit(entry(state, caller, action, target, &step)).await?;
    state.operator_feed.note_change();
    Ok(())
}
