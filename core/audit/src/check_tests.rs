//! What a check finds: each way to tamper with a trail, alone, at every place of it.

use jari_units::Timestamp;

use crate::{AuditEntry, Break, ChainCheck, ChainedEntry, EntryHash, Head, Link, Start};

fn entry(no: u64) -> AuditEntry {
    AuditEntry {
        no,
        at: Timestamp(1_800_000_000_000 + no),
        actor: "key:abc".to_owned(),
        action: "room.change".to_owned(),
        target: "room:shop".to_owned(),
        before: format!("{no}"),
        after: format!("{}", no + 1),
    }
}

/// Chains `entries` anew, as they are.
fn chained(entries: impl IntoIterator<Item = AuditEntry>) -> Vec<ChainedEntry> {
    let mut prev = EntryHash::NONE;
    let chain = entries.into_iter().map(|entry| {
        let link = Link::after(prev, &entry);
        prev = link.hash;
        ChainedEntry { entry, link }
    });
    chain.collect()
}

fn trail(length: u64) -> Vec<ChainedEntry> {
    chained((1..=length).map(entry))
}

fn check(trail: &[ChainedEntry], counted: u64) -> Result<Option<Head>, Break> {
    run(ChainCheck::new(Start::First, None), trail, counted)
}

fn run(mut check: ChainCheck, trail: &[ChainedEntry], counted: u64) -> Result<Option<Head>, Break> {
    trail.iter().try_for_each(|entry| check.take(entry))?;
    check.end(counted, None)
}

/// A check from `no` of a trail that has nothing from there on.
fn nothing_from(
    (no, expected): (u64, Option<EntryHash>),
    trail: &[ChainedEntry],
    counted: u64,
) -> Result<Option<Head>, Break> {
    let before = trail.last().map(|_| head(trail));
    ChainCheck::new(Start::At(no), expected).end(counted, before)
}

fn head(trail: &[ChainedEntry]) -> Head {
    let last = trail.last().expect("it is not empty");
    Head { no: last.entry.no, hash: last.link.hash }
}

const LENGTH: u64 = 6;

#[test]
fn a_whole_trail_is_found_whole_and_its_head_is_told() {
    assert_eq!(check(&[], 0), Ok(None));
    let trail = trail(LENGTH);
    assert_eq!(check(&trail, LENGTH), Ok(Some(head(&trail))));
    // Entries that came while it was checked.
    assert_eq!(check(&trail, LENGTH - 2), Ok(Some(head(&trail))));
}

#[test]
fn a_changed_entry_is_named_wherever_it_is() {
    for at in 0..LENGTH as usize {
        let mut trail = trail(LENGTH);
        trail[at].entry.actor = "key:nobody".to_owned();
        assert_eq!(check(&trail, LENGTH), Err(Break::Changed { no: at as u64 + 1 }));
    }
}

/// Whoever knows the rule makes the entry's own hash right again: the next one still names the old hash.
#[test]
fn a_changed_entry_with_its_hash_made_right_breaks_the_next_one() {
    for at in 0..LENGTH as usize - 1 {
        let mut trail = trail(LENGTH);
        trail[at].entry.actor = "key:nobody".to_owned();
        trail[at].link = Link::after(trail[at].link.prev_hash, &trail[at].entry);
        assert_eq!(check(&trail, LENGTH), Err(Break::Unlinked { no: at as u64 + 2 }));
    }
}

#[test]
fn a_removed_entry_is_named_wherever_it_was() {
    for at in 0..LENGTH as usize - 1 {
        let mut trail = trail(LENGTH);
        trail.remove(at);
        let no = at as u64 + 1;
        assert_eq!(check(&trail, LENGTH), Err(Break::Missing { no, found: no + 1 }));
        // Those behind it moved up by a number.
        for later in &mut trail[at..] {
            later.entry.no -= 1;
        }
        assert_eq!(check(&trail, LENGTH - 1), Err(Break::Changed { no }));
    }
}

#[test]
fn two_entries_that_changed_places_are_found() {
    for at in 0..LENGTH as usize - 1 {
        let no = at as u64 + 1;
        let mut swapped = trail(LENGTH);
        swapped.swap(at, at + 1);
        assert_eq!(check(&swapped, LENGTH), Err(Break::Missing { no, found: no + 1 }));
        // With their numbers, as a table by number shows them.
        (swapped[at].entry.no, swapped[at + 1].entry.no) = (no, no + 1);
        assert_eq!(check(&swapped, LENGTH), Err(Break::Changed { no }));
        // With their own hashes made right.
        for entry in &mut swapped[at..=at + 1] {
            entry.link = Link::after(entry.link.prev_hash, &entry.entry);
        }
        assert_eq!(check(&swapped, LENGTH), Err(Break::Unlinked { no }));
    }
    let mut twice = trail(LENGTH);
    twice.insert(2, twice[1].clone());
    assert_eq!(check(&twice, LENGTH), Err(Break::OutOfOrder { no: 2, head: 2 }));
}

