//! What scripts are told of people and passes. Decides nothing.

use jari_units::{PassId, SubjectKey};

use crate::feed::decimal;

/// 16 bytes each, in one argument.
pub(crate) fn subjects(subjects: &[SubjectKey]) -> Vec<Vec<u8>> {
    vec![subjects.iter().flat_map(|subject| subject.0).collect()]
}

/// Three arguments each.
pub(crate) fn passes(passes: &[PassId]) -> Vec<Vec<u8>> {
    let numbers = |id: &PassId| [id.incarnation, id.seq, u64::from(id.grant)].map(decimal);
    passes.iter().flat_map(numbers).collect()
}
