//! Queries on API keys. Only hashes of them are here.

use jari_ports::{ApiKey, ApiKeyScope, AuditEntry, ControlError, NewApiKey};
use jari_units::Timestamp;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{AnyConnection, Row};

use crate::Records;
use crate::column::{bytes32, hex, named, signed, time, time_or_none};
use crate::failure::unavailable;
use crate::write::Write;

const ALL: &str = "SELECT id, tenant, scope, name, hash, created_at, last_used_at, revoked_at, expires_at \
                   FROM api_keys ORDER BY no";

const ADD: &str = "INSERT INTO api_keys (id, no, tenant, scope, name, hash, created_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";

/// A key that was revoked stays revoked when it was.
const REVOKE: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1";

/// A key whose end was decided before keeps the earlier one.
const EXPIRE: &str = "UPDATE api_keys SET expires_at = CASE \
                      WHEN expires_at IS NULL OR expires_at > $2 THEN $2 ELSE expires_at END \
                      WHERE id = $1 AND revoked_at IS NULL";

/// Notes may come out of order: the newest stays.
const NOTE_USE: &str = "UPDATE api_keys SET last_used_at = $2 \
                        WHERE id = $1 AND COALESCE(last_used_at, -1) < $2";

const NEXT_NO: &str =
    "UPDATE counters SET value = value + 1 WHERE name = 'api_key' RETURNING value";

/// What the first key of an installation is numbered.
const FIRST_NO: i64 = 1;

impl Records {
    pub(crate) async fn read_api_keys(&self) -> Result<Vec<ApiKey>, ControlError> {
        let rows = sqlx::query(ALL).fetch_all(&self.pool).await;
        let keys = rows.and_then(|rows| rows.iter().map(api_key).collect());
        keys.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn write_api_key(
        &self,
        key: NewApiKey,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let write = self.begin_write().await?;
        self.add_in(write, key, at, entry).await
    }

    async fn add_in(
        &self,
        write: Write<'_>,
        key: NewApiKey,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let name = format!("API key {}", key.id);
        let mut write = write.naming(&key.tenant).await?;
        let added = match next_no(write.conn()).await {
            Ok(no) => add(key, no, at).execute(write.conn()).await,
            Err(error) => Err(error),
        };
        match added {
            Ok(done) if done.rows_affected() == 0 => {
                Err(write.refuse(ControlError::Conflict(name)).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }

    /// The first number tells: who is given another comes later, whenever both asked.
    pub(crate) async fn write_first_api_key(
        &self,
        key: NewApiKey,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Result<bool, ControlError> {
        let mut write = self.begin_write().await?;
        let no = match next_no(write.conn()).await {
            Ok(no) => no,
            Err(error) => return Err(write.failed(&error)),
        };
        if no != FIRST_NO {
            return write.take_back().await.map(|()| false);
        }
        match add(key, no, at).execute(write.conn()).await {
            Ok(_) => write.commit(entry).await.map(|()| true),
            Err(error) => Err(write.failed(&error)),
        }
    }

    pub(crate) async fn write_revocation(
        &self,
        id: &str,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let revoke = sqlx::query(REVOKE).bind(id.to_owned()).bind(signed(at.0));
        match revoke.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                Err(write.refuse(ControlError::NotFound(format!("API key {id}"))).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }

    pub(crate) async fn write_rotation(
        &self,
        id: &str,
        key: NewApiKey,
        (at, ends_at): (Timestamp, Timestamp),
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let expire = sqlx::query(EXPIRE).bind(id.to_owned()).bind(signed(ends_at.0));
        match expire.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                let name = format!("API key {id}");
                Err(write.refuse(ControlError::NotFound(name)).await)
            }
            Ok(_) => self.add_in(write, key, at, entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }

    /// Unknown keys are passed over: one may have been deleted with its tenant meanwhile. In order of id, so that two
    /// nodes that note the same keys never wait for each other in a circle.
    pub(crate) async fn write_api_key_uses(
        &self,
        mut uses: Vec<(String, Timestamp)>,
    ) -> Result<(), ControlError> {
        uses.sort_unstable();
        let written = async {
            let mut tx = self.pool.begin().await?;
            for (id, at) in uses {
                let note = sqlx::query(NOTE_USE).bind(id).bind(signed(at.0));
                note.execute(&mut *tx).await?;
            }
            tx.commit().await
        };
        written.await.map_err(|error| unavailable(&self.place, &error))
    }
}

async fn next_no(conn: &mut AnyConnection) -> Result<i64, sqlx::Error> {
    sqlx::query(NEXT_NO).fetch_one(conn).await?.try_get(0)
}

fn add(key: NewApiKey, no: i64, at: Timestamp) -> Query<'static, sqlx::Any, AnyArguments> {
    sqlx::query(ADD)
        .bind(key.id)
        .bind(no)
        .bind(key.tenant.as_str().to_owned())
        .bind(scope_word(key.scope))
        .bind(key.name)
        .bind(hex(&key.hash))
        .bind(signed(at.0))
}

fn api_key(row: &AnyRow) -> Result<ApiKey, sqlx::Error> {
    Ok(ApiKey {
        id: row.try_get("id")?,
        tenant: named(row, "tenant", |text| text.parse().ok())?,
        scope: named(row, "scope", scope)?,
        name: row.try_get("name")?,
        hash: bytes32(row, "hash")?,
        created_at: time(row, "created_at")?,
        last_used_at: time_or_none(row, "last_used_at")?,
        revoked_at: time_or_none(row, "revoked_at")?,
        expires_at: time_or_none(row, "expires_at")?,
    })
}

fn scope_word(scope: ApiKeyScope) -> &'static str {
    match scope {
        ApiKeyScope::Admin => "admin",
        ApiKeyScope::Tenant => "tenant",
    }
}

fn scope(word: &str) -> Option<ApiKeyScope> {
    [ApiKeyScope::Admin, ApiKeyScope::Tenant].into_iter().find(|known| scope_word(*known) == word)
}