#[test]
fn an_inserted_entry_is_found_wherever_it_is() {
    for at in 0..LENGTH as usize {
        let mut trail = trail(LENGTH);
        let no = at as u64 + 1;
        for later in &mut trail[at..] {
            later.entry.no += 1;
        }
        let prev = trail[at].link.prev_hash;
        let put = AuditEntry { actor: "key:nobody".to_owned(), ..entry(no) };
        trail.insert(at, ChainedEntry { link: Link::after(prev, &put), entry: put });
        assert_eq!(check(&trail, LENGTH + 1), Err(Break::Changed { no: no + 1 }));
    }
}

#[test]
fn a_cut_end_is_found_by_the_count_unless_that_was_set_back_too() {
    let whole = trail(LENGTH);
    for left in 0..LENGTH {
        let cut = &whole[..left as usize];
        let told = check(cut, LENGTH);
        assert_eq!(told, Err(Break::Cut { head: left, counted: LENGTH }));
        assert!(check(cut, left).is_ok(), "nothing inside the trail tells of it");
    }
}

#[test]
fn a_head_that_was_kept_finds_a_cut_end_and_a_trail_written_anew() {
    let whole = trail(LENGTH);
    let kept = head(&whole).hash;
    let with = |trail: &[ChainedEntry]| {
        run(ChainCheck::new(Start::First, Some(kept)), trail, trail.len() as u64)
    };
    assert_eq!(with(&whole), Ok(Some(head(&whole))));
    for left in 0..LENGTH as usize {
        assert_eq!(with(&whole[..left]), Err(Break::HeadLost { hash: kept }));
    }
    let mut forged: Vec<_> = (1..=LENGTH).map(entry).collect();
    forged[0].actor = "key:nobody".to_owned();
    let forged = chained(forged);
    assert!(check(&forged, LENGTH).is_ok(), "nothing inside the trail tells of it");
    assert_eq!(with(&forged), Err(Break::HeadLost { hash: kept }));
    // It has grown since the head was kept.
    let grown = trail(LENGTH + 3);
    assert_eq!(with(&grown), Ok(Some(head(&grown))));
}

#[test]
fn a_check_from_a_number_believes_what_came_before_it() {
    let mut trail = trail(LENGTH);
    let before = trail[2].link.hash;
    trail[0].entry.actor = "key:nobody".to_owned();
    let from = |no: u64, expected| {
        run(ChainCheck::new(Start::At(no), expected), &trail[no as usize - 1..], LENGTH)
    };
    for no in 2..=LENGTH {
        assert_eq!(from(no, None), Ok(Some(head(&trail))), "from {no}");
    }
    assert_eq!(from(1, None), Err(Break::Changed { no: 1 }));
    // The head of the last check, which ended right before this one, counts.
    assert_eq!(from(4, Some(before)), Ok(Some(head(&trail))));
    assert_eq!(from(3, Some(before)), Ok(Some(head(&trail))));
    assert_eq!(from(5, Some(before)), Err(Break::HeadLost { hash: before }));
}

#[test]
fn a_check_right_behind_the_end_finds_nothing_new_and_tells_the_head() {
    let trail = trail(LENGTH);
    let newest = head(&trail);
    for expected in [None, Some(newest.hash)] {
        let told = nothing_from((LENGTH + 1, expected), &trail, LENGTH);
        assert_eq!(told, Ok(Some(newest)), "{expected:?}");
    }
    let other = trail[LENGTH as usize - 2].link.hash;
    let told = nothing_from((LENGTH + 1, Some(other)), &trail, LENGTH);
    assert_eq!(told, Err(Break::HeadLost { hash: other }));
}

/// A timer that goes on behind yesterday's head has no entry to look at where the end was cut off.
#[test]
fn issue_5_a_check_from_beyond_a_cut_end_is_not_taken_for_one_without_news() {
    let whole = trail(LENGTH);
    for left in 0..LENGTH {
        let cut = &whole[..left as usize];
        for from in left + 2..=LENGTH + 3 {
            let told = nothing_from((from, None), cut, LENGTH);
            assert_eq!(told, Err(Break::Cut { head: left, counted: LENGTH }), "from {from}");
            // The count was set back too: the entry to go on behind is still missed.
            let told = nothing_from((from, None), cut, left);
            assert_eq!(told, Err(Break::Beyond { head: left, before: from - 1 }), "from {from}");
        }
    }
}

#[test]
fn a_form_of_a_later_version_is_named_and_not_guessed_at() {
    let mut trail = trail(LENGTH);
    trail[3].link.form = 9;
    assert_eq!(check(&trail, LENGTH), Err(Break::UnknownForm { no: 4, form: 9 }));
}
