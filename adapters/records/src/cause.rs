//! What a database refused, in an operator's words: by SQLite's result codes and PostgreSQL's SQLSTATE.

use std::fmt;
use std::io::ErrorKind;

use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

/// What a database refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    NotADatabase,
    Corrupt(String),
    Locked,
    Full,
    ReadOnly,
    CannotOpen,
    /// A server that does not answer, or not in time.
    Unreachable(String),
    /// A server that starts, stops, or has all its connections used.
    Busy(String),
    /// The user or the password.
    Credentials(String),
    DatabaseMissing(String),
    Rights(String),
    /// A standby, which only reads.
    Standby,
    Tls(String),
    Other(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::NotADatabase => {
                f.write_str("the file is not a database: restore a backup, or move it away")
            }
            Cause::Corrupt(what) => {
                write!(f, "the data is damaged ({what}): stop Jari and restore a backup")
            }
            Cause::Locked => f.write_str("another process holds the database locked: stop it"),
            Cause::Full => f.write_str("the disk is full: free some space"),
            Cause::ReadOnly => f.write_str("the file or its folder is read-only: allow writing"),
            Cause::CannotOpen => {
                f.write_str("the file cannot be opened: check its folder, permissions and disk")
            }
            Cause::Unreachable(what) => {
                write!(f, "the server is not reached ({what}): start it, or mend the address")
            }
            Cause::Busy(what) => write!(f, "the server takes no connection now ({what})"),
            Cause::Credentials(what) => {
                write!(
                    f,
                    "the server refuses the user or password ({what}): check both, and its pg_hba.conf"
                )
            }
            Cause::DatabaseMissing(what) => {
                write!(f, "the database is missing ({what}): make it with createdb")
            }
            Cause::Rights(what) => {
                write!(f, "the user may not do that ({what}): make it the owner of the database")
            }
            Cause::Standby => {
                f.write_str("the server only reads, as a standby does: name the primary")
            }
            Cause::Tls(what) => {
                write!(f, "no TLS connection ({what}): check sslmode and sslrootcert")
            }
            Cause::Other(text) => f.write_str(text),
        }
    }
}

/// SQLite's primary result codes (sqlite.org/rescode.html); an extended code has the primary one in its low byte.
mod sqlite {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
}

impl From<&sqlx::Error> for Cause {
    fn from(error: &sqlx::Error) -> Cause {
        match error {
            sqlx::Error::Decode(what) => Cause::Corrupt(what.to_string()),
            // What rustls refuses comes as bytes that it cannot take.
            sqlx::Error::Io(what) if what.kind() == ErrorKind::InvalidData => {
                Cause::Tls(what.to_string())
            }
            sqlx::Error::Io(what) => Cause::Unreachable(what.to_string()),
            sqlx::Error::Tls(what) => Cause::Tls(what.to_string()),
            sqlx::Error::PoolTimedOut => Cause::Unreachable("no free connection in time".into()),
            other => by_code(other).unwrap_or_else(|| Cause::Other(other.to_string())),
        }
    }
}

fn by_code(error: &sqlx::Error) -> Option<Cause> {
    let error = error.as_database_error()?;
    if let Some(postgres) = error.try_downcast_ref::<PgDatabaseError>() {
        return by_sqlstate(postgres.code(), postgres.message());
    }
    error.try_downcast_ref::<SqliteError>()?;
    by_result_code(error.code()?.parse().ok()?)
}

fn by_result_code(code: i32) -> Option<Cause> {
    Some(match code & 0xff {
        sqlite::BUSY | sqlite::LOCKED => Cause::Locked,
        sqlite::READONLY => Cause::ReadOnly,
        sqlite::CORRUPT => Cause::Corrupt("a page cannot be read".to_owned()),
        sqlite::FULL => Cause::Full,
        sqlite::CANTOPEN => Cause::CannotOpen,
        sqlite::NOTADB => Cause::NotADatabase,
        _ => return None,
    })
}

/// PostgreSQL's documentation, appendix A: by class (the first two) where the class says enough.
fn by_sqlstate(code: &str, message: &str) -> Option<Cause> {
    let told = || message.to_owned();
    Some(match code {
        "28P01" | "28000" => Cause::Credentials(told()),
        "3D000" => Cause::DatabaseMissing(told()),
        "42501" => Cause::Rights(told()),
        "25006" => Cause::Standby,
        "53100" => Cause::Full,
        "53300" => Cause::Busy(told()),
        "55P03" => Cause::Locked,
        "57014" => Cause::Unreachable("the statement took too long".to_owned()),
        "XX001" | "XX002" => Cause::Corrupt(told()),
        _ if code.starts_with("57P") => Cause::Busy(told()),
        _ if code.starts_with("08") => Cause::Unreachable(told()),
        _ => return None,
    })
}

impl Cause {
    /// Whether it may pass by itself while a server starts or a network heals.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Cause::Unreachable(_) | Cause::Busy(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_heal_by_itself_is_waited_for() {
        for (code, waits) in [
            ("57P03", true),  // the server is starting up
            ("57P01", true),  // it shuts down
            ("53300", true),  // too many clients
            ("08006", true),  // the connection broke
            ("28P01", false), // wrong password
            ("3D000", false), // no such database
            ("42501", false), // no rights
            ("25006", false), // a standby
        ] {
            let cause = by_sqlstate(code, "as told").expect("a known code");
            assert_eq!(cause.may_pass(), waits, "{code}: {cause}");
        }
        assert_eq!(by_sqlstate("42P01", "no table"), None);
    }
}
