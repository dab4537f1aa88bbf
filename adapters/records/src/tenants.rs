//! Queries on tenants; versions as for rooms.

use jari_ports::{AuditEntry, ControlError, Tenant, TenantLimits};
use jari_units::{TenantId, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::Records;
use crate::column::{damaged, named, number, signed};
use crate::failure::unavailable;
use crate::write::Write;
use crate::{site_keys, stored_settings};

const CREATE: &str = "INSERT INTO tenants (id, name, settings, version) VALUES ($1, $2, $3, 1) \
                      ON CONFLICT (id) DO NOTHING";

const REPLACE: &str = "UPDATE tenants SET name = $2, settings = $3, version = version + 1 \
                       WHERE id = $1 AND version = $4";

/// Rooms, and keys that still open something at $2: a tenant whose keys are revoked or have ended may go.
const IN_USE: &str = "SELECT (SELECT COUNT(*) FROM rooms WHERE tenant = $1) + \
                      (SELECT COUNT(*) FROM api_keys WHERE tenant = $1 AND revoked_at IS NULL \
                      AND (expires_at IS NULL OR expires_at > $2)) AS uses";

const ROOMS: &str = "SELECT COUNT(*) AS rooms FROM rooms WHERE tenant = $1";

const SETTINGS: &str = "SELECT settings FROM tenants WHERE id = $1";

/// What a tenant is allowed, as it is stored. What is new takes its default where it is missing.
#[derive(Serialize, Deserialize)]
struct StoredTenant {
    rooms_max: u64,
    #[serde(default)]
    joins_per_minute: u32,
    #[serde(default)]
    entries_per_minute: u32,
    #[serde(default)]
    return_urls: Vec<String>,
    #[serde(default)]
    cors_origins: Vec<String>,
}

impl From<&Tenant> for StoredTenant {
    fn from(tenant: &Tenant) -> Self {
        StoredTenant {
            rooms_max: tenant.rooms_max,
            joins_per_minute: tenant.limits.joins_per_minute,
            entries_per_minute: tenant.limits.entries_per_minute,
            return_urls: tenant.return_urls.iter().map(ToString::to_string).collect(),
            cors_origins: tenant.cors_origins.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Records {
    /// In order of id, as rooms.
    pub(crate) async fn read_tenants(&self) -> Result<Vec<Tenant>, ControlError> {
        let all = sqlx::query("SELECT id, name, settings, version FROM tenants");
        let rows = all.fetch_all(&self.pool).await;
        let tenants: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(tenant).collect());
        let mut tenants = tenants.map_err(|error| unavailable(&self.place, &error))?;
        tenants.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(tenants)
    }

    pub(crate) async fn write_tenant(
        &self,
        tenant: Tenant,
        entry: AuditEntry,
    ) -> Result<u64, ControlError> {
        let mut write = self.begin_write().await?;
        let settings = stored_settings::write(&StoredTenant::from(&tenant));
        let query = sqlx::query(if tenant.version == 0 { CREATE } else { REPLACE });
        let query = query.bind(tenant.id.as_str().to_owned()).bind(tenant.name.clone());
        let query = query.bind(settings);
        let query = if tenant.version == 0 { query } else { query.bind(signed(tenant.version)) };
        match query.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 1 => {
                write.commit(entry).await.map(|()| tenant.version + 1)
            }
            Ok(_) => Err(refuse_tenant(write, &tenant).await),
            Err(error) => Err(write.failed(&error)),
        }
    }

    /// Whatever names a tenant is written in the same line of writes, so that nothing can come to it meanwhile.
    pub(crate) async fn remove_tenant(
        &self,
        id: &TenantId,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let name = || format!("tenant {id}");
        match uses(write.conn(), id, entry.at).await {
            Ok(0) => {}
            Ok(_) => return Err(write.refuse(ControlError::InUse(name())).await),
            Err(error) => return Err(write.failed(&error)),
        }
        if let Err(error) = site_keys::remove_of(write.conn(), id).await {
            return Err(write.failed(&error));
        }
        let delete = sqlx::query("DELETE FROM tenants WHERE id = $1");
        match delete.bind(id.as_str().to_owned()).execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                Err(write.refuse(ControlError::NotFound(name())).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }
}

impl Write<'_> {
    /// Goes on where there is such a tenant, which then stays until the write ends; NotFound where there is none.
    pub(crate) async fn naming(mut self, tenant: &TenantId) -> Result<Self, ControlError> {
        match is_known(self.conn(), tenant).await {
            Ok(true) => Ok(self),
            Ok(false) => Err(self.refuse(not_found(tenant)).await),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// What a write answers that names a tenant that there is none of.
pub(crate) fn not_found(tenant: &TenantId) -> ControlError {
    ControlError::NotFound(format!("tenant {tenant}"))
}

/// Whether there is such a tenant, within a write: it stays until the write ends.
pub(crate) async fn is_known(conn: &mut AnyConnection, id: &TenantId) -> Result<bool, sqlx::Error> {
    let found = sqlx::query(SETTINGS).bind(id.as_str().to_owned()).fetch_optional(conn).await?;
    Ok(found.is_some())
}

/// Whether the tenant has more rooms than it may, within the write that made one.
pub(crate) async fn has_too_many_rooms(
    conn: &mut AnyConnection,
    id: &TenantId,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query(SETTINGS).bind(id.as_str().to_owned()).fetch_one(&mut *conn).await?;
    let allowed: StoredTenant = stored_settings::read(row.try_get("settings")?)?;
    let rooms = sqlx::query(ROOMS).bind(id.as_str().to_owned()).fetch_one(conn).await?;
    Ok(number(&rooms, "rooms")? > allowed.rooms_max)
}

/// How much keeps a tenant from being deleted at `at`.
async fn uses(conn: &mut AnyConnection, id: &TenantId, at: Timestamp) -> Result<u64, sqlx::Error> {
    let query = sqlx::query(IN_USE).bind(id.as_str().to_owned()).bind(signed(at.0));
    number(&query.fetch_one(conn).await?, "uses")
}

/// Why a write touched no row.
async fn refuse_tenant(mut write: Write<'_>, tenant: &Tenant) -> ControlError {
    let name = format!("tenant {}", tenant.id);
    match is_known(write.conn(), &tenant.id).await {
        Ok(false) if tenant.version > 0 => write.refuse(ControlError::NotFound(name)).await,
        Ok(_) => write.refuse(ControlError::Conflict(name)).await,
        Err(error) => write.failed(&error),
    }
}

fn tenant(row: &AnyRow) -> Result<Tenant, sqlx::Error> {
    let StoredTenant { rooms_max, joins_per_minute, entries_per_minute, return_urls, cors_origins } =
        stored_settings::read(row.try_get("settings")?)?;
    Ok(Tenant {
        id: named(row, "id", |text| text.parse().ok())?,
        name: row.try_get("name")?,
        rooms_max,
        limits: TenantLimits { joins_per_minute, entries_per_minute },
        return_urls: parsed(&return_urls, "return_urls")?,
        cors_origins: parsed(&cors_origins, "cors_origins")?,
        version: number(row, "version")?,
    })
}

fn parsed<T: std::str::FromStr>(texts: &[String], name: &str) -> Result<Vec<T>, sqlx::Error> {
    let read = |text: &String| text.parse().map_err(|_| damaged(format!("{name} has {text:?}")));
    texts.iter().map(read).collect()
}
