//! Checks a chain, entry by entry in order of number. Reads nothing by itself; what a hash proves and what not is said here:
//! whoever may write the whole trail can chain it anew, so only a head that was kept elsewhere shows a cut or rewritten end.

use thiserror::Error;

use crate::{ChainedEntry, EntryHash};

/// The newest entry that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub no: u64,
    pub hash: EntryHash,
}

/// Where a check begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    First,
    /// At this number: what it names as the entry before it is believed.
    At(u64),
}

/// The first thing that is wrong with a trail. Nothing is said of what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Break {
    #[error("entry {no} is missing: entry {found} comes in its place")]
    Missing { no: u64, found: u64 },
    #[error("entry {no} comes after entry {head}: it was moved")]
    OutOfOrder { no: u64, head: u64 },
    #[error("entry {no} was changed: its hash is not that of what it says")]
    Changed { no: u64 },
    #[error(
        "entry {no} does not follow the entry before it: one of the two was put in another's place"
    )]
    Unlinked { no: u64 },
    #[error(
        "entry {no} is hashed in form {form}, which this version does not know: use a newer one"
    )]
    UnknownForm { no: u64, form: u8 },
    #[error("the trail ends at entry {head}, though {counted} were written: its end was cut off")]
    Cut { head: u64, counted: u64 },
    #[error(
        "the trail ends at entry {head}, so entry {before}, which the check goes on behind, is not there: the end was cut \
         off and the count set back, or that number is of another trail"
    )]
    Beyond { head: u64, before: u64 },
    #[error(
        "no entry that was checked has the hash {hash}: the trail was cut off before it or written anew, or that \
         hash is of another trail"
    )]
    HeadLost { hash: EntryHash },
}

/// A check under way.
#[derive(Clone, Debug)]
pub struct ChainCheck {
    /// The number that the next entry has.
    next: u64,
    /// The hash that the next entry names; `None` where it is believed.
    prev: Option<EntryHash>,
    head: Option<Head>,
    expected: Option<EntryHash>,
}

impl ChainCheck {
    /// Begins. `expected` is a head's hash that was kept elsewhere: it has to be found among the entries, or be named by the
    /// first of them as the one before it. The trail may have grown since.
    #[must_use]
    pub fn new(start: Start, expected: Option<EntryHash>) -> ChainCheck {
        match start {
            Start::First | Start::At(0 | 1) => {
                ChainCheck { next: 1, prev: Some(EntryHash::NONE), head: None, expected }
            }
            Start::At(no) => ChainCheck { next: no, prev: None, head: None, expected },
        }
    }

    /// The number of the entry to hand in next.
    #[must_use]
    pub fn next_no(&self) -> u64 {
        self.next
    }

    /// Takes the next entry, in order of number.
    ///
    /// # Errors
    /// The first thing that is wrong; the check is over then.
    pub fn take(&mut self, chained: &ChainedEntry) -> Result<(), Break> {
        let ChainedEntry { entry, link } = chained;
        let no = entry.no;
        if no < self.next {
            return Err(Break::OutOfOrder { no, head: self.next - 1 });
        }
        if no > self.next {
            return Err(Break::Missing { no: self.next, found: no });
        }
        match link.holds(entry) {
            None => return Err(Break::UnknownForm { no, form: link.form }),
            Some(false) => return Err(Break::Changed { no }),
            Some(true) => {}
        }
        if self.prev.is_some_and(|prev| prev != link.prev_hash) {
            return Err(Break::Unlinked { no });
        }
        let before = self.prev.is_none().then_some(link.prev_hash);
        if self.expected == Some(link.hash) || self.expected.is_some() && self.expected == before {
            self.expected = None;
        }
        self.prev = Some(link.hash);
        self.head = Some(Head { no, hash: link.hash });
        self.next = no + 1;
        Ok(())
    }

    /// Ends the check: no entry is left. `counted` is how many the store says that it gave numbers to, `before` the newest
    /// entry below where the check began: where nothing came, it tells whether the trail reaches so far. It gives the head,
    /// which is `before` where nothing is new.
    ///
    /// # Errors
    /// In this order: [`Break::Cut`], [`Break::Beyond`] or [`Break::HeadLost`]. `counted` is as easily changed as the trail:
    /// only the expected head is proof.
    pub fn end(self, counted: u64, before: Option<Head>) -> Result<Option<Head>, Break> {
        let newest = self.head.or(before);
        let head = newest.map_or(0, |newest| newest.no);
        if head < counted {
            return Err(Break::Cut { head, counted });
        }
        if head + 1 < self.next {
            return Err(Break::Beyond { head, before: self.next - 1 });
        }
        let expected = self.expected.filter(|hash| newest.is_none_or(|head| head.hash != *hash));
        match expected {
            Some(hash) => Err(Break::HeadLost { hash }),
            None => Ok(newest),
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
