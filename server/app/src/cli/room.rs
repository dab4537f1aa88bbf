//! `jari room`: rooms and their live control, through the admin API.

use clap::{Args, Subcommand, ValueEnum};
use jari_api::Utc;
use jari_api::admin::{Changed, RoomDefinitionView, RoomList, merge};
use serde_json::{Value, json};

use super::admin_client::{AdminClient, Call, ServerArgs};
use super::room_fields::RoomFields;
use super::stats::{self, StatsArgs};
use super::table::{card, or_dash, table};
use super::{Failure, print, small_runtime};

const EXAMPLES: &str = "\
Examples:
  jari room create shop --title-ko \"가을 공연\" --title-en \"Autumn show\" --target-url https://shop.example/sale
  jari room set shop --rate 50 --capacity 3000
  jari room announce shop \"Entry is slower for a few minutes.\"
  jari room admit shop --count 20
  jari room block shop user-123
  jari room stats shop --watch";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RoomArgs {
    #[command(subcommand)]
    command: RoomCommand,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum RoomCommand {
    /// Make a room.
    Create(CreateArgs),
    /// List all rooms.
    List,
    /// Show a room's definition and settings.
    Show { id: String },
    /// Change a room: only what is named.
    Set(SetArgs),
    /// Stop admission; joining, waiting and passes go on.
    Pause { id: String },
    /// Go on after a pause.
    Resume { id: String },
    /// Open now, whatever opens-at says, or again after a close.
    Open { id: String },
    /// Close: nobody joins or is admitted, those waiting keep their places.
    Close {
        id: String,
        /// When it opens again by itself (RFC 3339); people are told.
        #[arg(long, value_name = "TIME", value_parser = super::span::time)]
        reopens_at: Option<Utc>,
        /// What people are told, at most 1000 bytes.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        message: String,
    },
    /// Tell everybody in the room something; an empty text takes it back.
    Announce {
        id: String,
        /// At most 1000 bytes.
        text: String,
    },
    /// Admit people now, beside the rate.
    Admit(AdmitArgs),
    /// End these people's place and pass, and refuse them from now on.
    Block(PeopleArgs),
    /// Take a block back.
    Unblock(PeopleArgs),
    /// Admit these people whenever they join, and at once if they wait.
    Allow(PeopleArgs),
    /// Take an allowance back.
    Disallow(PeopleArgs),
    /// End these people's passes.
    Revoke(PeopleArgs),
    /// Say that nothing is left: nobody joins or is admitted any more.
    SoldOut {
        id: String,
        /// Something is left after all.
        #[arg(long)]
        undo: bool,
    },
    /// Show what is going on, in one room or in all.
    Stats(StatsArgs),
    /// Delete a room with all its places and passes.
    Delete {
        id: String,
        /// Yes, everybody in it loses their place.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// 1 to 64 of a-z, 0-9 and '-'; part of the page's address, and never changes.
    id: String,
    /// Who the people in line are.
    #[arg(long, value_enum, default_value_t = Identity::Anonymous, help_heading = "Room")]
    identity: Identity,
    /// Whose room it is; left out, the installation's own tenant.
    #[arg(long, value_name = "ID", help_heading = "Room")]
    tenant: Option<String>,
    #[command(flatten)]
    fields: RoomFields,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Identity {
    /// A cookie that Jari issues.
    Anonymous,
    /// A token that the tenant's server gets for its user.
    Entry,
}

#[derive(Debug, Args)]
struct SetArgs {
    id: String,
    /// Only if the room still is at this version.
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
    #[command(flatten)]
    fields: RoomFields,
}

#[derive(Debug, Args)]
#[group(id = "whom", required = true, multiple = false)]
struct Whom {
    /// The next in turn, 1 to 200, within the room's capacity.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// These, 1 to 200, wherever they are in line; may exceed the capacity.
    #[arg(long, value_name = "SUBJECT", num_args = 1..)]
    subjects: Option<Vec<String>>,
}

#[derive(Debug, Args)]
struct AdmitArgs {
    id: String,
    #[command(flatten)]
    whom: Whom,
}

#[derive(Debug, Args)]
struct PeopleArgs {
    id: String,
    /// The tenant's names for them; in anonymous rooms the visitors' ids. 1 to 200.
    #[arg(required = true, value_name = "SUBJECT")]
    subjects: Vec<String>,
}

pub(super) fn run(args: RoomArgs) -> Result<(), Failure> {
    let client = AdminClient::new(&args.server)?;
    small_runtime()?.block_on(steer(&client, args.command))
}

async fn steer(client: &AdminClient, command: RoomCommand) -> Result<(), Failure> {
    match command {
        RoomCommand::Create(args) => create(client, &args).await,
        RoomCommand::List => client.show(client.call(Call::get(&["rooms"])).await?, room_table),
        RoomCommand::Show { id } => show(client, Call::get(&["rooms", &id])).await,
        RoomCommand::Set(args) => set(client, &args).await,
        RoomCommand::Pause { id } => change(client, &id, "pause", None).await,
        RoomCommand::Resume { id } => change(client, &id, "resume", None).await,
        RoomCommand::Open { id } => change(client, &id, "open", None).await,
        RoomCommand::Close { id, reopens_at, message } => {
            let mut body = json!({"message": message});
            if let Some(at) = reopens_at {
                body["reopens_at"] = json!(at);
            }
            change(client, &id, "close", Some(body)).await
        }
        RoomCommand::Announce { id, text } => {
            change(client, &id, "announce", Some(json!({"text": text}))).await
        }
        RoomCommand::SoldOut { id, undo } => {
            change(client, &id, "sold-out", Some(json!({"sold_out": !undo}))).await
        }
        RoomCommand::Admit(args) => admit(client, args).await,
        RoomCommand::Block(args) => people(client, "block", args).await,
        RoomCommand::Unblock(args) => people(client, "unblock", args).await,
        RoomCommand::Allow(args) => people(client, "allow", args).await,
        RoomCommand::Disallow(args) => people(client, "disallow", args).await,
        RoomCommand::Revoke(args) => people(client, "revoke", args).await,
        RoomCommand::Stats(args) => stats::run(client, &args).await,
        RoomCommand::Delete { id, yes } => delete(client, &id, yes).await,
    }
}

async fn create(client: &AdminClient, args: &CreateArgs) -> Result<(), Failure> {
    let identity = match args.identity {
        Identity::Anonymous => "anonymous",
        Identity::Entry => "entry",
    };
    let mut body = json!({
        "room": args.id,
        "identity": identity,
        "title": {"ko": args.id, "en": args.id},
        "target_url": "/",
    });
    if let Some(tenant) = &args.tenant {
        body["tenant"] = json!(tenant);
    }
    merge(&mut body, args.fields.patch());
    show(client, Call::post(&["rooms"]).body(body)).await
}

async fn set(client: &AdminClient, args: &SetArgs) -> Result<(), Failure> {
    let patch = args.fields.patch();
    if patch == json!({}) {
        let text = "name what to change, such as --rate 50; see `jari room set --help`";
        return Err(Failure::failed(text));
    }
    let call = Call::patch(&["rooms", &args.id]).body(patch).if_match(args.if_version);
    show(client, call).await
}

async fn show(client: &AdminClient, call: Call<'_>) -> Result<(), Failure> {
    client.show(client.call(call).await?, room_card)
}

async fn change(
    client: &AdminClient,
    id: &str,
    action: &str,
    body: Option<Value>,
) -> Result<(), Failure> {
    let mut call = Call::post(&["rooms", id, action]);
    if let Some(body) = body {
        call = call.body(body);
    }
    let answer = client.call(call).await?;
    client.show(answer, |answer: Changed| {
        let outcome = if answer.changed { "done" } else { "it was so already" };
        format!("{id}: {action}: {outcome}\n")
    })
}

async fn people(client: &AdminClient, action: &str, args: PeopleArgs) -> Result<(), Failure> {
    change(client, &args.id, action, Some(json!({"subjects": args.subjects}))).await
}

async fn admit(client: &AdminClient, args: AdmitArgs) -> Result<(), Failure> {
    let Whom { count, subjects } = args.whom;
    let body = jari_api::AdmitRequest { count, subjects };
    let answer = client.call(Call::post(&["rooms", &args.id, "admit"]).body(body)).await?;
    client.show(answer, |answer: jari_api::AdmitAnswer| match answer.granted {
        Some(granted) => {
            let row = |granted: jari_api::Granted| {
                [if granted.pass { "pass" } else { "blocked" }.to_owned(), granted.subject]
            };
            table(["OUTCOME", "SUBJECT"], &granted.into_iter().map(row).collect::<Vec<_>>())
        }
        None if answer.mass_absence => {
            "nobody was called: most of the next in turn were not heard from lately; \
             ask again to call those who were\n"
                .to_owned()
        }
        None => format!("called: {}\n", answer.called.unwrap_or(0)),
    })
}

async fn delete(client: &AdminClient, id: &str, yes: bool) -> Result<(), Failure> {
    if !yes {
        let text = format!("everybody in {id} would lose their place; say --yes if that is meant");
        return Err(Failure::failed(text));
    }
    client.call(Call::delete(&["rooms", id])).await?;
    print(&format!("{id}: deleted\n"))
}

fn room_table(list: RoomList) -> String {
    let rows = list.rooms.into_iter().map(|room| {
        let settings = &room.body.settings;
        [
            room.body.room.clone(),
            settings.capacity.to_string(),
            settings.rate_per_s.to_string(),
            or_dash(settings.opens_at),
            or_dash(room.body.group.as_ref()),
            room.version.to_string(),
            format!("{} / {}", room.body.title.ko, room.body.title.en),
        ]
    });
    table(
        ["ID", "CAPACITY", "RATE/S", "OPENS", "GROUP", "VERSION", "TITLE"],
        &rows.collect::<Vec<_>>(),
    )
}

/// Every field of a room under the name that the API gives it, so that nothing has to be listed twice.
fn room_card(room: RoomDefinitionView) -> String {
    let room = serde_json::to_value(room).expect("a definition is plain JSON");
    let mut rows = Vec::new();
    flatten("", &room, &mut rows);
    let rows: Vec<_> = rows.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    card(&rows)
}

fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, rows);
            }
        }
        Value::String(text) => rows.push((path.to_owned(), text.clone())),
        other => rows.push((path.to_owned(), other.to_string())),
    }
}
