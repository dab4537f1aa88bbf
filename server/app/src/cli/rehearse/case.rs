//! What is rehearsed: a room's settings with the changes of the command line, and the crowd. Plays nothing.

use jari_api::admin::{GroupView, RoomDefinitionView, SettingsBody, merge};
use jari_crowd::Crowd;
use jari_line::{Mode, PacerKind, Settings};
use jari_rehearsal::Site;
use serde_json::{Map, Value};

use super::RehearseArgs;
use super::crowd_args::Coming;
use super::wording::{count, per_second};
use crate::cli::admin_client::{AdminClient, Call, ServerArgs};
use crate::cli::{Failure, small_runtime};

#[derive(Debug)]
pub(super) struct Case {
    pub(super) settings: Settings,
    pub(super) crowd: Crowd,
    pub(super) coming: Coming,
    /// What the pacer `signal` hears.
    pub(super) site: Option<Site>,
    /// The room that was copied.
    pub(super) room: Option<String>,
    /// What a person must know to read the result rightly.
    pub(super) notes: Vec<String>,
}

impl Case {
    pub(super) fn of(args: &RehearseArgs) -> Result<Case, Failure> {
        // What is wrong with the crowd is found before a server is asked.
        let (crowd, coming) = args.crowd.crowd(args.horizon)?;
        let mut notes = Vec::new();
        let copied = match &args.room {
            Some(room) => small_runtime()?.block_on(copy(&args.server, room, &mut notes))?,
            None => SettingsBody::default(),
        };
        let mut patch = Map::new();
        args.mode.put_into(&mut patch);
        let mode_given = patch.contains_key("mode");
        args.limits.put_into(&mut patch);
        args.spans.put_into(&mut patch);
        let settings = change(&copied, patch)?;
        let site = args.site.site(&settings)?;
        notes.extend(about_mode(settings.mode, mode_given)?);
        if matches!(settings.pacer, PacerKind::Signal(_)) && site.is_none() {
            notes.push(
                "no site says anything here, so the pacer signal stays at its start rate; --site-busy-at and --site-overloaded-at make one that does"
                    .to_owned(),
            );
        }
        Ok(Case { settings, crowd, coming, site, room: args.room.clone(), notes })
    }
}

/// What is to be said of a mode in which nobody would be seen to wait.
fn about_mode(mode: Mode, given: bool) -> Result<Option<String>, Failure> {
    let name = match mode {
        Mode::On | Mode::Auto => return Ok(None),
        Mode::Off => "off",
        Mode::Shadow => "shadow",
    };
    if given {
        let told = format!(
            "mode {name} holds nobody up, so there is nothing to rehearse; say --mode on or --mode auto"
        );
        return Err(Failure::failed(told));
    }
    Ok(Some(format!("the room is in mode {name}; rehearsed as if it were on")))
}

/// The settings of a running room, as tight as its limit group.
async fn copy(
    server: &ServerArgs,
    room: &str,
    notes: &mut Vec<String>,
) -> Result<SettingsBody, Failure> {
    let client = AdminClient::new(server)?;
    let room: RoomDefinitionView = client.read(Call::get(&["rooms", room])).await?;
    let mut settings = room.body.settings;
    if let Some(group) = &room.body.group {
        let group: GroupView = client.read(Call::get(&["groups", group])).await?;
        settings.capacity = settings.capacity.min(group.capacity);
        settings.rate_per_s = settings.rate_per_s.min(group.rate_per_s);
        settings.burst = settings.burst.min(group.burst);
        notes.push(format!(
            "the room shares limit group {} ({}, capacity {}); rehearsed as if it had the group for itself",
            group.group,
            per_second(group.rate_per_s),
            count(group.capacity),
        ));
    }
    Ok(settings)
}

/// The settings with the flags' changes, checked as a server would.
fn change(copied: &SettingsBody, patch: Map<String, Value>) -> Result<Settings, Failure> {
    let mut body = serde_json::to_value(copied).expect("settings are plain JSON");
    merge(&mut body, Value::Object(patch));
    let body: SettingsBody = serde_json::from_value(body).expect("flags are fields of settings");
    let settings = body.to_settings(false).map_err(|error| Failure::failed(error.to_string()))?;
    settings.check().map_err(|error| Failure::failed(error.to_string()))?;
    Ok(settings)
}
