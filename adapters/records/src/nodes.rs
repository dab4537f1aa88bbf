//! Queries on nodes: who uses these records, and with which lines. No part of what operators define: they raise no revision and
//! leave no entry.

use jari_ports::{ControlError, NodeNote};
use jari_units::NodeId;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::Records;
use crate::column::{named, signed, time};
use crate::failure::unavailable;

/// Notes of nodes that were not heard of for so long, in ms, go: a day.
const FORGOTTEN_AFTER_MS: u64 = 86_400_000;

const NOTE: &str = "INSERT INTO nodes (node, lines, place, since, seen_at) VALUES ($1, $2, $3, $4, $5) \
                    ON CONFLICT (node) DO UPDATE SET lines = excluded.lines, place = excluded.place, \
                    seen_at = excluded.seen_at";

impl Records {
    /// In order of `since`.
    pub(crate) async fn read_nodes(&self) -> Result<Vec<NodeNote>, ControlError> {
        let all = sqlx::query(
            "SELECT node, lines, place, since, seen_at FROM nodes ORDER BY since, node",
        );
        let rows = all.fetch_all(&self.pool).await;
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
