//! A room's whole state as its keys hold it, read by one script; nothing here decides.

use std::collections::HashMap;

use jari_line::{
    Clocks, ClosedNext, Control, Descent, Dump, Flow, Landing, Lineage, Notice, PacerState,
    Recovery, SeqSet, Totals,
};
use jari_units::{Incarnation, Mark, Millis, Seq, SubjectKey, Timestamp};
use redis::Value;

use crate::answer::Answer;
use crate::error::Failure;
use crate::{event_text, flow_text, recovery_text, seq_text, settings_text};

/// What is read: all but the subjects, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Ledger,
    Everything,
}

impl Extent {
    /// What the script is told.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Extent::Ledger => "ledger",
            Extent::Everything => "everything",
        }
    }
}

/// The room in the answer of the script `read`.
pub(crate) fn read(mut answers: Answer, extent: Extent) -> Result<Dump, Failure> {
    let scalars = Scalars::read(pairs(answers.value()?)?)?;
    let mut dump = scalars.dump()?;
    let base = scalars.number("base")?;
    let mut bitmap = || -> Result<SeqSet, Failure> {
        let bytes = answers.bytes()?;
        seq_text::from_bits(base, &bytes).ok_or_else(|| Failure::odd_answer("a base that is odd"))
    };
    (dump.w, dump.cur, dump.prev, dump.once) = (bitmap()?, bitmap()?, bitmap()?, bitmap()?);
    for (seq, record) in pairs(answers.value()?)? {
        let pass =
            std::str::from_utf8(&record).ok().and_then(recovery_text::pass).zip(decimal(&seq));
        let (pass, seq) = pass.ok_or_else(|| Failure::odd_answer("a pass that is none"))?;
        if pass.grant == 2 {
            // Its bit may lie below the base; while a pass lives the grant says the same.
            dump.once.insert(seq);
        }
        dump.passes.push((seq, pass));
    }
    dump.passes.sort_unstable_by_key(|(seq, _)| *seq);
    for (seq, at) in pairs(answers.value()?)? {
        let mark = decimal(&at).map(Millis).zip(decimal(&seq));
        dump.marks.push(mark.ok_or_else(|| Failure::odd_answer("a mark that is none"))?);
    }
    read_descent(&mut answers, &mut dump)?;
    read_landings(&pairs(answers.value()?)?, &mut dump)?;
    if scalars.number("waiting")? != dump.w.len() {
        return Err(Failure::odd_answer("a count of the waiting that is not theirs"));
    }
    if extent == Extent::Everything {
        read_subjects(&mut answers, &mut dump)?;
    }
    Ok(dump)
}

/// The sets and lists of the room's descent; its sets count from place 0.
fn read_descent(answers: &mut Answer, dump: &mut Dump) -> Result<(), Failure> {
    let odd = || Failure::odd_answer("a descent that is none");
    let set = |bytes: Vec<u8>| seq_text::from_bits(0, &bytes).ok_or_else(odd);
    let descent = &mut dump.descent;
    descent.unattached = set(answers.bytes()?)?;
    descent.nodes = recovery_text::times(&pairs(answers.value()?)?).ok_or_else(odd)?;
    let (known, shown) = (set(answers.bytes()?)?, set(answers.bytes()?)?);
    let receipts = recovery_text::confirmed(&pairs(answers.value()?)?).ok_or_else(odd)?;
    if let Some(recovery) = &mut descent.recovery {
        *recovery = Recovery { known, shown, receipts, ..std::mem::take(recovery) };
    }
    Ok(())
}

/// The redeemed tokens; one of another incarnation or grant is another pass's.
fn read_landings(pairs: &Pairs, dump: &mut Dump) -> Result<(), Failure> {
    for (seq, record) in pairs {
        let read = std::str::from_utf8(record).ok().and_then(landing).zip(decimal(seq));
        let odd = || Failure::odd_answer("a redeemed token that is none");
        let ((incarnation, grant, landing), seq) = read.ok_or_else(odd)?;
        let Ok(at) = dump.passes.binary_search_by_key(&seq, |(seq, _)| *seq) else { continue };
        let pass = &mut dump.passes[at].1;
        if (incarnation, grant) == (dump.mark.incarnation, pass.grant) {
            pass.landed = Some(landing);
        }
    }
    Ok(())
}

