//! How many connections to the site are open in all pools, and how many may be. Opens and closes none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct OpenCount {
    open: AtomicUsize,
    max: usize,
}

/// One of them, from before it is opened until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<OpenCount>);

impl OpenCount {
    pub(super) fn new(max: usize) -> Self {
        OpenCount { open: AtomicUsize::new(0), max }
    }

    /// One more, where there may be.
    pub(super) fn one_more(self: &Arc<Self>) -> Option<Counted> {
        let below = |open| (open < self.max).then_some(open + 1);
        let counted = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below);
        counted.ok().map(|_| Counted(self.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_may_be() {
        let count = Arc::new(OpenCount::new(2));
        let mut open: Vec<_> = (0..3).map_while(|_| count.one_more()).collect();
        assert_eq!(open.len(), 2);
        open.pop();
        assert!(count.one_more().is_some());
    }
}
