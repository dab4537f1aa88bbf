//! What went wrong with a call, and how it is told: to callers as `StoreError`, to operators as what to look at.

use jari_ports::StoreError;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use thiserror::Error;

/// Why a store cannot be opened at all.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{url} is not an address of a Redis store: {problem}")]
    Address { url: String, problem: String },
    #[error("the key prefix {0:?} must be 1 to 64 letters, digits, '-', '_', '.' or ':'")]
    Prefix(String),
    #[error("the subscriber's task cannot be started outside of a Tokio runtime")]
    NoRuntime,
    #[error("{0}; waiting does not mend that")]
    Refused(String),
}

/// A call that brought no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) text: String,
    /// The connection is of no more use: the next call makes a new one.
    pub(crate) connection_lost: bool,
    /// The server did not come to answer at all, so it counts against it.
    pub(crate) unanswered: bool,
    /// It took its time: neither an answer nor a refusal came by the deadline.
    pub(crate) silent: bool,
    /// The server does not let this node do it: its ACL says so, or it takes no writes.
    pub(crate) barred: bool,
    /// It will be the same until somebody changes the configuration.
    pub(crate) lasting: bool,
}

impl Failure {
    /// Nothing was heard by the deadline.
    pub(crate) fn silence(text: String) -> Self {
        Failure {
            text,
            connection_lost: true,
            unanswered: true,
            silent: true,
            barred: false,
            lasting: false,
        }
    }

    /// The server answered, but nothing that a script of this release answers.
    pub(crate) fn odd_answer(what: &str) -> Self {
        let text =
            format!("it answered {what}, which no release of Jari does: is it the right server?");
        Failure {
            text,
            connection_lost: false,
            unanswered: false,
            silent: false,
            barred: false,
            lasting: false,
        }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        let said = error.to_string();
        // rustls says so of every certificate that is not of this name, or that nobody trusted vouches for.
        let lasting = is_refused_user(&error) || said.contains("invalid peer certificate");
        let barred = is_refused_in_script(&said)
            || matches!(
                error.kind(),
                ErrorKind::Server(ServerErrorKind::NoPerm | ServerErrorKind::ReadOnly)
            );
        let text = match (error.kind(), error.code()) {
            (_, Some("OOM")) => format!(
                "it is at its maxmemory, newcomers get no place ({said}); raise maxmemory or free memory"
            ),
            (_, Some("MISCONF")) => {
                format!(
                    "it refuses writes since it cannot save ({said}); look at its disk and its log"
                )
            }
            _ if is_refused_user(&error) => {
                format!("it refused the user or password ({said})")
            }
            (ErrorKind::Server(ServerErrorKind::NoPerm), _) => {
                format!("its ACL does not let this user do what Jari needs ({said})")
            }
            // What a script may not do is told in the words of the script's failure.
            _ if is_refused_in_script(&said) => {
                format!("its ACL does not let this user do what Jari's scripts need ({said})")
            }
            (ErrorKind::Server(ServerErrorKind::ReadOnly), _) => {
                format!("it is a replica now ({said}); the new primary is looked for")
            }
            _ => said,
        };
        let server = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
        let moved = matches!(
            error.kind(),
            ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown)
        );
        let dropped = error.is_unrecoverable_error() || error.is_connection_dropped();
        let silent = !server && error.is_timeout();
        Failure {
            text,
            connection_lost: moved || (dropped && !server),
            unanswered: !server,
            silent,
            barred,
            lasting,
        }
    }
}

/// Redis 7.0 says it otherwise than later ones, and does not name the command.
fn is_refused_in_script(said: &str) -> bool {
    said.contains("ACL failure in script") || said.contains("The user executing the script can't")
}

/// Also where a client wraps what the server said, as that of a Cluster does.
fn is_refused_user(error: &RedisError) -> bool {
    let code = error.code();
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(code, Some("WRONGPASS" | "NOAUTH"))
        || ["WRONGPASS", "NOAUTH", "AuthenticationFailed"]
            .iter()
            .any(|word| error.to_string().contains(word))
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure.silent {
            true => StoreError::Silent(failure.text),
            false => StoreError::Unavailable(failure.text),
        }
    }
}
