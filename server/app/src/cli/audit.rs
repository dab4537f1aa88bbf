//! `jari audit`: who changed what.

use clap::Args;
use jari_api::admin::AuditPageView;

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::difference::difference;
use super::table::table;
use super::{Failure, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari audit
  jari audit --target room:shop --limit 20
  jari audit --json                          # with all that was and is";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AuditArgs {
    /// Only entries about this: `room:<id>`, `group:<id>` or `key:<id>`.
    #[arg(long)]
    target: Option<String>,
    /// Only entries below this number: the last one seen, to go on.
    #[arg(long, value_name = "NO")]
    before: Option<u64>,
    /// How many entries, 1 to 200.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: u32,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(args: &AuditArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    let call = Call::get(&["audit"])
        .query("target", args.target.as_ref())
        .query("before_no", args.before)
        .query("limit", Some(args.limit));
    let answer = small_runtime()?.block_on(client.call(call))?;
    client.show(answer, |page: AuditPageView| {
        let row = |entry: jari_api::admin::AuditEntryView| {
            let before = entry.before.unwrap_or_default();
            let what = difference(&before, &entry.after.unwrap_or_default());
            [
                entry.no.to_string(),
                entry.at.to_string(),
                entry.actor,
                entry.action,
                entry.target,
                what,
            ]
        };
        let rows: Vec<_> = page.entries.into_iter().map(row).collect();
        table(["NO", "AT", "ACTOR", "ACTION", "TARGET", "WHAT"], &rows)
    })
}
