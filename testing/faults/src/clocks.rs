//! A node whose clock is wrong from its start: Debian's libfaketime, loaded before the program. Steady clocks stay as they
//! are, as on a machine whose time of day is set wrong.

use jari_servers::fake_clock;

/// What a program is started with whose clock is off by so many seconds; nothing where it is right.
pub(crate) fn off_by(seconds: i64) -> Vec<(String, String)> {
    let pairs = [
        ("LD_PRELOAD", fake_clock()),
        ("FAKETIME", format!("{seconds:+}")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    if seconds == 0 { Vec::new() } else { pairs.into() }
}