/// "incarnation grant no nonce".
fn landing(record: &str) -> Option<(Incarnation, u8, Landing)> {
    let mut words = record.split(' ');
    let (incarnation, grant) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (no, nonce) = (words.next()?.parse().ok()?, event_text::nonce(words.next()?)?);
    Some((incarnation, grant, Landing { no, nonce }))
}

fn read_subjects(answers: &mut Answer, dump: &mut Dump) -> Result<(), Failure> {
    let odd = || Failure::odd_answer("a subject that is none");
    let inside = |seq: Seq| dump.passes.binary_search_by_key(&seq, |(seq, _)| *seq).is_ok();
    for (key, seq) in pairs(answers.value()?)? {
        let (key, seq) = subject(&key).zip(decimal(&seq)).ok_or_else(odd)?;
        if dump.w.contains(seq) || inside(seq) {
            dump.subjects.push((key, seq));
        }
    }
    dump.subjects.sort_unstable();
    for list in [&mut dump.blocked, &mut dump.allowed] {
        let mut members = answers.list()?;
        while !members.is_empty() {
            list.push(subject(&members.bytes()?).ok_or_else(odd)?);
        }
        list.sort_unstable();
    }
    Ok(())
}

/// Names and their values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(value: Value) -> Result<Pairs, Failure> {
    let mut flat = Answer::of(value)?;
    let mut pairs = Vec::with_capacity(flat.left() / 2);
    while !flat.is_empty() {
        pairs.push((flat.bytes()?, flat.bytes()?));
    }
    Ok(pairs)
}

