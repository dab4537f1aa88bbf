//! The schema's steps, embedded, and bringing a database up to the newest. Each step is one transaction.

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AssertSqlSafe, SqlSafeStr};

/// A step: what every database reads, then SQLite's own words.
struct Step {
    name: &'static str,
    portable: &'static str,
    sqlite: &'static str,
}

/// In order; a step that was released is never changed: the database keeps a checksum of it.
const STEPS: &[Step] = &[
    Step { name: "control", portable: include_str!("../migrations/0001_control.sql"), sqlite: "" },
    Step {
        name: "audit",
        portable: include_str!("../migrations/0002_audit.sql"),
        sqlite: include_str!("../migrations/0002_audit.sqlite.sql"),
    },
];

/// The newest schema this binary knows.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// Takes the database to schema `target`, from wherever it stands.
pub(crate) async fn migrate(conn: &mut AnyConnection, target: i64) -> Result<(), MigrateError> {
    let steps = STEPS.iter().zip(1..).map(|(step, no)| {
        let sql = format!("{}\n{}", step.portable, step.sqlite);
        // The text is built of embedded files only.
        let sql = AssertSqlSafe(sql).into_sql_str();
        Migration::new(no, step.name.into(), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(steps.collect()).run_to(target, conn).await
}
