//! `jari tenant`: whose rooms and keys they are.

use clap::{Args, Subcommand};
use jari_api::admin::{TenantBody, TenantList, TenantView};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::table::table;
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari tenant set opera --name \"City opera\" --return-url https://opera.example/tickets
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
        /// Where visitors may be led back to: an origin and a folder, as https://shop.example/tickets. Several times for
        /// several; those not given are no longer allowed.
        #[arg(long = "return-url", value_name = "URL")]
        return_urls: Vec<String>,
        /// Whose pages may call the visitors' API from browsers, as https://app.example. Several times for several; those
        /// not given are no longer allowed.
        #[arg(long = "cors-origin", value_name = "ORIGIN")]
        cors_origins: Vec<String>,
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
        TenantCommand::Set { id, name, rooms_max, return_urls, cors_origins } => {
            let body = TenantBody { name, rooms_max, return_urls, cors_origins };
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
        let (returns, origins) = (tenant.return_urls.join(" "), tenant.cors_origins.join(" "));
        [tenant.tenant, tenant.name, tenant.rooms_max.to_string(), rooms, returns, origins]
    });
    table(
        ["ID", "NAME", "ROOMS MAX", "ROOMS", "RETURN URLS", "CORS ORIGINS"],
        &rows.collect::<Vec<_>>(),
    )
}
