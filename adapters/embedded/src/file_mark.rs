//! Whether a file is still the one that was opened: a removed or replaced one takes writes that nobody will ever read.

use std::path::Path;

/// Which file a path names, as the file system tells files apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMark {
    device: u64,
    number: u64,
}

impl FileMark {
    /// The file at `path`; `None` where there is none, or an empty one.
    pub(crate) fn of(path: &Path) -> Option<FileMark> {
        let found = std::fs::metadata(path).ok().filter(|found| found.len() > 0)?;
        #[cfg(unix)]
        let (device, number) = {
            use std::os::unix::fs::MetadataExt;
            (found.dev(), found.ino())
        };
        // Where files have no such numbers, an open file cannot be removed either.
        #[cfg(not(unix))]
        let (device, number) = (0, u64::from(found.is_file()));
        Some(FileMark { device, number })
    }
}
