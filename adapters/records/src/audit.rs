//! The audit trail: appended and read, never changed. Triggers refuse the rest, and each entry names the hash of the one
//! before it, so that what went past the triggers is found (`trail`).

use jari_audit::{AuditEntry, ChainedEntry, EntryHash, Link};
use jari_ports::{AuditPage, ControlError};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::Records;
use crate::column::{damaged, named, number, signed, time};
use crate::failure::unavailable;

/// Entries on one page at most: what fits a screen or two, and one answer.
const PAGE_MAX: u32 = 200;

const NEXT_NO: &str = "UPDATE counters SET value = value + 1 WHERE name = 'audit' RETURNING value";

const APPEND: &str = "INSERT INTO audit \
                      (no, at, actor, action, target, was, is_now, form, prev_hash, hash) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

const LAST: &str = "SELECT hash FROM audit ORDER BY no DESC LIMIT 1";

const PAGE: &str = "SELECT no, at, actor, action, target, was, is_now, form, prev_hash, hash \
                    FROM audit WHERE no < $1 ORDER BY no DESC LIMIT $2";

const PAGE_OF_TARGET: &str = "SELECT no, at, actor, action, target, was, is_now, form, prev_hash, \
                              hash FROM audit WHERE no < $1 AND target = $3 \
                              ORDER BY no DESC LIMIT $2";

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
        let entries: Result<Vec<_>, _> = rows.and_then(|rows| rows.iter().map(chained).collect());
        let mut entries = entries.map_err(|error| unavailable(&self.place, &error))?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let next_before_no = entries.last().filter(|_| more).map(|last| last.entry.no);
        Ok(AuditPage { entries, next_before_no })
    }
}

/// Appends within the caller's transaction: numbers have no gaps, whatever fails, and each entry follows the one before
/// it. Last in it, since all writers of all nodes stand in the counter's row until the transaction ends: whoever has it
/// reads the last entry, and nobody else can follow that one.
pub(crate) async fn append(
    conn: &mut AnyConnection,
    mut entry: AuditEntry,
) -> Result<u64, sqlx::Error> {
    let row = sqlx::query(NEXT_NO).fetch_one(&mut *conn).await?;
    entry.no = number(&row, "value")?;
    let prev = last_hash(conn).await?;
    let no = entry.no;
    insert(conn, prev, entry).await?;
    Ok(no)
}

/// The hash that the next entry names. Of whatever stands last: where entries were taken out, a check tells, and work goes on.
pub(crate) async fn last_hash(conn: &mut AnyConnection) -> Result<EntryHash, sqlx::Error> {
    let last = sqlx::query(LAST).fetch_optional(conn).await?;
    last.map_or(Ok(EntryHash::NONE), |row| named(&row, "hash", |text| text.parse().ok()))
}

/// Writes an entry that has its number behind the one with the hash `prev`, and answers its own hash.
pub(crate) async fn insert(
    conn: &mut AnyConnection,
    prev: EntryHash,
    entry: AuditEntry,
) -> Result<EntryHash, sqlx::Error> {
    let link = Link::after(prev, &entry);
    let append = sqlx::query(APPEND)
        .bind(signed(entry.no))
        .bind(signed(entry.at.0))
        .bind(entry.actor)
        .bind(entry.action)
        .bind(entry.target)
        .bind(entry.before)
        .bind(entry.after)
        .bind(i64::from(link.form))
        .bind(link.prev_hash.to_string())
        .bind(link.hash.to_string());
    append.execute(conn).await?;
    Ok(link.hash)
}

/// What an entry says, without its place in the chain.
pub(crate) fn entry(row: &AnyRow) -> Result<AuditEntry, sqlx::Error> {
    let no = number(row, "no")?;
    let read = || -> Result<AuditEntry, sqlx::Error> {
        Ok(AuditEntry {
            no,
            at: time(row, "at")?,
            actor: row.try_get("actor")?,
            action: row.try_get("action")?,
            target: row.try_get("target")?,
            before: row.try_get("was")?,
            after: row.try_get("is_now")?,
        })
    };
    read().map_err(|error| damaged(format!("audit entry {no}: {error}")))
}

pub(crate) fn chained(row: &AnyRow) -> Result<ChainedEntry, sqlx::Error> {
    // A form that no version wrote is one that none knows.
    let form = u8::try_from(row.try_get::<i64, _>("form")?).unwrap_or(u8::MAX);
    let link = Link { form, prev_hash: hash(row, "prev_hash")?, hash: hash(row, "hash")? };
    Ok(ChainedEntry { entry: entry(row)?, link })
}

/// What is no hash is that of no entry: somebody put it there, and a check names the entry. The trail is shown all the same.
fn hash(row: &AnyRow, column: &str) -> Result<EntryHash, sqlx::Error> {
    let text: &str = row.try_get(column)?;
    Ok(text.parse().unwrap_or(EntryHash::NONE))
}
