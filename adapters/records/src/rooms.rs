//! Queries on rooms. A write is one statement that names the version it replaces, so that two cannot both succeed.

use jari_ports::{
    AuditEntry, Challenge, ChallengeKind, ControlError, Handover, Identity, OnStoreFailure,
    RoomDefinition,
};
use jari_units::RoomId;
use sqlx::Row;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;

use crate::Records;
use crate::column::{damaged, named, number, signed, time};
use crate::failure::{is_foreign_key, unavailable};
use crate::stored_settings;
use crate::tenants::{has_too_many_rooms, is_known, not_found};
use crate::write::Write;

const ALL: &str = "SELECT id, tenant, limit_group, identity, title_ko, title_en, target_url, \
                   on_store_failure, handover, challenge, challenge_difficulty, settings, version, created_at FROM rooms";

const CREATE: &str = "INSERT INTO rooms (id, tenant, limit_group, identity, title_ko, title_en, target_url, \
     on_store_failure, handover, challenge, challenge_difficulty, settings, version, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13) ON CONFLICT (id) DO NOTHING";

const REPLACE: &str = "UPDATE rooms SET tenant = $2, limit_group = $3, identity = $4, title_ko = $5, title_en = $6, \
     target_url = $7, on_store_failure = $8, handover = $9, challenge = $10, challenge_difficulty = $11, \
     settings = $12, version = version + 1 WHERE id = $1 AND version = $13";

impl Records {
    /// In order of id by their bytes, which is not how every server sorts texts.
    pub(crate) async fn read_rooms(&self) -> Result<Vec<RoomDefinition>, ControlError> {
        let rows = sqlx::query(ALL).fetch_all(&self.pool).await;
        let rooms: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(room).collect());
        let mut rooms = rooms.map_err(|error| unavailable(&self.place, &error))?;
        rooms.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(rooms)
    }

    pub(crate) async fn write_room(
        &self,
        room: RoomDefinition,
        entry: AuditEntry,
    ) -> Result<u64, ControlError> {
        let mut write = self.begin_write().await?;
        let query = match room.version {
            0 => bind(CREATE, &room).bind(signed(room.created_at.0)),
            version => bind(REPLACE, &room).bind(signed(version)),
        };
        match query.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 1 => {
                match against_tenant(&mut write, &room).await {
                    Ok(None) => write.commit(entry).await.map(|()| room.version + 1),
                    Ok(Some(why)) => Err(write.refuse(why).await),
                    Err(error) => Err(write.failed(&error)),
                }
            }
            Ok(_) => Err(refuse_room(write, &room).await),
            Err(error) if is_foreign_key(&error) => {
                let group = room.group.as_ref().map_or("none", |group| group.as_str());
                Err(write.refuse(ControlError::NotFound(format!("limit group {group}"))).await)
            }
            Err(error) => Err(write.failed(&error)),
        }
    }

    pub(crate) async fn remove_room(
        &self,
        id: &RoomId,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let delete = sqlx::query("DELETE FROM rooms WHERE id = $1").bind(id.as_str().to_owned());
        match delete.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                Err(write.refuse(ControlError::NotFound(format!("room {id}"))).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }
}

/// Why the room's tenant may not have it: within the write, in which nobody else makes a room or deletes a tenant.
async fn against_tenant(
    write: &mut Write<'_>,
    room: &RoomDefinition,
) -> Result<Option<ControlError>, sqlx::Error> {
    let tenant = &room.tenant;
    if !is_known(write.conn(), tenant).await? {
        return Ok(Some(not_found(tenant)));
    }
    let is_new = room.version == 0;
    let full = is_new && has_too_many_rooms(write.conn(), tenant).await?;
    Ok(full.then(|| ControlError::Full(tenant.clone())))
}

