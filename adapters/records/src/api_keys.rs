//! Queries on API keys. Only hashes of them are here.

use jari_ports::{ApiKey, ApiKeyScope, ControlError, NewApiKey};
use jari_units::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Records;
use crate::column::{bytes32, hex, named, signed, time, time_or_none};
use crate::failure::unavailable;

const ALL: &str = "SELECT id, tenant, scope, name, hash, created_at, last_used_at, revoked_at \
                   FROM api_keys ORDER BY no";

const ADD: &str = "INSERT INTO api_keys (id, no, tenant, scope, name, hash, created_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";

/// A key that was revoked stays revoked when it was.
const REVOKE: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1";

/// Notes may come out of order: the newest stays.
const NOTE_USE: &str = "UPDATE api_keys SET last_used_at = $2 \
                        WHERE id = $1 AND COALESCE(last_used_at, -1) < $2";

const NEXT_NO: &str =
    "UPDATE counters SET value = value + 1 WHERE name = 'api_key' RETURNING value";

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
    ) -> Result<(), ControlError> {
        let name = format!("API key {}", key.id);
        match self.insert_api_key(key, at).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ControlError::Conflict(name)),
            Err(error) => Err(unavailable(&self.place, &error)),
        }
    }

    /// `false`, and nothing written, where the id exists.
    async fn insert_api_key(&self, key: NewApiKey, at: Timestamp) -> Result<bool, sqlx::Error> {
        let mut tx = self.pool.begin().await?;
        let no: i64 = sqlx::query(NEXT_NO).fetch_one(&mut *tx).await?.try_get(0)?;
        let add = sqlx::query(ADD)
            .bind(key.id)
            .bind(no)
            .bind(key.tenant.as_str().to_owned())
            .bind(scope_word(key.scope))
            .bind(key.name)
            .bind(hex(&key.hash))
            .bind(signed(at.0));
        if add.execute(&mut *tx).await?.rows_affected() == 0 {
            tx.rollback().await?;
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    pub(crate) async fn write_revocation(
        &self,
        id: &str,
        at: Timestamp,
    ) -> Result<(), ControlError> {
        let done = sqlx::query(REVOKE).bind(id.to_owned()).bind(signed(at.0));
        match done.execute(&self.pool).await {
            Ok(done) if done.rows_affected() == 0 => {
                Err(ControlError::NotFound(format!("API key {id}")))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(unavailable(&self.place, &error)),
        }
    }

    /// Unknown keys are passed over: one may have been deleted with its tenant meanwhile.
    pub(crate) async fn write_api_key_uses(
        &self,
        uses: Vec<(String, Timestamp)>,
    ) -> Result<(), ControlError> {
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
