//! Damaged, foreign and newer files: an error that names the file and the place, never a guess.

use jari_line::JoinOutcome;
use jari_ports::LineStore;
use jari_units::Mark;

use super::{Bench, checkpoints_written, create, join, subjects};
use crate::OpenError;

/// A store of one room with 30 events, the first 20 or so in a checkpoint where `events` says so.
async fn filled(bench: &Bench) {
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..30 {
        join(&store, &id, number).await;
    }
    if bench.tuning.checkpoint_events < 30 {
        checkpoints_written(&store, 1).await;
        store.join(&id, Mark::NONE, subjects(30..40)).await.expect("it answers");
    }
}

fn refused(bench: &Bench) -> OpenError {
    bench.try_open().expect_err("the files are not sound")
}

#[track_caller]
fn assert_corrupt(error: &OpenError, file: &str, place: &str) {
    let OpenError::Corrupt { file: named, place: at, .. } = error else { panic!("{error}") };
    assert!(named.ends_with(file), "{error}");
    assert!(at.contains(place), "{error}");
    assert!(error.to_string().contains("restore a backup"), "{error}");
}

#[tokio::test]
async fn one_changed_byte_in_a_row_is_found() {
    let bench = Bench::new();
    filled(&bench).await;
    let changed = bench
        .sqlite("journal.db")
        .execute(
            "UPDATE journal SET body = CAST(substr(body, 1, 5) || x'ff' || substr(body, 7) AS BLOB) WHERE event_no = 7",
            [],
        )
        .expect("the row");
    assert_eq!(changed, 1);
    let error = refused(&bench);
    assert_corrupt(&error, "journal.db", "table journal, room shop, event 7");
}

#[tokio::test]
async fn a_missing_row_is_found() {
    let bench = Bench::new();
    filled(&bench).await;
    let delete = "DELETE FROM journal WHERE event_no = 12";
    bench.sqlite("journal.db").execute(delete, []).expect("the row");
    let error = refused(&bench);
    assert_corrupt(&error, "journal.db", "event 13");
    assert!(error.to_string().contains("event 12 is missing"), "{error}");
}

#[tokio::test]
async fn a_row_moved_to_another_room_is_found() {
    let bench = Bench::new();
    filled(&bench).await;
    let journal = bench.sqlite("journal.db");
    journal.execute("UPDATE journal SET room = 'other'", []).expect("the rows");
    journal.execute("UPDATE room SET id = 'other'", []).expect("the row");
    assert_corrupt(&refused(&bench), "journal.db", "room other, event 1");
}

#[tokio::test]
async fn a_page_overwritten_on_the_disk_is_found() {
    let bench = Bench::new();
    filled(&bench).await;
    let file = bench.dir.path().join("journal.db");
    let mut bytes = std::fs::read(&file).expect("the file");
    // The b-tree page of the journal's rows, past its header.
    let at = bytes.windows(4).rposition(|four| four == b"shop").expect("a row names its room");
    bytes[at] ^= 0x20;
    std::fs::write(&file, bytes).expect("the file");
    assert!(matches!(refused(&bench), OpenError::Corrupt { .. }));
}

#[tokio::test]
async fn a_truncated_checkpoint_is_found() {
    let bench = Bench::checkpointing(20);
    filled(&bench).await;
    let cut = "UPDATE part SET body = substr(body, 1, length(body) / 2)";
    assert_eq!(bench.sqlite("checkpoints.db").execute(cut, []).expect("the part"), 1);
    assert_corrupt(&refused(&bench), "checkpoints.db", "part 0");
}

#[tokio::test]
async fn a_missing_part_and_a_missing_file_of_checkpoints_are_found() {
    let bench = Bench::checkpointing(20);
    filled(&bench).await;
    bench.sqlite("checkpoints.db").execute("DELETE FROM part", []).expect("the part");
    assert_corrupt(&refused(&bench), "checkpoints.db", "part 0");
    std::fs::remove_file(bench.dir.path().join("checkpoints.db")).expect("the file");
    let error = refused(&bench);
    assert_corrupt(&error, "journal.db", "room shop");
    assert!(error.to_string().contains("has no checkpoint of the room"), "{error}");
}

/// An empty journal made in its place would lose everybody's place and tell nobody.
#[tokio::test]
async fn a_missing_or_empty_journal_beside_checkpoints_is_found() {
    let bench = Bench::checkpointing(20);
    filled(&bench).await;
    let (file, away) = (bench.dir.path().join("journal.db"), bench.dir.path().join("away"));
    std::fs::rename(&file, &away).expect("the file");
    for empty in [false, true] {
        if empty {
            std::fs::write(&file, "").expect("a file");
        }
        let error = refused(&bench);
        assert!(matches!(&error, OpenError::Missing { file: named, .. } if *named == file));
        assert!(error.to_string().contains("checkpoints.db"), "{error}");
    }
    std::fs::rename(&away, &file).expect("the file");
    assert_eq!(join(&bench.open(), &super::room("shop"), 3).await, JoinOutcome::Waiting { seq: 4 });
}

#[tokio::test]
async fn formats_of_another_build_are_refused() {
    for (file, change) in [
        ("journal.db", "PRAGMA user_version = 9"),
        ("checkpoints.db", "PRAGMA user_version = 9"),
        ("journal.db", "UPDATE journal SET format = 9 WHERE event_no = 29"),
        ("checkpoints.db", "UPDATE checkpoint SET format = 9"),
    ] {
        let bench = Bench::checkpointing(20);
        filled(&bench).await;
        bench.sqlite(file).execute_batch(change).expect("the change");
        let error = refused(&bench);
        let OpenError::Version { file: named, found: 9, known: 1..=3 } = &error else {
            panic!("{change}: {error}")
        };
        assert!(named.ends_with(file), "{error}");
    }
}

#[tokio::test]
async fn a_foreign_file_is_left_alone() {
    let bench = Bench::new();
    let file = bench.dir.path().join("journal.db");
    std::fs::write(&file, "someone's notes, longer than the header of a database ".repeat(40))
        .expect("a file");
    assert!(matches!(refused(&bench), OpenError::Foreign { .. }));
    std::fs::remove_file(&file).expect("the file");
    bench.sqlite("journal.db").execute_batch("CREATE TABLE notes (text)").expect("a database");
    let error = refused(&bench);
    assert!(matches!(&error, OpenError::Foreign { .. }), "{error}");
    let tables: i64 = bench
        .sqlite("journal.db")
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .expect("it is untouched");
    assert_eq!(tables, 1);
}