fn decimal(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn subject(bytes: &[u8]) -> Option<SubjectKey> {
    bytes.try_into().ok().map(SubjectKey)
}

/// The room's hash of scalars.
struct Scalars(HashMap<String, String>);

impl Scalars {
    fn read(pairs: Pairs) -> Result<Self, Failure> {
        let text = |bytes| {
            String::from_utf8(bytes).map_err(|_| Failure::odd_answer("a scalar that is not UTF-8"))
        };
        let entries = pairs.into_iter().map(|(name, value)| Ok((text(name)?, text(value)?)));
        Ok(Scalars(entries.collect::<Result<_, Failure>>()?))
    }

    fn text(&self, name: &str) -> Result<&str, Failure> {
        let text = self.0.get(name).map(String::as_str);
        text.ok_or_else(|| Failure::odd_answer(&format!("a room without {name}")))
    }

    fn number(&self, name: &str) -> Result<u64, Failure> {
        let number = self.text(name)?.parse();
        number.map_err(|_| Failure::odd_answer(&format!("a room whose {name} is no number")))
    }

    fn millis(&self, name: &str) -> Result<Millis, Failure> {
        self.number(name).map(Millis)
    }

    fn flag(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.text(name)? == "1")
    }

    fn maybe_time(&self, name: &str) -> Result<Option<Timestamp>, Failure> {
        match self.text(name)? {
            "" => Ok(None),
            _ => Ok(Some(Timestamp(self.number(name)?))),
        }
    }

    /// All that the scalars say; the sets and lists are empty.
    fn dump(&self) -> Result<Dump, Failure> {
        let of = |name: &str| self.0.get(&format!("set_{name}")).map(String::as_str);
        let settings = settings_text::from_words(of)
            .ok_or_else(|| Failure::odd_answer("a room without all its settings"))?;
        let next_seq = self.number("next_seq")?;
        let (incarnation, event_no) = (self.number("incarnation")?, self.number("event_no")?);
        Ok(Dump {
            mark: Mark { incarnation, event_no, next_seq },
            next_seq,
            settings,
            control: self.control()?,
            clocks: self.clocks()?,
            serving: self.number("serving")?,
            served: self.number("served")?,
            bucket: self.number("bucket")?,
            pacer: PacerState {
                rate_milli: self.number("pacer_rate")?,
                due: self.millis("pacer_due")?,
            },
            w: SeqSet::default(),
            cur: SeqSet::default(),
            prev: SeqSet::default(),
            passes: Vec::new(),
            once: SeqSet::default(),
            marks: Vec::new(),
            sweep_cursor: self.number("sweep_cursor")?,
            grant_no: self.number("grant_no")?,
            live_quota: self.number("live_quota")?,
            totals: self.totals()?,
            descent: Descent {
                lineage: self.lineage()?,
                recovery: self.recovery()?,
                ..Descent::default()
            },
            flow: self.flow()?,
            subjects: Vec::new(),
            blocked: Vec::new(),
            allowed: Vec::new(),
        })
    }

    fn control(&self) -> Result<Control, Failure> {
        let closed = ClosedNext {
            reopens_at: self.maybe_time("reopens_at")?,
            message: self.text("close_message")?.to_owned(),
        };
        let notice = match self.text("notice")? {
            "" => None,
            text => {
                Some(Notice { text: text.to_owned(), at: Timestamp(self.number("notice_at")?) })
            }
        };
        Ok(Control {
            paused: self.flag("paused")?,
            closed: self.flag("closed")?.then_some(closed),
            opened_at: self.maybe_time("opened_at")?,
            sold_out: self.flag("sold_out")?,
            notice,
        })
    }

    fn clocks(&self) -> Result<Clocks, Failure> {
        Ok(Clocks {
            now: Timestamp(self.number("now")?),
            line_ms: self.millis("line_ms")?,
            silence_ms: self.millis("silence_ms")?,
            lull_until: Timestamp(self.number("lull_until")?),
            window_start: self.millis("window_start")?,
            mass_guard_until: self.millis("mass_guard_until")?,
            was_idle: self.flag("was_idle")?,
        })
    }

    fn totals(&self) -> Result<Totals, Failure> {
        Ok(Totals {
            joined: self.number("t_joined")?,
            admitted: self.number("t_admitted")?,
            claimed: self.number("t_claimed")?,
            no_shows: self.number("t_no_shows")?,
            absent: self.number("t_absent")?,
            returned: self.number("t_returned")?,
            absence_ended: self.number("t_absence_ended")?,
            left: self.number("t_left")?,
            dwells: self.number("t_dwells")?,
            dwell_ms: self.number("t_dwell_ms")?,
            stays: self.number("t_stays")?,
            stay_ms: self.number("t_stay_ms")?,
            mass_absences: self.number("t_mass_absences")?,
        })
    }

    /// Rooms of an older release have none of it.
    fn flow(&self) -> Result<Flow, Failure> {
        let of = |name: &str| self.0.get(name).map_or("", String::as_str);
        let names =
            ["auto_since", "auto_why", "auto_window", "auto_joined", "auto_busy", "words"].map(of);
        flow_text::from_fields(names).ok_or_else(|| Failure::odd_answer("a flow that is none"))
    }

    fn lineage(&self) -> Result<Lineage, Failure> {
        let begins = recovery_text::begins(self.text("begins")?);
        let begins = begins.ok_or_else(|| Failure::odd_answer("a lineage that is none"))?;
        let origin = match self.text("origin")? {
            "" => None,
            _ => Some(self.number("origin")?),
        };
        Ok(Lineage { origin, begins })
    }

    /// A recovery under way, without its sets.
    fn recovery(&self) -> Result<Option<Recovery>, Failure> {
        if !self.flag("recovering")? {
            return Ok(None);
        }
        let awaited = recovery_text::nodes(self.text("rec_awaited")?);
        let oldest = match self.text("rec_oldest")? {
            "" => None,
            _ => Some(self.number("rec_oldest")?),
        };
        Ok(Some(Recovery {
            began: Timestamp(self.number("rec_began")?),
            told: (self.number("rec_told_in")?, self.number("rec_told_no")?),
            told_at: Timestamp(self.number("rec_told_at")?),
            top: self.number("rec_top")?,
            oldest,
            operated: self.flag("rec_operated")?,
            awaited: awaited.ok_or_else(|| Failure::odd_answer("nodes that are none"))?,
            ..Recovery::default()
        }))
    }
}
