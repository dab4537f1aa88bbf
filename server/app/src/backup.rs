//! A consistent copy of a data folder: the line's journal and checkpoints, then the records, where they are in it. Each
//! part is read back.

use std::path::Path;
use std::time::Duration;

use jari_embedded::BackupError;
use jari_records::Records;

use crate::cli::Failure;
use crate::records::{ELSEWHERE_FILE, RECORDS_FILE, elsewhere};

/// Copies the data folder `from` to the new folder `to`, or its records alone; `say` is told each step.
///
/// The line is copied before the records: a room made in between is then in the records and made anew in the line, empty
/// as it was; the other way round, the line would hold a room that nobody has defined.
pub(crate) async fn copy(
    from: &Path,
    to: &Path,
    records_only: bool,
    say: impl Fn(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if to.exists() {
        let text = format!(
            "{} exists; name a folder that does not, so that no copy is lost",
            to.display()
        );
        return Err(Failure::failed(text));
    }
    let place = elsewhere(from).map_err(|error| Failure::failed(error.to_string()))?;
    if records_only && let Some(place) = place {
        return Err(Failure::failed(format!(
            "there is nothing to copy: the lines are on Redis, the records on {place}; back both up there"
        )));
    }
    if records_only {
        say("the lines are not copied: they are on Redis, which has its own ways")?;
        let made = std::fs::create_dir_all(to);
        made.map_err(|error| Failure::failed(format!("{} cannot be made: {error}", to.display())))?;
    } else {
        lines(from, to, &say)?;
    }
    let copied = match &place {
        None => records(&from.join(RECORDS_FILE), &to.join(RECORDS_FILE)).await,
        Some(_) => note(from, to),
    };
    if let Err(failure) = copied {
        // Half a copy looks like a whole one: better none. That it stays is told by the next try.
        let _ = std::fs::remove_dir_all(to);
        return Err(failure);
    }
    if let Some(place) = place {
        say(&format!(
            "the records are on {place} and NOT in this copy: back them up there, with pg_dump"
        ))?;
        return say(&format!("{} is the line only; it needs these records", to.display()));
    }
    say("the records are copied and were read back")?;
    say(&format!("{} is a complete data folder", to.display()))
}

fn lines(
    from: &Path,
    to: &Path,
    say: &impl Fn(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    say(&format!("copying the line's journal and checkpoints from {}", from.display()))?;
    jari_embedded::backup(from, to).map_err(|error| {
        let hint = match error {
            BackupError::NoStore { .. } if from.join(RECORDS_FILE).is_file() => {
                "; where the lines are on Redis, say --records-only"
            }
            _ => "",
        };
        Failure::failed(format!("{error}{hint}"))
    })?;
    say("the journal and checkpoints are copied and were read back")
}

async fn records(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: jari_records::OpenError| Failure::failed(error.to_string());
    Records::backup(from, to).await.map_err(failed)?;
    let copy = Records::open(&to.display().to_string(), Duration::ZERO).await.map_err(failed)?;
    copy.close().await;
    Ok(())
}

/// The copy belongs to the same server's records.
fn note(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = std::fs::copy(from.join(ELSEWHERE_FILE), to.join(ELSEWHERE_FILE));
    copied.map(|_| ()).map_err(|error| Failure::failed(format!("{ELSEWHERE_FILE}: {error}")))
}
