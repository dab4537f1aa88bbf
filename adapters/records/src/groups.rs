//! Queries on limit groups; versions as for rooms.

use jari_ports::{AuditEntry, ControlError, LimitGroup};
use jari_units::GroupId;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Records;
use crate::column::{named, number, signed};
use crate::failure::{is_foreign_key, unavailable};
use crate::stored_settings;
use crate::write::Write;

const CREATE: &str = "INSERT INTO limit_groups (id, settings, version) VALUES ($1, $2, 1) \
                      ON CONFLICT (id) DO NOTHING";

const REPLACE: &str = "UPDATE limit_groups SET settings = $2, version = version + 1 \
                       WHERE id = $1 AND version = $3";

impl Records {
    /// In order of id, as rooms.
    pub(crate) async fn read_groups(&self) -> Result<Vec<LimitGroup>, ControlError> {
        let all = sqlx::query("SELECT id, settings, version FROM limit_groups");
        let rows = all.fetch_all(&self.pool).await;
        let groups: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(group).collect());
        let mut groups = groups.map_err(|error| unavailable(&self.place, &error))?;
        groups.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(groups)
    }

    pub(crate) async fn write_group(
        &self,
        group: LimitGroup,
        entry: AuditEntry,
    ) -> Result<u64, ControlError> {
        let mut write = self.begin_write().await?;
        let settings = stored_settings::write(&group.settings);
        let query = sqlx::query(if group.version == 0 { CREATE } else { REPLACE });
        let query = query.bind(group.id.as_str().to_owned()).bind(settings);
        let query = if group.version == 0 { query } else { query.bind(signed(group.version)) };
        match query.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 1 => {
                write.commit(entry).await.map(|()| group.version + 1)
            }
            Ok(_) => Err(refuse_group(write, &group).await),
            Err(error) => Err(write.failed(&error)),
        }
    }

    pub(crate) async fn remove_group(
        &self,
        id: &GroupId,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let name = || format!("limit group {id}");
        let delete = sqlx::query("DELETE FROM limit_groups WHERE id = $1");
        match delete.bind(id.as_str().to_owned()).execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                Err(write.refuse(ControlError::NotFound(name())).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) if is_foreign_key(&error) => {
                Err(write.refuse(ControlError::InUse(name())).await)
            }
            Err(error) => Err(write.failed(&error)),
        }
    }
}

/// Why a write touched no row.
async fn refuse_group(mut write: Write<'_>, group: &LimitGroup) -> ControlError {
    let name = format!("limit group {}", group.id);
    let found = sqlx::query("SELECT version FROM limit_groups WHERE id = $1");
    match found.bind(group.id.as_str().to_owned()).fetch_optional(write.conn()).await {
        Ok(None) if group.version > 0 => write.refuse(ControlError::NotFound(name)).await,
        Ok(_) => write.refuse(ControlError::Conflict(name)).await,
        Err(error) => write.failed(&error),
    }
}

fn group(row: &AnyRow) -> Result<LimitGroup, sqlx::Error> {
    Ok(LimitGroup {
        id: named(row, "id", |text| text.parse().ok())?,
        settings: stored_settings::read_group(row.try_get("settings")?)?,
        version: number(row, "version")?,
    })
}
