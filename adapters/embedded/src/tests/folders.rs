//! The data folder: refused to a second opener, and errors that name it.

use std::sync::Arc;

use jari_conformance::SetClock;

use super::{Bench, START};
use crate::{EmbeddedStore, OpenError};

#[test]
fn a_second_opener_is_refused_by_name_of_the_first() {
    let bench = Bench::new();
    let first = bench.open();
    let refused = bench.try_open().expect_err("in use");
    let OpenError::InUse { pid, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*pid, std::process::id().to_string());
    assert!(refused.to_string().contains("is in use by process"), "{refused}");
    drop(first);
    bench.open();
}

/// A folder under a regular file cannot be made by anybody, root included.
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let bench = Bench::new();
    let file = bench.dir.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file");
    let dir = file.join("data");
    let refused = EmbeddedStore::open(&dir, SetClock::at(START)).expect_err("no folder");
    assert!(matches!(&refused, OpenError::Folder { dir: named, .. } if *named == dir), "{refused}");
    assert!(refused.to_string().contains(&dir.display().to_string()), "{refused}");
}

/// Permission bits do not bind root: the folder is opened by a child without that power where the test has it.
#[test]
fn a_read_only_folder_is_named() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let bench = Bench::new();
    let dir = bench.dir.path();
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o555)).expect("read-only");
    let is_root = std::fs::metadata(dir).expect("the folder").uid() == 0;
    let told = if is_root {
        open_as_nobody(dir)
    } else {
        bench.try_open().expect_err("read-only").to_string()
    };
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).expect("writable again");
    assert!(told.contains(&format!("the data folder {} cannot be used", dir.display())), "{told}");
    assert!(told.contains("ermission"), "{told}");
}

const CHILD_DIR: &str = "JARI_TEST_OPEN_DIR";

fn open_as_nobody(dir: &std::path::Path) -> String {
    let this = std::env::current_exe().expect("this test binary");
    // The temporary copy is where any user may run it.
    let copy = tempfile::Builder::new().prefix("jari-test").tempdir().expect("a folder");
    std::fs::set_permissions(copy.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("open to all");
    let program = copy.path().join("embedded-tests");
    std::fs::copy(this, &program).expect("a copy");
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args([
            "--exact",
            "--nocapture",
            "--ignored",
            "tests::folders::opens_the_folder_it_is_told",
        ])
        .env(CHILD_DIR, dir)
        .output()
        .expect("setpriv of util-linux");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Not a test by itself: the child of the one above.
#[test]
#[ignore = "run by a_read_only_folder_is_named in a child process"]
#[expect(clippy::disallowed_methods, reason = "a child learns its folder from its environment")]
fn opens_the_folder_it_is_told() {
    let dir = std::env::var(CHILD_DIR).expect("the parent sets it");
    let clock: Arc<SetClock> = SetClock::at(START);
    if let Err(error) = EmbeddedStore::open(dir.as_ref(), clock) {
        println!("{error}");
    }
}
