//! The records, whichever database holds them, and the limits that hold for both. How each is opened is in its own file.

use std::path::Path;
use std::time::Duration;

use jari_ports::ControlError;
use sqlx::AnyPool;

use crate::failure::OpenError;
use crate::pool::Calls;
use crate::server_address::ServerAddress;
use crate::sqlite::Connecting;

/// Connections at most. Control data is read at start and written by operators: a few calls at once.
pub(crate) const CONNECTIONS_MAX: u32 = 4;

/// How long a call waits for a free connection: below a request's deadline, so that the reason can still be told.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest that a call may take in all, also with a server that has gone silent: below a request's 7 s.
const CALL_MAX: Duration = Duration::from_secs(6);

/// Control data in one database.
#[derive(Clone, Debug)]
pub struct Records {
    pub(crate) pool: AnyPool,
    /// How the database is called in errors; without a password.
    pub(crate) place: String,
    pub(crate) calls: Calls,
}

impl Records {
    /// Opens the database at `address` and brings its schema up to date: `postgres://USER@HOST/DATABASE`, or
    /// `sqlite:PATH` or just a path. A file is made where it is missing; a server is waited for at most `server_wait`.
    ///
    /// # Errors
    /// Each names the database and what to do about it.
    pub async fn open(address: &str, server_wait: Duration) -> Result<Records, OpenError> {
        Records::open_telling(address, server_wait, |_| {}).await
    }

    /// The same, telling for people what is waited for, as soon as it is and whenever it is another thing.
    ///
    /// # Errors
    /// As [`Records::open`].
    pub async fn open_telling(
        address: &str,
        server_wait: Duration,
        told: impl Fn(&str) + Sync,
    ) -> Result<Records, OpenError> {
        if ServerAddress::is_one(address) {
            return Records::open_server(&ServerAddress::parse(address)?, server_wait, &told).await;
        }
        let path = address.strip_prefix("sqlite://").or_else(|| address.strip_prefix("sqlite:"));
        let path = path.unwrap_or(address);
        if path.is_empty() || path.contains("://") {
            return Err(OpenError::Address("that is no address of records".to_owned()));
        }
        Records::open_file(Path::new(path), Connecting::default()).await
    }

    /// Whether [`open`](Records::open) could take the address of a server; asks nobody.
    ///
    /// # Errors
    /// [`OpenError::Address`] with what is wrong.
    pub fn check_server(address: &str) -> Result<(), OpenError> {
        ServerAddress::parse(address).map(|_| ())
    }

    /// How the database is called: a file's path, or a server's address without password.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Ends all connections; the last one of a file folds the write-ahead log into it.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Bounds a call. A write that ran out of time may have been written all the same: whoever asked looks again.
    pub(crate) async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, ControlError>>,
    ) -> Result<T, ControlError> {
        let answer = tokio::time::timeout(CALL_MAX, self.counted(call)).await;
        answer.unwrap_or_else(|_| {
            let text = format!("{}: no answer within {CALL_MAX:?}", self.place);
            Err(ControlError::Unavailable(text))
        })
    }
}
