//! How many files the process may open: each connection is one. Raises the limit as far as it may without rights.

/// Assumed where the limit cannot be read: the traditional soft limit.
pub(crate) const OPEN_FILES_ASSUMED: u64 = 1_024;

/// Raises the soft limit to the hard one and answers what it is then.
pub(crate) fn raise() -> u64 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => limit,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files cannot be raised: {error}");
            rlimit::Resource::NOFILE.get_soft().unwrap_or(OPEN_FILES_ASSUMED)
        }
    }
}
