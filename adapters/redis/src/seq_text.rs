//! Sets of places as the scripts write them: "1-5,9" where there is order, "#8:" and bits where there is none.

use jari_line::{SeenBits, SeqSet};
use jari_units::Seq;
use jari_units::limits::SEEN_MAX_BYTES;

/// The set that a script wrote; `None` where it is none.
pub(crate) fn read(written: &[u8]) -> Option<SeqSet> {
    if written.is_empty() {
        return Some(SeqSet::default());
    }
    match written.split_first() {
        Some((b'#', rest)) => {
            let colon = rest.iter().position(|byte| *byte == b':')?;
            let first: Seq = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
            from_bits(first, &rest[colon + 1..])
        }
        _ => ranges(std::str::from_utf8(written).ok()?),
    }
}

fn ranges(text: &str) -> Option<SeqSet> {
    let mut set = SeqSet::default();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => set.insert_range(first.parse().ok()?..=last.parse().ok()?),
            None => _ = set.insert(part.parse().ok()?),
        }
    }
    Some(set)
}

/// The places whose bits are set, from `first` on, a multiple of 8.
pub(crate) fn from_bits(first: Seq, bytes: &[u8]) -> Option<SeqSet> {
    let mut set = SeqSet::default();
    for (nth, part) in bytes.chunks(SEEN_MAX_BYTES).enumerate() {
        let from = first + (nth * SEEN_MAX_BYTES * 8) as Seq;
        set.add_all(&SeenBits::new(from, part.to_vec())?.to_set());
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_writing_are_read() {
        let set = |seqs: &[Seq]| seqs.iter().collect::<SeqSet>();
        assert_eq!(read(b""), Some(SeqSet::default()));
        assert_eq!(read(b"1-3,9"), Some(set(&[1, 2, 3, 9])));
        assert_eq!(read(b"#8:\x81\x40"), Some(set(&[8, 15, 17])));
        for wrong in [&b"1-"[..], b"x", b"#8", b"#x:\x01", b"#4:\x01"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn bits_of_any_length() {
        let far = SEEN_MAX_BYTES + 3;
        let mut bytes = vec![0; far + 1];
        (bytes[0], bytes[far]) = (0x80, 0x01);
        let last = (far * 8 + 7) as Seq;
        assert_eq!(from_bits(0, &bytes), Some([0, last].into_iter().collect()));
    }
}
