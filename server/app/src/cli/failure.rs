//! How a command fails: one line for a person, and an exit code for a script.

use std::process::ExitCode;

use thiserror::Error;

/// Why a command did not do its work. The text says what to do.
#[derive(Debug, Error)]
pub enum Failure {
    /// It failed or was refused. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Exit code 3.
    #[error(
        "cannot reach {server}: {why}; is `jari serve` running there? Name another with --server"
    )]
    Unreachable { server: String, why: String },
    /// Exit code 4.
    #[error(
        "{0}; give an admin key with --key or JARI_ADMIN_KEY (made at the server's first start, or by `jari key create`)"
    )]
    KeyNotAccepted(String),
}

impl Failure {
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Failure::Failed(text.into())
    }

    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Failed(_) => ExitCode::from(1),
            Failure::Unreachable { .. } => ExitCode::from(3),
            Failure::KeyNotAccepted(_) => ExitCode::from(4),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Failed(format!("{error:#}"))
    }
}
