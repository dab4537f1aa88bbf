//! What nodes and people tell a room that recovers, as the scripts take it, and its events as they are read back.

use std::collections::BTreeMap;

use jari_line::{
    Head, Lineage, Loss, Part, Pass, Reattached, Receipt, Recovering, Restored, SeenBits, SeqSet,
    Settings,
};
use jari_units::{Incarnation, Millis, NodeId, Seq, SubjectKey, Timestamp};

use crate::feed::decimal;
use crate::limits::RECEIPT_CHUNK;
use crate::settings_text;

/// The first byte of a head in an event: another one is another release's.
const FORMAT: u8 = 1;

fn flag(set: bool) -> &'static str {
    if set { "1" } else { "" }
}

fn maybe(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// What `recover` is told beside the mark.
pub(crate) fn loss(loss: &Loss, settings: &Settings, node: NodeId) -> Vec<Vec<u8>> {
    let (word, past) = match loss {
        Loss::Seen(past) => ("seen", *past),
        Loss::Declared => ("declared", jari_line::Past::default()),
    };
    let mark = [past.mark.incarnation, past.mark.event_no, past.mark.next_seq].map(decimal);
    let mut own = vec![word.as_bytes().to_vec()];
    own.extend(mark);
    own.push(maybe(past.origin).into_bytes());
    own.push(settings_text::write(settings).into_bytes());
    own.push(decimal(node));
    own
}

/// Five arguments a receipt.
pub(crate) fn receipts(receipts: &[Receipt]) -> Vec<Vec<u8>> {
    let one = |receipt: &Receipt| {
        [
            receipt.subject.0.to_vec(),
            decimal(receipt.incarnation),
            decimal(receipt.seq),
            decimal(receipt.as_of.0),
            maybe(receipt.pass.map(u64::from)).into_bytes(),
        ]
    };
    receipts.iter().flat_map(one).collect()
}

pub(crate) fn begins(text: &str) -> Option<Vec<(Incarnation, Seq)>> {
    let pair = |word: &str| {
        let (began, first) = word.split_once(':')?;
        Some((began.parse().ok()?, first.parse().ok()?))
    };
    text.split(',').filter(|word| !word.is_empty()).map(pair).collect()
}

fn lineage_words(lineage: &Lineage) -> String {
    let words: Vec<String> =
        lineage.begins.iter().map(|(began, first)| format!("{began}:{first}")).collect();
    words.join(",")
}

/// A head as words; its two texts, which may hold anything, go beside it.
fn head_words(head: &Head) -> String {
    let Head { control, totals, .. } = head;
    let closed = control.closed.as_ref();
    let number = |number: u64| number.to_string();
    let words = [
        ("incarnation", number(head.mark.incarnation)),
        ("event_no", number(head.mark.event_no)),
        ("next_seq", number(head.mark.next_seq)),
        ("origin", maybe(head.lineage.origin)),
        ("begins", lineage_words(&head.lineage)),
        ("now", number(head.now.0)),
        ("line_ms", number(head.line_ms.0)),
        ("silence_ms", number(head.silence_ms.0)),
        ("serving", number(head.serving)),
        ("served", number(head.served)),
        ("pacer_rate", number(head.pacer.rate_milli)),
        ("pacer_due", number(head.pacer.due.0)),
        ("paused", flag(control.paused).to_owned()),
        ("closed", flag(closed.is_some()).to_owned()),
        ("reopens_at", maybe(closed.and_then(|next| next.reopens_at).map(|at| at.0))),
        ("opened_at", maybe(control.opened_at.map(|at| at.0))),
        ("sold_out", flag(control.sold_out).to_owned()),
        ("notice_at", maybe(control.notice.as_ref().map(|notice| notice.at.0))),
        ("t_joined", number(totals.joined)),
        ("t_admitted", number(totals.admitted)),
        ("t_claimed", number(totals.claimed)),
        ("t_no_shows", number(totals.no_shows)),
        ("t_absent", number(totals.absent)),
        ("t_returned", number(totals.returned)),
        ("t_absence_ended", number(totals.absence_ended)),
        ("t_left", number(totals.left)),
        ("t_dwells", number(totals.dwells)),
        ("t_dwell_ms", number(totals.dwell_ms)),
        ("t_stays", number(totals.stays)),
        ("t_stay_ms", number(totals.stay_ms)),
        ("t_mass_absences", number(totals.mass_absences)),
    ];
    words.map(|(name, value)| format!("{name}={value}")).join(" ")
}

/// What `restore` is told beside the mark; `None` for a head that cannot be written.
pub(crate) fn telling(node: NodeId, telling: &jari_line::Telling) -> Option<Vec<Vec<u8>>> {
    let jari_line::Telling { head, seen, part, done } = telling;
    let control = &head.control;
    let notice = control.notice.as_ref().map_or("", |notice| notice.text.as_str());
    let message = control.closed.as_ref().map_or("", |next| next.message.as_str());
    let mut own = vec![
        decimal(node),
        flag(*done).as_bytes().to_vec(),
        decimal(seen.next_seq),
        head_words(head).into_bytes(),
        notice.as_bytes().to_vec(),
        message.as_bytes().to_vec(),
        postcard::to_extend(head, vec![FORMAT]).ok()?,
    ];
    own.extend(part_bytes(part));
    Some(own)
}

/// First place, three sets as bits of one length, passes.
fn part_bytes(part: &Part) -> [Vec<u8>; 5] {
    let inside: SeqSet = part.passes.iter().map(|(seq, _)| *seq).collect();
    let all = part.known.union(&part.waiting).union(&part.once).union(&inside);
    let first = all.min().unwrap_or_default() & !7;
    let count = all.max().map_or(0, |last| (last - first) / 8 + 1) as usize;
    let bits = |set: &SeqSet| {
        let mut bytes = vec![0; count];
        for packed in SeenBits::pack(set) {
            let from = ((packed.first() - first) / 8) as usize;
            bytes[from..from + packed.bytes().len()].copy_from_slice(packed.bytes());
        }
        bytes
    };
    let passes: Vec<String> =
        part.passes.iter().map(|(seq, pass)| pass_words(*seq, pass)).collect();
    let sets = [bits(&part.known), bits(&part.waiting), bits(&part.once)];
    let [known, waiting, once] = sets;
    [decimal(first), known, waiting, once, passes.join(",").into_bytes()]
}

fn pass_words(seq: Seq, pass: &Pass) -> String {
    let maybe = |at: Option<Millis>| at.map_or_else(|| "-".to_owned(), |at| at.0.to_string());
    let (claimed, paying) = (maybe(pass.claimed_at), maybe(pass.paying_since));
    let Pass { grant, granted_at, deadline, .. } = pass;
    format!("{seq} {grant} {} {claimed} {paying} {}", granted_at.0, deadline.0)
}

/// "grant granted_at claimed_at paying_since deadline", '-' for never.
pub(crate) fn pass(record: &str) -> Option<Pass> {
    let mut words = record.split(' ');
    let mut word = || words.next();
    let span = |word: Option<&str>| word?.parse().ok().map(Millis);
    let maybe = |word: Option<&str>| match word? {
        "-" => Some(None),
        text => text.parse().ok().map(|ms| Some(Millis(ms))),
    };
    Some(Pass {
        grant: word()?.parse().ok()?,
        granted_at: span(word())?,
        claimed_at: maybe(word())?,
        paying_since: maybe(word())?,
        deadline: span(word())?,
        landed: None,
    })
}

/// The nodes in "1,2", '-' where nobody knows which there are.
pub(crate) fn nodes<C: FromIterator<NodeId>>(text: &str) -> Option<Option<C>> {
    if text == "-" {
        return Some(None);
    }
    let words = text.split(',').filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect::<Option<C>>().map(Some)
}

/// An event's fields by name.
pub(crate) trait Named {
    fn text(&self, name: &str) -> Option<&str>;
    fn bytes(&self, name: &str) -> Option<&[u8]>;
    fn set(&self, name: &str) -> Option<SeqSet>;

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    fn maybe(&self, name: &str) -> Option<Option<u64>> {
        match self.text(name)? {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        }
    }
}

pub(crate) fn recovering(fields: &impl Named) -> Option<Recovering> {
    let after = fields.maybe("after_in")?.zip(fields.maybe("after_no")?);
    let settings = match fields.text("settings")? {
        "" => None,
        text => Some(Box::new(settings_text::read(text)?)),
    };
    Some(Recovering {
        now: Timestamp(fields.number("now")?),
        until: Timestamp(fields.number("until")?),
        after,
        settings,
        origin: fields.maybe("origin")?,
        top: fields.number("top")?,
        next_seq: fields.number("next_seq")?,
        awaited: nodes(fields.text("awaited")?)?,
    })
}

pub(crate) fn restored(fields: &impl Named) -> Option<Restored> {
    let words = fields.text("passes")?.split(',').filter(|word| !word.is_empty());
    let one = |word: &str| {
        let (seq, record) = word.split_once(' ')?;
        Some((seq.parse().ok()?, pass(record)?))
    };
    let head = match fields.bytes("head")?.split_first() {
        None => None,
        Some((&FORMAT, head)) => Some(Box::new(postcard::from_bytes::<Head>(head).ok()?)),
        Some(_) => return None,
    };
    Some(Restored {
        known: fields.set("known")?,
        ended: fields.set("ended")?,
        waiting: fields.set("waiting")?,
        once: fields.set("once")?,
        passes: words.map(one).collect::<Option<_>>()?,
        head,
        top: fields.number("top")?,
        next_seq: fields.number("next_seq")?,
        done: fields.maybe("done")?,
    })
}

pub(crate) fn reattached(fields: &impl Named) -> Option<Reattached> {
    let (keys, rest) = fields.bytes("people")?.as_chunks::<16>();
    let seqs: Vec<Seq> = numbers(fields.text("seqs")?)?;
    if !rest.is_empty() || keys.len() != seqs.len() {
        return None;
    }
    let receipts = fields.text("receipts")?.split(',').filter(|word| !word.is_empty());
    let receipt = |word: &str| {
        let (seq, at) = word.split_once(' ')?;
        Some((seq.parse().ok()?, Timestamp(at.parse().ok()?)))
    };
    Some(Reattached {
        people: keys.iter().map(|key| SubjectKey(*key)).zip(seqs).collect(),
        waiting: fields.set("waiting")?,
        first_passes: fields.set("first_passes")?,
        second_passes: fields.set("second_passes")?,
        ended: fields.set("ended")?,
        receipts: receipts.map(receipt).collect::<Option<_>>()?,
        shown: fields.set("shown")?,
        oldest: fields.maybe("oldest")?,
        top: fields.number("top")?,
        next_seq: fields.number("next_seq")?,
    })
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// Numbers and the times that belong to them.
pub(crate) fn times(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<BTreeMap<u64, Timestamp>> {
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<u64>().ok();
    pairs.iter().map(|(of, at)| Some((number(of)?, Timestamp(number(at)?)))).collect()
}

/// Bytes of a place in what the scripts' part `receipts` keeps.
const CONFIRMED_BYTES: usize = 6;

/// When places were last confirmed, as that part keeps it: the time and one, in six bytes a place.
pub(crate) fn confirmed(chunks: &[(Vec<u8>, Vec<u8>)]) -> Option<BTreeMap<Seq, Timestamp>> {
    let mut times = BTreeMap::new();
    for (number, chunk) in chunks {
        let first = std::str::from_utf8(number).ok()?.parse::<u64>().ok()? * RECEIPT_CHUNK as u64;
        let (entries, rest) = chunk.as_chunks::<CONFIRMED_BYTES>();
        if !rest.is_empty() || entries.len() > RECEIPT_CHUNK {
            return None;
        }
        for (seq, entry) in (first..).zip(entries) {
            let stored = entry.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            if let Some(at) = u64::checked_sub(stored, 1) {
                times.insert(seq, Timestamp(at));
            }
        }
    }
    Some(times)
}
