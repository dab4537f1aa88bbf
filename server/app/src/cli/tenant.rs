//! `jari tenant`: whose rooms and keys they are.

use clap::{Args, Subcommand};
use jari_api::admin::{RotateBody, SiteKeyList, TenantBody, TenantList, TenantView};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::span::span_ms;
use super::table::{or_dash, table};
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari tenant set opera --name \"City opera\" --return-url https://opera.example/tickets
  jari room create aida --tenant opera
  jari key create --scope tenant --tenant opera --name \"opera's shop\"
  jari tenant list
  jari tenant keys rotate opera --overlap 24h";

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
        /// Joins that its rooms together take in a minute, on each node; 0: no limit.
        #[arg(long, value_name = "N", default_value_t = 0)]
        joins_per_minute: u32,
        /// Entry tokens that it gets in a minute, on each node; 0: no limit.
        #[arg(long, value_name = "N", default_value_t = 0)]
        entries_per_minute: u32,
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
    /// The keys that sign the one-time tokens for the tenant's sites.
    #[command(subcommand)]
    Keys(KeysCommand),
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// List the keys, ended ones too.
    List { id: String },
    /// Make a new key; the others end after the overlap.
    Rotate {
        id: String,
        /// What the old keys signed stays good for so long; 0s: it ends now, for a key in wrong hands.
        #[arg(long, value_name = "SPAN", value_parser = span_ms, default_value = "24h")]
        overlap: u64,
    },
    /// End a key that was replaced before its overlap is over: what it signed is refused from now on.
    End {
        id: String,
        /// The key's id, as `keys list` shows it.
        key: String,
    },
}

pub(super) fn run(args: TenantArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    let call = |call| small_runtime()?.block_on(client.call(call));
    match args.command {
        TenantCommand::Set {
            id,
            name,
            rooms_max,
            joins_per_minute,
            entries_per_minute,
            return_urls,
            cors_origins,
        } => {
            let body = TenantBody {
                name,
                rooms_max,
                joins_per_minute,
                entries_per_minute,
                return_urls,
                cors_origins,
            };
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
        TenantCommand::Keys(KeysCommand::List { id }) => {
            let answer = call(Call::get(&["tenants", &id, "site-keys"]))?;
            client.show(answer, site_keys)
        }
        TenantCommand::Keys(KeysCommand::Rotate { id, overlap }) => {
            let path = ["tenants", id.as_str(), "site-keys", "rotate"];
            let answer = call(Call::post(&path).body(RotateBody { overlap_ms: overlap }))?;
            client.show(answer, site_keys)
        }
        TenantCommand::Keys(KeysCommand::End { id, key }) => {
            call(Call::delete(&["tenants", &id, "site-keys", &key]))?;
            print(&format!("site key {key} of {id} has ended\n"))
        }
    }
}

fn site_keys(list: SiteKeyList) -> String {
    let rows = list.keys.into_iter().map(|key| {
        let (created, from) = (key.created_at.to_string(), key.signs_from.to_string());
        let signs = if key.signs { "yes" } else { "-" };
        [key.id, created, from, or_dash(key.ends_at), signs.to_owned()]
    });
    table(["ID", "CREATED", "SIGNS FROM", "ENDS", "SIGNS NOW"], &rows.collect::<Vec<_>>())
}

fn tenants(tenants: Vec<TenantView>) -> String {
    let rows = tenants.into_iter().map(|tenant| {
        let rooms = tenant.rooms.join(" ");
        let per_minute = [tenant.joins_per_minute, tenant.entries_per_minute].map(or_none);
        let [joins, entries] = per_minute;
        let (returns, origins) = (tenant.return_urls.join(" "), tenant.cors_origins.join(" "));
        let rooms_max = tenant.rooms_max.to_string();
        [tenant.tenant, tenant.name, rooms_max, joins, entries, rooms, returns, origins]
    });
    let head = [
        "ID",
        "NAME",
        "ROOMS MAX",
        "JOINS/MIN",
        "ENTRIES/MIN",
        "ROOMS",
        "RETURN URLS",
        "CORS ORIGINS",
    ];
    table(head, &rows.collect::<Vec<_>>())
}

fn or_none(limit: u32) -> String {
    if limit == 0 { "-".to_owned() } else { limit.to_string() }
}
