//! The audit trail: appended and read, never changed. Triggers refuse the rest.

use jari_ports::{AuditEntry, AuditPage, ControlError};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::Records;
use crate::column::{number, signed, time};
use crate::failure::unavailable;

/// Entries on one page at most: what fits a screen or two, and one answer.
const PAGE_MAX: u32 = 200;

const NEXT_NO: &str = "UPDATE counters SET value = value + 1 WHERE name = 'audit' RETURNING value";

const APPEND: &str = "INSERT INTO audit (no, at, actor, action, target, was, is_now) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7)";

const PAGE: &str = "SELECT no, at, actor, action, target, was, is_now FROM audit \
                    WHERE no < $1 ORDER BY no DESC LIMIT $2";

const PAGE_OF_TARGET: &str = "SELECT no, at, actor, action, target, was, is_now FROM audit \
                              WHERE no < $1 AND target = $3 ORDER BY no DESC LIMIT $2";

impl Records {
    /// An entry by itself. It changes nothing that a node keeps, so the revision stays.
    pub(crate) async fn write_audit(&self, entry: AuditEntry) -> Result<u64, ControlError> {
        let written = async {
            let mut tx = self.pool.begin().await?;
            let no = append(&mut tx, entry).await?;
            tx.commit().await?;
            Ok(no)
        };
        written.await.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn read_audit(
        &self,
        target: Option<String>,
        before_no: Option<u64>,
        limit: u32,
    ) -> Result<AuditPage, ControlError> {
        let limit = limit.clamp(1, PAGE_MAX);
        let before = before_no.map_or(i64::MAX, signed);
        // One more than asked for tells whether there is a next page.
        let query = sqlx::query(if target.is_some() { PAGE_OF_TARGET } else { PAGE });
        let query = query.bind(before).bind(i64::from(limit) + 1);
        let query = match target {
            Some(target) => query.bind(target),
            None => query,
        };
        let rows = query.fetch_all(&self.pool).await;
        let entries: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(entry).collect());
        let mut entries = entries.map_err(|error| unavailable(&self.place, &error))?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let next_before_no = entries.last().filter(|_| more).map(|entry| entry.no);
        Ok(AuditPage { entries, next_before_no })
    }
}

/// Appends within the caller's transaction: numbers have no gaps, whatever fails. Last in it, since all writers stand in
/// this one row until the transaction ends.
pub(crate) async fn append(
    conn: &mut AnyConnection,
    entry: AuditEntry,
) -> Result<u64, sqlx::Error> {
    let row = sqlx::query(NEXT_NO).fetch_one(&mut *conn).await?;
    let no = number(&row, "value")?;
    let append = sqlx::query(APPEND)
        .bind(signed(no))
        .bind(signed(entry.at.0))
        .bind(entry.actor)
        .bind(entry.action)
        .bind(entry.target)
        .bind(entry.before)
        .bind(entry.after);
    append.execute(conn).await?;
    Ok(no)
}

fn entry(row: &AnyRow) -> Result<AuditEntry, sqlx::Error> {
    Ok(AuditEntry {
        no: number(row, "no")?,
        at: time(row, "at")?,
        actor: row.try_get("actor")?,
        action: row.try_get("action")?,
        target: row.try_get("target")?,
        before: row.try_get("was")?,
        after: row.try_get("is_now")?,
    })
}
