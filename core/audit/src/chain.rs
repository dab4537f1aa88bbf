//! How an entry is chained: the one canonical text that is hashed. A changed encoding is a new form beside this one, since
//! entries that were written stay as they are.

use aws_lc_rs::digest::{Context, SHA256};

use crate::{AuditEntry, EntryHash};

/// The form that new entries are hashed in.
pub const CHAIN_FORM: u8 = 1;

/// Begins what is hashed, so that no other hash of Jari's can be taken for an entry's.
const DOMAIN: &[u8] = b"jari audit entry";

/// Where an entry stands in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which encoding the hash is of. It is hashed too: nobody can have an entry read in another one.
    pub form: u8,
    /// The hash of the entry before; [`EntryHash::NONE`] for the first.
    pub prev_hash: EntryHash,
    pub hash: EntryHash,
}

impl Link {
    /// The link of `entry`, which has its number, after the entry whose hash is `prev_hash`.
    #[must_use]
    pub fn after(prev_hash: EntryHash, entry: &AuditEntry) -> Link {
        Link { form: CHAIN_FORM, prev_hash, hash: hash(CHAIN_FORM, prev_hash, entry) }
    }

    /// Whether the hash is that of `entry` and of the hash before; `None` for a form that this version does not know.
    #[must_use]
    pub fn holds(&self, entry: &AuditEntry) -> Option<bool> {
        let known = self.form == CHAIN_FORM;
        known.then(|| self.hash == hash(self.form, self.prev_hash, entry))
    }
}

/// An entry as the trail holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedEntry {
    pub entry: AuditEntry,
    pub link: Link,
}

/// Form 1: SHA-256 over the domain, the form (a byte), the previous hash (32 bytes), number and time (8 bytes each, big
/// endian), then actor, action, target, before and after, each with its length in bytes before it (8 bytes, big endian).
/// With lengths no byte can move from one text to the next unseen.
fn hash(form: u8, prev_hash: EntryHash, entry: &AuditEntry) -> EntryHash {
    let mut context = Context::new(&SHA256);
    context.update(DOMAIN);
    context.update(&[form]);
    context.update(&prev_hash.0);
    context.update(&entry.no.to_be_bytes());
    context.update(&entry.at.0.to_be_bytes());
    for text in [&entry.actor, &entry.action, &entry.target, &entry.before, &entry.after] {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    EntryHash(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use jari_units::Timestamp;

    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            no: 7,
            at: Timestamp(1_800_000_000_000),
            actor: "key:0a1b2c3d4e5f".to_owned(),
            action: "room.announce".to_owned(),
            target: "room:shop".to_owned(),
            before: String::new(),
            after: r#"{"text":"잠시만요"}"#.to_owned(),
        }
    }

    /// Made once with another tool (Python's hashlib, from the description above): trails that were written must be found
    /// whole by every later version.
    #[test]
    fn form_1_is_what_it_was() {
        let first = Link::after(EntryHash::NONE, &entry());
        assert_eq!(
            first.hash.to_string(),
            "cb6ef2323341de01f40cab203508ac71fcb62f0e99bff69cd5812a9965f063ed"
        );
        let second = Link::after(first.hash, &AuditEntry { no: 8, ..entry() });
        assert_eq!(
            second.hash.to_string(),
            "0690c849d515e0f5125aae99a96e95560461506301e6e08ebf9d4e7e89f78b62"
        );
    }

    #[test]
    fn every_field_is_in_the_hash() {
        let link = Link::after(EntryHash::NONE, &entry());
        assert_eq!(link.holds(&entry()), Some(true));
        let changes: [fn(&mut AuditEntry); 7] = [
            |entry| entry.no += 1,
            |entry| entry.at.0 += 1,
            |entry| entry.actor.push('0'),
            |entry| entry.action.push('0'),
            |entry| entry.target.push('0'),
            |entry| entry.before.push('0'),
            |entry| entry.after.push('0'),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut changed = entry();
            change(&mut changed);
            assert_eq!(link.holds(&changed), Some(false), "field {at}");
        }
        let moved = Link { prev_hash: EntryHash([1; 32]), ..link };
        assert_eq!(moved.holds(&entry()), Some(false));
    }

    #[test]
    fn no_byte_moves_from_one_text_to_the_next_unseen() {
        let (one, other) = (
            AuditEntry { target: "room:shop".into(), before: "1".into(), ..entry() },
            AuditEntry { target: "room:shop1".into(), before: String::new(), ..entry() },
        );
        let link = Link::after(EntryHash::NONE, &one);
        assert_eq!(link.holds(&other), Some(false));
    }

    #[test]
    fn a_form_of_a_later_version_is_said_to_be_unknown() {
        let link = Link { form: CHAIN_FORM + 1, ..Link::after(EntryHash::NONE, &entry()) };
        assert_eq!(link.holds(&entry()), None);
    }
}
