//! Queries on nodes: who uses these records, and with which lines. No part of what operators define: they raise no revision and
//! leave no entry.

use std::path::Path;
use std::time::Duration;

use jari_ports::{ControlError, NodeNote};
use jari_units::NodeId;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Connection, Row};

use crate::cause::Cause;
use crate::column::{named, signed, time};
use crate::failure::{OpenError, unavailable};
use crate::server_address::ServerAddress;
use crate::{Records, postgres, sqlite};

/// Notes of nodes that were not heard of for so long, in ms, go: a day.
const FORGOTTEN_AFTER_MS: u64 = 86_400_000;

const NOTE: &str = "INSERT INTO nodes (node, lines, place, since, seen_at) VALUES ($1, $2, $3, $4, $5) \
                    ON CONFLICT (node) DO UPDATE SET lines = excluded.lines, place = excluded.place, \
                    seen_at = excluded.seen_at";

const ALL: &str = "SELECT node, lines, place, since, seen_at FROM nodes ORDER BY since, node";

/// The nodes that noted themselves in a file of records, in order of `since`. It only reads.
///
/// # Errors
/// The file is missing, is no database or not Jari's.
pub async fn nodes_in_file(path: &Path) -> Result<Vec<NodeNote>, OpenError> {
    read(sqlite::connect_to_read(path).await?, &path.display().to_string()).await
}

/// The same on a server, which is waited for at most `wait`.
///
/// # Errors
/// As [`nodes_in_file`], and where the server does not answer or refuses.
pub async fn nodes_on_server(address: &str, wait: Duration) -> Result<Vec<NodeNote>, OpenError> {
    let address = ServerAddress::parse(address)?;
    let conn = postgres::connect_to_read(&address, wait).await?;
    read(conn, address.place()).await
}

async fn read(mut conn: AnyConnection, place: &str) -> Result<Vec<NodeNote>, OpenError> {
    let rows = sqlx::query(ALL).fetch_all(&mut conn).await;
    let notes: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(note).collect());
    // It only reads: a goodbye that fails is no matter.
    let _ = conn.close().await;
    match notes {
        // No such table: nobody made records there yet, or an older Jari did, whose nodes left no notes.
        Err(error) if matches!(Cause::from(&error), Cause::Other(_)) => Ok(Vec::new()),
        notes => notes.map_err(|error| OpenError::database(&place, &error)),
    }
}

impl Records {
    /// In order of `since`.
    pub(crate) async fn read_nodes(&self) -> Result<Vec<NodeNote>, ControlError> {
        let rows = sqlx::query(ALL).fetch_all(&self.pool).await;
        let notes: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(note).collect());
        notes.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn write_node(&self, note: NodeNote) -> Result<(), ControlError> {
        let written = async {
            let before = signed(note.seen_at.0.saturating_sub(FORGOTTEN_AFTER_MS));
            sqlx::query("DELETE FROM nodes WHERE seen_at < $1")
                .bind(before)
                .execute(&self.pool)
                .await?;
            let query = sqlx::query(NOTE).bind(note.node.to_string()).bind(note.lines);
            let query = query.bind(note.place).bind(signed(note.since.0));
            query.bind(signed(note.seen_at.0)).execute(&self.pool).await
        };
        written.await.map(drop).map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn remove_node(&self, node: NodeId) -> Result<(), ControlError> {
        let gone = sqlx::query("DELETE FROM nodes WHERE node = $1").bind(node.to_string());
        let gone = gone.execute(&self.pool).await;
        gone.map(drop).map_err(|error| unavailable(&self.place, &error))
    }
}

fn note(row: &AnyRow) -> Result<NodeNote, sqlx::Error> {
    Ok(NodeNote {
        node: named(row, "node", |text| text.parse().ok())?,
        lines: row.try_get("lines")?,
        place: row.try_get("place")?,
        since: time(row, "since")?,
        seen_at: time(row, "seen_at")?,
    })
}
