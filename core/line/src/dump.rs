//! dump: a room's whole state in one canonical form, by which stores are held equal to this core.

use jari_units::{Mark, Millis, Seq, SubjectKey};

use crate::ledger::{Clocks, Control, Ledger};
use crate::{Descent, Flow, PacerState, Pass, Passes, Room, SeqSet, Settings, Totals};

/// Every field that later behaviour depends on; ended places and stale presence, which nobody can observe, left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    pub mark: Mark,
    pub next_seq: Seq,
    pub settings: Settings,
    pub control: Control,
    pub clocks: Clocks,
    pub serving: Seq,
    pub served: u64,
    pub bucket: u64,
    pub pacer: PacerState,
    pub w: SeqSet,
    pub cur: SeqSet,
    pub prev: SeqSet,
    pub passes: Vec<(Seq, Pass)>,
    pub once: SeqSet,
    pub marks: Vec<(Millis, Seq)>,
    pub sweep_cursor: Seq,
    pub grant_no: u64,
    pub live_quota: u64,
    pub totals: Totals,
    pub descent: Descent,
    pub flow: Flow,
    pub subjects: Vec<(SubjectKey, Seq)>,
    pub blocked: Vec<SubjectKey>,
    pub allowed: Vec<SubjectKey>,
}

impl Room {
    #[must_use]
    pub fn dump(&self) -> Dump {
        let ledger = &self.ledger;
        let mut subjects: Vec<_> =
            self.subjects.iter().filter(|(_, seq)| ledger.is_live(*seq)).collect();
        subjects.sort_unstable();
        Dump {
            mark: ledger.mark(),
            next_seq: ledger.next_seq,
            settings: ledger.settings.clone(),
            control: ledger.control.clone(),
            clocks: ledger.clocks,
            serving: ledger.serving,
            served: ledger.served,
            bucket: ledger.bucket,
            pacer: ledger.pacer,
            w: ledger.w.clone(),
            cur: ledger.cur.intersection(&ledger.w),
            prev: ledger.prev.intersection(&ledger.w),
            passes: ledger.passes.iter().map(|(seq, pass)| (seq, *pass)).collect(),
            once: ledger.once.clone(),
            marks: ledger.marks.iter().copied().collect(),
            sweep_cursor: ledger.sweep_cursor,
            grant_no: ledger.grant_no,
            live_quota: ledger.live_quota,
            totals: ledger.totals,
            descent: ledger.descent.clone(),
            flow: ledger.flow.clone(),
            subjects,
            blocked: self.subjects.blocked.iter().copied().collect(),
            allowed: self.subjects.allowed.iter().copied().collect(),
        }
    }
}

impl Ledger {
    /// The ledger that a dump shows: how a store that keeps rooms elsewhere hands one to replicas.
    #[must_use]
    pub fn from_dump(dump: Dump) -> Ledger {
        let mut passes = Passes::default();
        for (seq, pass) in dump.passes {
            passes.put(seq, pass);
        }
        Ledger {
            incarnation: dump.mark.incarnation,
            event_no: dump.mark.event_no,
            next_seq: dump.next_seq,
            settings: dump.settings,
            control: dump.control,
            clocks: dump.clocks,
            serving: dump.serving,
            served: dump.served,
            bucket: dump.bucket,
            pacer: dump.pacer,
            w: dump.w,
            cur: dump.cur,
            prev: dump.prev,
            passes,
            once: dump.once,
            marks: dump.marks.into(),
            sweep_cursor: dump.sweep_cursor,
            grant_no: dump.grant_no,
            live_quota: dump.live_quota,
            totals: dump.totals,
            descent: dump.descent,
            flow: dump.flow,
        }
    }
}
