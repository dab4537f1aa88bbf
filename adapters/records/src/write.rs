//! A write: one transaction that raises the revision, changes something, and notes who did it. What it changes is its
//! caller's.

use jari_ports::{AuditEntry, ControlError};
use sqlx::any::AnyRow;
use sqlx::{Any, AnyConnection, Transaction};

use crate::Records;
use crate::column::number;
use crate::failure::unavailable;

const RAISE_REVISION: &str = "UPDATE counters SET value = value + 1 WHERE name = 'revision'";

const REVISION: &str = "SELECT value FROM counters WHERE name = 'revision'";

/// A write under way; dropped, it never was.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    tx: Transaction<'static, Any>,
    place: &'a str,
}

impl Records {
    /// Begins a write. The revision's row is the first thing that each of them takes: writes of all nodes stand in one
    /// row, none sees half of another, and no two can wait for each other.
    pub(crate) async fn begin_write(&self) -> Result<Write<'_>, ControlError> {
        let begun = async {
            let mut tx = self.pool.begin().await?;
            sqlx::query(RAISE_REVISION).execute(&mut *tx).await?;
            Ok(tx)
        };
        let place = self.place.as_str();
        let tx = begun.await.map_err(|error| unavailable(place, &error))?;
        Ok(Write { tx, place })
    }

    pub(crate) async fn read_revision(&self) -> Result<u64, ControlError> {
        let row: Result<AnyRow, _> = sqlx::query(REVISION).fetch_one(&self.pool).await;
        let revision = row.and_then(|row| number(&row, "value"));
        revision.map_err(|error| unavailable(&self.place, &error))
    }
}

impl Write<'_> {
    pub(crate) fn conn(&mut self) -> &mut AnyConnection {
        &mut self.tx
    }

    /// Notes who did it, and makes both durable.
    pub(crate) async fn commit(mut self, entry: AuditEntry) -> Result<(), ControlError> {
        let place = self.place;
        let committed = async {
            crate::audit::append(&mut self.tx, entry).await?;
            self.tx.commit().await
        };
        committed.await.map_err(|error| unavailable(place, &error))
    }

    /// Makes it as if it had never begun.
    pub(crate) async fn take_back(self) -> Result<(), ControlError> {
        self.tx.rollback().await.map_err(|error| unavailable(self.place, &error))
    }

    /// Takes the write back, and answers why.
    pub(crate) async fn refuse(self, why: ControlError) -> ControlError {
        self.take_back().await.err().unwrap_or(why)
    }

    /// The database's own error; what it had changed is taken back.
    pub(crate) fn failed(self, error: &sqlx::Error) -> ControlError {
        unavailable(self.place, error)
    }
}
