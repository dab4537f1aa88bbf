//! How many connections to the site are open in all pools, and how many may be. Opens and closes none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct OpenCount {
    open: AtomicUsize,
    max: usize,
}

impl OpenCount {
    pub(super) fn new(max: usize) -> Self {
        OpenCount { open: AtomicUsize::new(0), max }
    }

    /// Whether no more may be opened.
    pub(super) fn is_full(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.max
    }
}

/// One of them, from the try to open it until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<OpenCount>);

impl Counted {
    pub(super) fn new(count: &Arc<OpenCount>) -> Self {
        count.open.fetch_add(1, Ordering::Relaxed);
        Counted(count.clone())
    }

    /// Whether more are open than may be: this one should not be kept.
    pub(super) fn is_too_many(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) > self.0.max
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
