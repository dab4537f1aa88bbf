//! `jari key`: API keys.

use clap::{Args, Subcommand, ValueEnum};
use jari_api::admin::{ApiKeyCreated, ApiKeyList, ApiKeyScope, NewApiKeyBody, RotateBody};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::span::span_ms;
use super::table::{or_dash, table};
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari key create --scope tenant --name \"shop server\"
  jari key list
  jari key rotate 0a1b2c3d4e5f --overlap 24h
  jari key revoke 0a1b2c3d4e5f";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key and print it: the only time it is ever shown.
    Create {
        /// What the key may do.
        #[arg(long, value_enum)]
        scope: Scope,
        /// What it is for, for people.
        #[arg(long)]
        name: String,
        /// Whose key it is; left out, the installation's own tenant.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// List all keys, revoked ones too. The keys themselves are not known any more.
    List,
    /// Make a key in place of another and print it; the old one ends by itself after the overlap.
    Rotate {
        /// The old key's id: the part between `jari_` and the second `_`.
        id: String,
        /// For so long both are good.
        #[arg(long, value_name = "SPAN", value_parser = span_ms, default_value = "24h")]
        overlap: u64,
    },
    /// Revoke a key: it is refused from now on.
    Revoke {
        /// The key's id: the part between `jari_` and the second `_`.
        id: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scope {
    /// Everything in the installation.
    Admin,
    /// The tenant API of the tenant's own rooms: entries, admission, passes, notices.
    Tenant,
}

pub(super) fn run(args: KeyArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    let call = |call| small_runtime()?.block_on(client.call(call));
    match args.command {
        KeyCommand::Create { scope, name, tenant } => {
            let scope = match scope {
                Scope::Admin => ApiKeyScope::Admin,
                Scope::Tenant => ApiKeyScope::Tenant,
            };
            let body = NewApiKeyBody { tenant, scope, name };
            let answer = call(Call::post(&["keys"]).body(body))?;
            client.show(answer, |made| told(&made))
        }
        KeyCommand::Rotate { id, overlap } => {
            let id = id_alone(id)?;
            let path = ["keys", id.as_str(), "rotate"];
            let answer = call(Call::post(&path).body(RotateBody { overlap_ms: overlap }))?;
            client.show(answer, |made| told(&made))
        }
        KeyCommand::List => {
            let answer = call(Call::get(&["keys"]))?;
            client.show(answer, key_table)
        }
        KeyCommand::Revoke { id } => {
            let id = id_alone(id)?;
            call(Call::delete(&["keys", &id]))?;
            print(&format!("key {id} is revoked\n"))
        }
    }
}

/// Refuses a whole key: what is sent as an address is in the logs of whatever is between.
fn id_alone(id: String) -> Result<String, Failure> {
    let Some(rest) = id.strip_prefix("jari_") else { return Ok(id) };
    let id = rest.split('_').next().unwrap_or_default();
    Err(Failure::failed(format!("that is a whole key, which is kept secret: name its id, {id}")))
}

fn told(made: &ApiKeyCreated) -> String {
    format!("{}\nKeep it: it is not shown again. Its id is {}.\n", made.key, made.id)
}

fn key_table(list: ApiKeyList) -> String {
    let rows = list.keys.into_iter().map(|key| {
        let scope = match key.scope {
            ApiKeyScope::Admin => "admin",
            ApiKeyScope::Tenant => "tenant",
        };
        [
            key.id,
            scope.to_owned(),
            key.tenant,
            key.created_at.to_string(),
            or_dash(key.last_used_at),
            or_dash(key.revoked_at),
            or_dash(key.expires_at),
            key.name,
        ]
    });
    let head = ["ID", "SCOPE", "TENANT", "CREATED", "LAST USED", "REVOKED", "ENDS", "NAME"];
    table(head, &rows.collect::<Vec<_>>())
}