/// Why a write touched no row.
async fn refuse_room(mut write: Write<'_>, room: &RoomDefinition) -> ControlError {
    let name = format!("room {}", room.id);
    let found = sqlx::query("SELECT version FROM rooms WHERE id = $1");
    match found.bind(room.id.as_str().to_owned()).fetch_optional(write.conn()).await {
        Ok(None) if room.version > 0 => write.refuse(ControlError::NotFound(name)).await,
        Ok(_) => write.refuse(ControlError::Conflict(name)).await,
        Err(error) => write.failed(&error),
    }
}

/// Binds what creating and replacing have in common: $1 to $12.
fn bind(sql: &'static str, room: &RoomDefinition) -> Query<'static, sqlx::Any, AnyArguments> {
    sqlx::query(sql)
        .bind(room.id.as_str().to_owned())
        .bind(room.tenant.as_str().to_owned())
        .bind(room.group.as_ref().map(|group| group.as_str().to_owned()))
        .bind(identity_word(room.identity))
        .bind(room.title_ko.clone())
        .bind(room.title_en.clone())
        .bind(room.target_url.clone())
        .bind(failure_word(room.on_store_failure))
        .bind(handover_word(room.handover))
        .bind(challenge_word(room.challenge.kind))
        .bind(signed(room.challenge.difficulty.into()))
        .bind(stored_settings::write_room(&room.settings))
}

fn room(row: &AnyRow) -> Result<RoomDefinition, sqlx::Error> {
    let group: Option<&str> = row.try_get("limit_group")?;
    let group = group.map(|_| named(row, "limit_group", |text| text.parse().ok())).transpose()?;
    Ok(RoomDefinition {
        id: named(row, "id", |text| text.parse().ok())?,
        tenant: named(row, "tenant", |text| text.parse().ok())?,
        group,
        identity: named(row, "identity", identity)?,
        title_ko: row.try_get("title_ko")?,
        title_en: row.try_get("title_en")?,
        target_url: row.try_get("target_url")?,
        on_store_failure: named(row, "on_store_failure", on_store_failure)?,
        handover: named(row, "handover", handover)?,
        challenge: challenge(row)?,
        settings: stored_settings::read_room(row.try_get("settings")?)?,
        version: number(row, "version")?,
        created_at: time(row, "created_at")?,
    })
}

fn identity_word(identity: Identity) -> &'static str {
    match identity {
        Identity::Anonymous => "anonymous",
        Identity::Entry => "entry",
    }
}

fn identity(word: &str) -> Option<Identity> {
    [Identity::Anonymous, Identity::Entry].into_iter().find(|known| identity_word(*known) == word)
}

fn failure_word(policy: OnStoreFailure) -> &'static str {
    match policy {
        OnStoreFailure::Wait => "wait",
        OnStoreFailure::Refuse => "refuse",
        OnStoreFailure::Pass => "pass",
    }
}

fn on_store_failure(word: &str) -> Option<OnStoreFailure> {
    let all = [OnStoreFailure::Wait, OnStoreFailure::Refuse, OnStoreFailure::Pass];
    all.into_iter().find(|known| failure_word(*known) == word)
}

fn handover_word(handover: Handover) -> &'static str {
    match handover {
        Handover::Cookie => "cookie",
        Handover::Token => "token",
    }
}

fn handover(word: &str) -> Option<Handover> {
    [Handover::Cookie, Handover::Token].into_iter().find(|known| handover_word(*known) == word)
}

fn challenge(row: &AnyRow) -> Result<Challenge, sqlx::Error> {
    let difficulty = number(row, "challenge_difficulty")?;
    let too_large = |_| damaged(format!("challenge_difficulty is {difficulty}"));
    let difficulty = u32::try_from(difficulty).map_err(too_large)?;
    Ok(Challenge { kind: named(row, "challenge", challenge_kind)?, difficulty })
}

fn challenge_word(kind: ChallengeKind) -> &'static str {
    match kind {
        ChallengeKind::Off => "off",
        ChallengeKind::ProofOfWork => "proof_of_work",
    }
}

fn challenge_kind(word: &str) -> Option<ChallengeKind> {
    let all = [ChallengeKind::Off, ChallengeKind::ProofOfWork];
    all.into_iter().find(|known| challenge_word(*known) == word)
}
