//! Queries on limit groups; versions as for rooms.

use jari_ports::{ControlError, LimitGroup};
use jari_units::GroupId;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Records;
use crate::column::{named, number, signed};
use crate::failure::{is_foreign_key, unavailable};
use crate::stored_settings;

const CREATE: &str = "INSERT INTO limit_groups (id, settings, version) VALUES ($1, $2, 1) \
                      ON CONFLICT (id) DO NOTHING";

const REPLACE: &str = "UPDATE limit_groups SET settings = $2, version = version + 1 \
                       WHERE id = $1 AND version = $3";

impl Records {
    pub(crate) async fn read_groups(&self) -> Result<Vec<LimitGroup>, ControlError> {
        let all = sqlx::query("SELECT id, settings, version FROM limit_groups ORDER BY id");
        let rows = all.fetch_all(&self.pool).await;
        let groups = rows.and_then(|rows| rows.iter().map(group).collect());
        groups.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn write_group(&self, group: LimitGroup) -> Result<u64, ControlError> {
        let settings = stored_settings::write(&group.settings);
        let query = sqlx::query(if group.version == 0 { CREATE } else { REPLACE });
        let query = query.bind(group.id.as_str().to_owned()).bind(settings);
        let query = if group.version == 0 { query } else { query.bind(signed(group.version)) };
        match query.execute(&self.pool).await {
            Ok(done) if done.rows_affected() == 1 => Ok(group.version + 1),
            Ok(_) => Err(self.group_refusal(&group).await),
            Err(error) => Err(unavailable(&self.place, &error)),
        }
    }

    /// Why a write touched no row.
    async fn group_refusal(&self, group: &LimitGroup) -> ControlError {
        let name = format!("limit group {}", group.id);
        let found = sqlx::query("SELECT version FROM limit_groups WHERE id = $1");
        match found.bind(group.id.as_str()).fetch_optional(&self.pool).await {
            Ok(None) if group.version > 0 => ControlError::NotFound(name),
            Ok(_) => ControlError::Conflict(name),
            Err(error) => unavailable(&self.place, &error),
        }
    }

    pub(crate) async fn remove_group(&self, id: &GroupId) -> Result<(), ControlError> {
        let name = || format!("limit group {id}");
        let done = sqlx::query("DELETE FROM limit_groups WHERE id = $1").bind(id.as_str());
        match done.execute(&self.pool).await {
            Ok(done) if done.rows_affected() == 0 => Err(ControlError::NotFound(name())),
            Ok(_) => Ok(()),
            Err(error) if is_foreign_key(&error) => Err(ControlError::InUse(name())),
            Err(error) => Err(unavailable(&self.place, &error)),
        }
    }
}

fn group(row: &AnyRow) -> Result<LimitGroup, sqlx::Error> {
    Ok(LimitGroup {
        id: named(row, "id", |text| text.parse().ok())?,
        settings: stored_settings::read_group(row.try_get("settings")?)?,
        version: number(row, "version")?,
    })
}
