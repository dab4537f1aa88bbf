//! The limit of file sizes (`ulimit -f`): told by the write that meets it, instead of ending the process.

/// Lets a write beyond the limit fail as one on a full disk does: callers are told, and nothing acknowledged is lost.
#[cfg(unix)]
pub(crate) fn survive_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    /// SIGXFSZ on Linux, macOS and the BSDs; it ends a process that listens to none.
    const FILE_SIZE_EXCEEDED: i32 = 25;
    // Nobody waits for it: that there is a listener is enough, and it stays for the life of the process.
    if let Err(error) = signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED)) {
        tracing::warn!(%error, "a file that meets its size limit will end the process: {error}");
    }
}

#[cfg(not(unix))]
pub(crate) fn survive_limit() {}
