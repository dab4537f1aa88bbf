//! Where log lines go and how they look: text for people, JSON for machines, on the standard error.

use std::io::{IsTerminal, stderr};

use jari_config::{Log, LogFormat};
use thiserror::Error;
use tracing_subscriber::EnvFilter;

#[derive(Debug, Error)]
pub(crate) enum LoggingError {
    #[error("log.level is not understood: {0}")]
    Level(String),
    #[error("logging cannot be started: {0}")]
    Start(String),
}

/// Starts logging for the whole process.
pub(crate) fn start(log: &Log) -> Result<(), LoggingError> {
    let filter =
        EnvFilter::try_new(&log.level).map_err(|error| LoggingError::Level(error.to_string()))?;
    let json = match log.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !stderr().is_terminal(),
    };
    // Standard output belongs to the command's answer.
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    let started = if json {
        lines.json().flatten_event(true).with_current_span(false).try_init()
    } else {
        lines.with_ansi(stderr().is_terminal()).try_init()
    };
    started.map_err(|error| LoggingError::Start(error.to_string()))
}
