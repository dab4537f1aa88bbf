//! Where the control data is: in a file of the data folder, or on a database server. Which of the two a folder belongs to
//! is kept in the folder, so that nobody starts it with the other by a slip.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jari_config::Config;
use jari_http::Starting;
use jari_ports::{Control, ControlError, LineStore, StoreError};
use jari_records::Records;
use thiserror::Error;

use crate::lines::Lines;
use crate::store_wait::until_it_answers;

/// The control data's file in the data folder.
pub(crate) const RECORDS_FILE: &str = "records.db";

/// Names the server that holds the folder's records instead; without a password.
pub(crate) const ELSEWHERE_FILE: &str = "records.elsewhere";

/// Why there are no records to serve with; the text says what to do.
#[derive(Debug, Error)]
pub enum RecordsError {
    #[error(transparent)]
    Open(#[from] jari_records::OpenError),
    #[error(
        "{} is missing, but there are rooms in the line beside it, which its keys belong to; put it back or restore a backup. To begin anew, choose another data folder",
        .0.display()
    )]
    Missing(PathBuf),
    #[error(
        "the records of {} are on {place}: set records.url, or choose another data folder",
        .folder.display()
    )]
    Elsewhere { folder: PathBuf, place: String },
    #[error(
        "records.url names {place}, but {} holds this folder's records; choose another data folder, or leave records.url out",
        .file.display()
    )]
    Here { file: PathBuf, place: String },
    #[error(
        "{place} is empty, but there are rooms in the line of {}, which its keys belong to; name the right database or restore its backup. To begin anew, choose another data folder",
        .folder.display()
    )]
    Empty { folder: PathBuf, place: String },
    #[error("{}: {source}", .file.display())]
    File { file: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Line(#[from] StoreError),
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// Whether the records' address can be one.
///
/// # Errors
/// As [`open`]'s.
pub(crate) fn check(config: &Config) -> Result<(), RecordsError> {
    match &config.records.url {
        Some(url) => Ok(Records::check_server(url.with_password())?),
        None => Ok(()),
    }
}

/// Opens the records that belong to the configuration and its data folder.
/// Where the line is elsewhere, rooms in it say nothing about this folder.
pub(crate) async fn open(
    config: &Config,
    lines: &Lines,
    starting: &Starting,
) -> Result<Records, RecordsError> {
    let folder = &config.store.data_dir;
    let line = &*lines.port();
    match &config.records.url {
        None => in_folder(folder, lines.are_here().then_some(line)).await,
        Some(url) => {
            let wait = Duration::from_millis(config.records.start_wait.0);
            on_server(folder, url.with_password(), wait, (line, starting)).await
        }
    }
}

async fn in_folder(folder: &Path, line: Option<&dyn LineStore>) -> Result<Records, RecordsError> {
    let file = folder.join(RECORDS_FILE);
    if let Some(place) = elsewhere(folder)? {
        return Err(RecordsError::Elsewhere { folder: folder.to_owned(), place });
    }
    // A first start that was interrupted has no rooms yet.
    if let Some(line) = line.filter(|_| !holds_something(&file))
        && !line.rooms().await?.is_empty()
    {
        return Err(RecordsError::Missing(file));
    }
    Ok(Records::open(&file.display().to_string(), Duration::ZERO).await?)
}

async fn on_server(
    folder: &Path,
    address: &str,
    wait: Duration,
    (line, starting): (&dyn LineStore, &Starting),
) -> Result<Records, RecordsError> {
    let records = Records::open_telling(address, wait, |text| starting.waits_for(text)).await?;
    starting.goes_on();
    let (place, file) = (records.place().to_owned(), folder.join(RECORDS_FILE));
    if holds_something(&file) {
        return Err(RecordsError::Here { file, place });
    }
    // Empty ones may be of another installation than the line, which alone can tell: it is waited for.
    let begins = records.signing_keys().await?.is_empty();
    let rooms =
        || until_it_answers(starting, "a first start", StoreError::is_away, || line.rooms());
    if begins && !rooms().await?.is_empty() {
        return Err(RecordsError::Empty { folder: folder.to_owned(), place });
    }
    let file = folder.join(ELSEWHERE_FILE);
    std::fs::write(&file, format!("{place}\n"))
        .map_err(|source| RecordsError::File { file, source })?;
    Ok(records)
}

/// The server that holds a data folder's records, where it is not the folder itself.
pub(crate) fn elsewhere(folder: &Path) -> Result<Option<String>, RecordsError> {
    let file = folder.join(ELSEWHERE_FILE);
    match std::fs::read_to_string(&file) {
        Ok(place) => Ok(Some(place.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RecordsError::File { file, source }),
    }
}

fn holds_something(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|file| file.len() > 0)
}
