//! The schema's steps, embedded, and bringing a database up to the newest. Each step is one transaction.

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AssertSqlSafe, SqlSafeStr};

use crate::chaining;

/// Whose words a step may have beside those that every database reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A step: what every database reads, then the words of one.
struct Step {
    name: &'static str,
    portable: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

/// In order; a step that was released is never changed: the database keeps a checksum of it.
const STEPS: &[Step] = &[
    Step {
        name: "control",
        portable: include_str!("../migrations/0001_control.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "audit",
        portable: include_str!("../migrations/0002_audit.sql"),
        sqlite: include_str!("../migrations/0002_audit.sqlite.sql"),
        postgres: include_str!("../migrations/0002_audit.postgres.sql"),
    },
    Step {
        name: "revision",
        portable: include_str!("../migrations/0003_revision.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "chain",
        portable: include_str!("../migrations/0004_chain.sql"),
        sqlite: include_str!("../migrations/0004_chain.sqlite.sql"),
        postgres: include_str!("../migrations/0004_chain.postgres.sql"),
    },
    Step {
        name: "chained",
        portable: include_str!("../migrations/0005_chained.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "tenants",
        portable: include_str!("../migrations/0006_tenants.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "sites",
        portable: include_str!("../migrations/0007_sites.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "nodes",
        portable: include_str!("../migrations/0008_nodes.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        name: "challenge",
        portable: include_str!("../migrations/0009_challenge.sql"),
        sqlite: "",
        postgres: "",
    },
];

/// The newest schema this binary knows.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// The step after which older entries of the trail are chained: no SQL that both databases read makes a hash.
const CHAIN: i64 = 4;

/// From this schema on every entry of the trail is chained.
pub(crate) const CHAINED: i64 = 5;

/// Takes the database to schema `target`, from wherever it stands. Of several processes one does it, the others wait, by
/// PostgreSQL's advisory lock, which is held over all of it: the migrator takes it once more, and a session that has it may.
/// A SQLite file has one process.
pub(crate) async fn migrate(
    conn: &mut AnyConnection,
    dialect: Dialect,
    target: i64,
) -> Result<(), MigrateError> {
    conn.lock().await?;
    let migrator = migrator(dialect);
    migrator.run_to(target.min(CHAIN), &mut *conn).await?;
    if target > CHAIN {
        chaining::chain_older(&mut *conn, dialect).await?;
        migrator.run_to(target, &mut *conn).await?;
    }
    conn.unlock().await
}

fn migrator(dialect: Dialect) -> Migrator {
    let steps = STEPS.iter().zip(1..).map(|(step, no)| {
        let own = match dialect {
            Dialect::Sqlite => step.sqlite,
            Dialect::Postgres => step.postgres,
        };
        // The text is built of embedded files only.
        let sql = AssertSqlSafe(format!("{}\n{own}", step.portable)).into_sql_str();
        Migration::new(no, step.name.into(), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(steps.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables, columns and indexes are told once, in the words that both read.
    #[test]
    fn what_one_database_alone_reads_makes_no_table() {
        for step in STEPS {
            for own in [step.sqlite, step.postgres] {
                for word in ["TABLE ", "INDEX", "INSERT"] {
                    assert!(!own.contains(word), "{}: {word} in {own}", step.name);
                }
            }
            assert_eq!(
                step.sqlite.is_empty(),
                step.postgres.is_empty(),
                "{}: what one database needs words of its own for, the other does too",
                step.name
            );
        }
    }
}
