//! `jari tenant`: whose rooms and keys they are.

use clap::{Args, Subcommand};
use jari_api::admin::{TenantBody, TenantList, TenantView};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::table::table;
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari tenant set opera --name \"City opera\" --rooms-max 20
  jari room create aida --tenant opera
  jari key create --scope tenant --tenant opera --name \"opera's shop\"
  jari tenant list";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TenantArgs {
    #[command(subcommand)]
    command: TenantCommand,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Make a tenant, or set all that is known of one.
    Set {
        /// 1 to 64 of a-z, 0-9 and '-'.
        id: String,
        /// For people.
        #[arg(long)]
        name: String,
        /// Rooms at most. Those that are there stay.
        #[arg(long, value_name = "N", default_value_t = 100)]
        rooms_max: u64,
    },
    /// List the tenants and their rooms.
    List,
    /// Delete a tenant; its rooms must be deleted and its keys revoked.
    Delete { id: String },
}

pub(super) fn run(args: TenantArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    let call = |call| small_runtime()?.block_on(client.call(call));
    match args.command {
        TenantCommand::Set { id, name, rooms_max } => {
            let body = TenantBody { name, rooms_max };
            let answer = call(Call::put(&["tenants", &id]).body(body))?;
            client.show(answer, |tenant: TenantView| tenants(vec![tenant]))
        }
        TenantCommand::List => {
            let answer = call(Call::get(&["tenants"]))?;
            client.show(answer, |list: TenantList| tenants(list.tenants))
        }
        TenantCommand::Delete { id } => {
            call(Call::delete(&["tenants", &id]))?;
            print(&format!("tenant {id} is deleted\n"))
        }
    }
}

fn tenants(tenants: Vec<TenantView>) -> String {
    let rows = tenants.into_iter().map(|tenant| {
        let rooms = tenant.rooms.join(" ");
        [tenant.tenant, tenant.name, tenant.rooms_max.to_string(), rooms]
    });
    table(["ID", "NAME", "ROOMS MAX", "ROOMS"], &rows.collect::<Vec<_>>())
}
