//! The records as a file: durability, permissions, what is refused and how, and copies. Queries are in the contract.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jari_ports::{AuditEntry, Control, ControlError, SigningKey, SigningKeyState};
use jari_records::{Cause, OpenError, Records};
use jari_units::Timestamp;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.db");
    (folder, file)
}

async fn open(file: &Path) -> Result<Records, OpenError> {
    Records::open(file.to_str().unwrap(), Duration::ZERO).await
}

/// The error of opening; its text names the file.
async fn refusal(file: &Path) -> OpenError {
    let error = open(file).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(file.to_str().unwrap()), "{text}");
    error
}

fn key(id: u8) -> SigningKey {
    let created_at = Timestamp(1);
    SigningKey { id, secret: [id; 32], state: SigningKeyState::Active, created_at }
}

fn entry(no: u64) -> AuditEntry {
    let text = || "x".repeat(1_000);
    AuditEntry {
        no,
        at: Timestamp(1),
        actor: "system".to_owned(),
        action: "room.create".to_owned(),
        target: "room:shop".to_owned(),
        before: text(),
        after: text(),
    }
}

/// Copies the database as a dying machine leaves it: no goodbye, the log not folded in.
fn copy_files(from: &Path, to: &Path) {
    for end in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        if name(from).exists() {
            fs::copy(name(from), name(to)).unwrap();
        }
    }
}

/// A2: what was answered is there after a crash.
#[tokio::test]
async fn an_answered_write_survives_a_crash() {
    let (folder, file) = folder();
    let records = open(&file).await.unwrap();
    for id in 0..20 {
        records.add_signing_key(key(id), entry(0)).await.unwrap();
        let crashed = folder.path().join(format!("crashed-{id}.db"));
        copy_files(&file, &crashed);
        let after = open(&crashed).await.unwrap();
        let keys = after.signing_keys().await.unwrap();
        assert_eq!(keys, (0..=id).map(key).collect::<Vec<_>>());
        after.close().await;
    }
}

#[tokio::test]
async fn a_restart_keeps_everything_and_migrates_nothing_twice() {
    let (_folder, file) = folder();
    for id in 0..3 {
        let records = open(&file).await.unwrap();
        records.add_signing_key(key(id), entry(0)).await.unwrap();
        assert_eq!(records.append_audit(entry(0)).await, Ok(2 * u64::from(id) + 2));
        records.close().await;
    }
    assert_eq!(open(&file).await.unwrap().signing_keys().await.unwrap().len(), 3);
}

#[tokio::test]
async fn addresses_are_paths_whatever_is_in_them() {
    let (folder, _) = folder();
    for name in ["plain.db", "a b?c#d%20.db", "기록.db"] {
        let file = folder.path().join(name);
        for scheme in ["", "sqlite:", "sqlite://"] {
            let address = format!("{scheme}{}", file.display());
            let records = Records::open(&address, Duration::ZERO).await.unwrap();
            records.close().await;
        }
        assert!(file.is_file(), "{name}");
    }
    for address in ["", "sqlite:", "mysql://db/jari"] {
        let error = Records::open(address, Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, OpenError::Address(_)), "{address}: {error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, file) = folder();
    let modes = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let modes = files.map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o777);
        modes.collect::<Vec<_>>()
    };
    let records = open(&file).await.unwrap();
    records.add_signing_key(key(1), entry(0)).await.unwrap();
    assert_eq!(modes(), [0o600; 3], "the database, -wal and -shm");
    records.close().await;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let records = open(&file).await.unwrap();
    records.add_signing_key(key(2), entry(0)).await.unwrap();
    assert_eq!(modes(), [0o600; 3], "after somebody opened them up");
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let (folder, _) = folder();
    let missing = folder.path().join("missing");
    let error = open(&missing.join("records.db")).await.unwrap_err();
    assert!(matches!(&error, OpenError::FolderMissing(named) if *named == missing), "{error}");
}

#[tokio::test]
async fn a_folder_in_the_files_place_is_refused() {
    let (folder, _) = folder();
    let error = refusal(folder.path()).await;
    assert!(matches!(error, OpenError::Database { cause: Cause::CannotOpen, .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let (_folder, file) = folder();
    let text = "not a database. ".repeat(1_000);
    fs::write(&file, &text).unwrap();
    let error = refusal(&file).await;
    assert!(matches!(error, OpenError::Database { cause: Cause::NotADatabase, .. }), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn damage_is_told_with_the_files_name() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    records.add_signing_key(key(1), entry(0)).await.unwrap();
    records.close().await;
    let mut bytes = fs::read(&file).unwrap();
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    bytes[page..].fill(0xee);
    fs::write(&file, bytes).unwrap();
    let error = refusal(&file).await;
    assert!(matches!(error, OpenError::Database { cause: Cause::Corrupt(_), .. }), "{error}");
}

#[tokio::test]
async fn damage_met_in_use_is_told_with_the_files_name() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    for no in 0..50 {
        records.append_audit(entry(no)).await.unwrap();
    }
    records.close().await;
    let mut bytes = fs::read(&file).unwrap();
    let texts: Vec<_> = bytes.windows(64).enumerate().filter(|(_, at)| *at == [b'x'; 64]).collect();
    // The first page of the trail is broken at its head; the audit is not read through at the start.
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let start = texts[0].0 / page * page;
    bytes[start..start + 64].fill(0xee);
    fs::write(&file, bytes).unwrap();
    let records = open(&file).await.unwrap();
    let error = records.audit(None, None, 200).await.unwrap_err();
    let ControlError::Unavailable(text) = error else { panic!("{error}") };
    assert!(text.contains(file.to_str().unwrap()) && text.contains("damaged"), "{text}");
}

#[tokio::test]
async fn a_backup_of_running_records_is_whole_and_private() {
    let (folder, file) = folder();
    let to = folder.path().join("copy 1.db");
    let records = open(&file).await.unwrap();
    records.add_signing_key(key(1), entry(0)).await.unwrap();
    Records::backup(&file, &to).await.unwrap();
    records.add_signing_key(key(2), entry(0)).await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let copy = open(&to).await.unwrap();
    assert_eq!(copy.signing_keys().await.unwrap(), [key(1)]);
    copy.add_signing_key(key(3), entry(0)).await.unwrap();
    assert_eq!(records.signing_keys().await.unwrap(), [key(1), key(2)]);
}

#[tokio::test]
async fn a_backup_of_stopped_records_is_whole() {
    let (folder, file) = folder();
    let to = folder.path().join("copy.db");
    let records = open(&file).await.unwrap();
    records.add_signing_key(key(1), entry(0)).await.unwrap();
    records.close().await;
    Records::backup(&file, &to).await.unwrap();
    assert_eq!(open(&to).await.unwrap().signing_keys().await.unwrap(), [key(1)]);
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_leaves_nothing_half() {
    let (folder, file) = folder();
    let to = folder.path().join("copy.db");
    let error = Records::backup(&file, &to).await.unwrap_err();
    assert!(matches!(error, OpenError::FileMissing(_)), "{error}");
    assert!(!file.exists() && !to.exists());

    fs::write(&file, "not a database. ".repeat(1_000)).unwrap();
    let error = Records::backup(&file, &to).await.unwrap_err();
    assert!(matches!(error, OpenError::Database { cause: Cause::NotADatabase, .. }), "{error}");
    assert!(!to.exists());

    fs::write(&to, "precious").unwrap();
    let error = Records::backup(&file, &to).await.unwrap_err();
    assert!(matches!(error, OpenError::FileExists(_)), "{error}");
    assert_eq!(fs::read_to_string(&to).unwrap(), "precious");
}
