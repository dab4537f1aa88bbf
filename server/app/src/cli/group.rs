//! `jari group`: limit groups.

use clap::{Args, Subcommand};
use jari_api::admin::{GroupBody, GroupList, GroupView};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::span::rate;
use super::table::table;
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari group set checkout --capacity 8000 --rate 300
  jari room set shop --group checkout
  jari group list";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GroupArgs {
    #[command(subcommand)]
    command: GroupCommand,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum GroupCommand {
    /// Make a group, or set all limits of one.
    Set {
        /// 1 to 64 of a-z, 0-9 and '-'.
        id: String,
        /// Live passes over all its rooms at most.
        #[arg(long, value_name = "N")]
        capacity: u64,
        /// Admissions per second over all its rooms.
        #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
        rate: f64,
        /// Admissions that may come at once after a quiet time; left out, one second's worth.
        #[arg(long, value_name = "N")]
        burst: Option<u64>,
    },
    /// List the groups and their rooms.
    List,
    /// Delete a group; its rooms must have left it.
    Delete { id: String },
}

pub(super) fn run(args: GroupArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    let call = |call| small_runtime()?.block_on(client.call(call));
    match args.command {
        GroupCommand::Set { id, capacity, rate, burst } => {
            let burst = burst.unwrap_or((rate.ceil() as u64).max(1));
            let body = GroupBody { capacity, rate_per_s: rate, burst };
            let answer = call(Call::put(&["groups", &id]).body(body))?;
            client.show(answer, |group: GroupView| groups(vec![group]))
        }
        GroupCommand::List => {
            let answer = call(Call::get(&["groups"]))?;
            client.show(answer, |list: GroupList| groups(list.groups))
        }
        GroupCommand::Delete { id } => {
            call(Call::delete(&["groups", &id]))?;
            print(&format!("group {id} is deleted\n"))
        }
    }
}

fn groups(groups: Vec<GroupView>) -> String {
    let rows = groups.into_iter().map(|group| {
        [
            group.group,
            group.capacity.to_string(),
            group.rate_per_s.to_string(),
            group.burst.to_string(),
            group.rooms.join(" "),
        ]
    });
    table(["ID", "CAPACITY", "RATE/S", "BURST", "ROOMS"], &rows.collect::<Vec<_>>())
}
