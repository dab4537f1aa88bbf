//! What goes into the audit trail. A change of definitions and its entry are one write of control. An order to a line is
//! noted before it is carried out, so that nothing happens to a line that the trail does not know of, whenever the process
//! ends; an order that failed is followed by an entry that says so.

use jari_ports::AuditEntry;
use serde::Serialize;
use serde_json::Value;

use crate::api_keys::Caller;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// What was and what is: `Value::Null` where there is none.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl Step {
    pub(crate) fn made(after: impl Serialize) -> Self {
        Step { before: Value::Null, after: json(after) }
    }

    pub(crate) fn changed(before: impl Serialize, after: impl Serialize) -> Self {
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
pub(crate) fn entry(
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

/// What is added to the action of an order that failed.
const FAILED: &str = ".failed";

/// Notes what `caller` orders a line to do, has it done by `act`, and notes where that failed: then nobody knows whether it
/// was done. An order with nothing behind it was carried out, or the process ended right then.
pub(crate) async fn ordered<T>(
    state: &AppState,
    caller: &Caller,
    (action, target): (&str, String),
    step: Step,
    act: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let order = entry(state, caller, action, target.clone(), &step);
    let no = state.control.append_audit(order).await?;
    state.operator_feed.note_change();
    let refusal = match act.await {
        Ok(done) => return Ok(done),
        Err(refusal) => refusal,
    };
    let why = Step::made(serde_json::json!({"order": no, "code": refusal.code().as_str()}));
    let failed = entry(state, caller, &format!("{action}{FAILED}"), target, &why);
    if let Err(error) = state.control.append_audit(failed).await {
        // The order stands in the trail as one that may have been carried out, which is so.
        tracing::warn!(no, %error, "that order {no} failed is not in the audit trail: {error}");
    }
    state.operator_feed.note_change();
    Err(refusal)
}
