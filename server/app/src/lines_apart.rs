//! Whether the other nodes of the same records have other lines, asked of both servers as a start would find it: for
//! `jari check`. Changes nothing there.

use std::time::Duration;

use jari_config::Config;
use jari_ports::{Clock, NodeNote};
use jari_records::{OpenError, nodes_in_file, nodes_on_server};

use crate::SystemClock;
use crate::lines::shared;
use crate::records::RECORDS_FILE;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing wrong.
    Fits,
    /// A start would be refused, or wait; the text says why, and until when.
    Wrong(String),
    /// Who did not answer: what only that one knows was not checked.
    Unknown(String),
}

/// Asks once. Nobody is asked where no other node can share the lines.
pub(crate) async fn find(config: &Config) -> Found {
    let store = match shared(config) {
        Ok(None) => return Found::Fits,
        Ok(Some(store)) => store,
        Err(error) => return Found::Wrong(error.to_string()),
    };
    let away = match store.greet().await {
        Ok(away) => away,
        Err(error) => return Found::Wrong(format!("store.url: {error}")),
    };
    let notes = match notes(config).await {
        Ok(notes) => notes,
        Err(OpenError::Database { place, cause }) if cause.may_pass() => {
            return Found::Unknown(format!("records.url: {place}: {cause}"));
        }
        Err(error) => return Found::Wrong(format!("records.url: {error}")),
    };
    if let Some(error) = away {
        return Found::Unknown(format!("store.url: {error}"));
    }
    let (place, lines) = match store.lines().await {
        Ok(lines) => lines,
        Err(error) => return Found::Unknown(format!("store.url: {error}")),
    };
    match jari_http::lines_apart(&place, lines, &notes, SystemClock.now()) {
        Some(text) => Found::Wrong(text),
        None => Found::Fits,
    }
}

async fn notes(config: &Config) -> Result<Vec<NodeNote>, OpenError> {
    if let Some(url) = &config.records.url {
        return nodes_on_server(url.with_password(), Duration::ZERO).await;
    }
    let file = config.store.data_dir.join(RECORDS_FILE);
    match nodes_in_file(&file).await {
        // Its first start makes it.
        Err(OpenError::FileMissing(_)) => Ok(Vec::new()),
        notes => notes,
    }
}
