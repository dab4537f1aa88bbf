//! Queries on site keys: secrets, as signing keys, never in an error or a log.

use jari_ports::{AuditEntry, ControlError, SiteKey};
use jari_units::{TenantId, Timestamp};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::Records;
use crate::column::{bytes32, hex, named, signed, time, time_or_none};
use crate::failure::unavailable;
use crate::write::Write;

const ALL: &str =
    "SELECT id, tenant, seed, created_at, signs_from, ends_at FROM site_keys ORDER BY no";

const ADD: &str = "INSERT INTO site_keys (id, no, tenant, seed, created_at, signs_from, ends_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";

/// A key whose end was decided before keeps the earlier one.
const END_OTHERS: &str = "UPDATE site_keys SET ends_at = $2 \
                          WHERE tenant = $1 AND (ends_at IS NULL OR ends_at > $2)";

/// A replaced key, and never one whose end is not decided.
const END: &str = "UPDATE site_keys SET ends_at = CASE WHEN ends_at > $3 THEN $3 ELSE ends_at END \
                   WHERE tenant = $1 AND id = $2 AND ends_at IS NOT NULL";

const NEXT_NO: &str =
    "UPDATE counters SET value = value + 1 WHERE name = 'site_key' RETURNING value";

impl Records {
    pub(crate) async fn read_site_keys(&self) -> Result<Vec<SiteKey>, ControlError> {
        let rows = sqlx::query(ALL).fetch_all(&self.pool).await;
        let keys = rows.and_then(|rows| rows.iter().map(site_key).collect());
        keys.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn write_site_key(
        &self,
        key: SiteKey,
        others_end_at: Timestamp,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?.naming(&key.tenant).await?;
        match add(write.conn(), &key, others_end_at).await {
            Ok(0) => {
                let name = format!("site key {}", key.id);
                Err(write.refuse(ControlError::Conflict(name)).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }

    pub(crate) async fn write_site_key_end(
        &self,
        tenant: &TenantId,
        id: &str,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let end = sqlx::query(END).bind(tenant.as_str().to_owned()).bind(id.to_owned());
        match end.bind(signed(at.0)).execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 1 => write.commit(entry).await,
            Ok(_) => Err(refuse_end(write, tenant, id).await),
            Err(error) => Err(write.failed(&error)),
        }
    }
}

/// Why no key was ended.
async fn refuse_end(mut write: Write<'_>, tenant: &TenantId, id: &str) -> ControlError {
    let name = format!("site key {id}");
    let found = sqlx::query("SELECT no FROM site_keys WHERE tenant = $1 AND id = $2");
    let found = found.bind(tenant.as_str().to_owned()).bind(id.to_owned());
    match found.fetch_optional(write.conn()).await {
        Ok(None) => write.refuse(ControlError::NotFound(name)).await,
        Ok(Some(_)) => write.refuse(ControlError::InUse(name)).await,
        Err(error) => write.failed(&error),
    }
}

/// The others first, so that the new one is none of them; answers how many were added.
async fn add(
    conn: &mut AnyConnection,
    key: &SiteKey,
    others_end_at: Timestamp,
) -> Result<u64, sqlx::Error> {
    let tenant = key.tenant.as_str().to_owned();
    let others = sqlx::query(END_OTHERS).bind(tenant.clone()).bind(signed(others_end_at.0));
    others.execute(&mut *conn).await?;
    let no: i64 = sqlx::query(NEXT_NO).fetch_one(&mut *conn).await?.try_get(0)?;
    let add = sqlx::query(ADD)
        .bind(key.id.clone())
        .bind(no)
        .bind(tenant)
        .bind(hex(&key.seed))
        .bind(signed(key.created_at.0))
        .bind(signed(key.signs_from.0))
        .bind(key.ends_at.map(|at| signed(at.0)));
    Ok(add.execute(conn).await?.rows_affected())
}

/// Within the write that deletes their tenant.
pub(crate) async fn remove_of(
    conn: &mut AnyConnection,
    tenant: &TenantId,
) -> Result<(), sqlx::Error> {
    let delete = sqlx::query("DELETE FROM site_keys WHERE tenant = $1");
    delete.bind(tenant.as_str().to_owned()).execute(conn).await.map(drop)
}

fn site_key(row: &AnyRow) -> Result<SiteKey, sqlx::Error> {
    Ok(SiteKey {
        id: row.try_get("id")?,
        tenant: named(row, "tenant", |text| text.parse().ok())?,
        seed: bytes32(row, "seed")?,
        created_at: time(row, "created_at")?,
        signs_from: time(row, "signs_from")?,
        ends_at: time_or_none(row, "ends_at")?,
    })
}
