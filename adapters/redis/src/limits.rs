//! Named limits of the Redis store, each with its unit and reason. Those of the scripts are handed to them by name.

use std::time::Duration;

use jari_line::{Ledger, StoreClock};
use jari_units::{Millis, limits};

/// The layout of a room's keys. It rises where an older script would misread what a newer one wrote.
pub(crate) const FORMAT: u64 = 1;

/// How long one call may take: a tick must fit in a second, a visitor's request in its deadline.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(2);

/// Calls under way at once: enough to keep a server busy over any distance, few enough that the last one is answered well
/// within the deadline (512 joins take it a millisecond).
pub(crate) const CALLS_MAX: usize = 256;

/// How long making a connection may take, with TLS and sign-in; a whole Cluster is looked up in it too.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(2);

/// Tries of one call in a Cluster, where a slot moves or a node is gone, and the longest pause before one in milliseconds:
/// all within the call's deadline, so that a node that refuses is told as one and not as silence.
pub(crate) const CLUSTER_RETRIES: u32 = 4;
pub(crate) const CLUSTER_RETRY_MIN_MS: u64 = 20;
pub(crate) const CLUSTER_RETRY_MAX_MS: u64 = 200;

/// Calls that fail in a row before the breaker opens: one lost answer is no outage.
pub(crate) const BREAKER_FAILURES: u32 = 5;

/// First pause before a server that failed is tried again, and the longest one: double each time, half of it by chance,
/// so that the nodes do not come back in step.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(100);
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(5);

/// The connection that hears of new events is asked this often whether it still lives, and as often for a channel that could
/// not be had.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(5);

/// Between two looks at what the servers do when their memory is full: it is set by hand, seldom.
pub(crate) const EVICTION_CHECK: Duration = Duration::from_secs(60);

/// After a start or a failed look: the connection comes with the first call.
pub(crate) const EVICTION_CHECK_FIRST: Duration = Duration::from_secs(1);

/// A refusal that only a change of the configuration mends is told in the log at most so often.
pub(crate) const BARRED_TOLD_EVERY: Duration = Duration::from_secs(60);

/// A subscriber looks for events by itself this often, should a word of them ever be lost.
pub(crate) const FEED_CHECK: Duration = Duration::from_secs(60);

/// Events read at once: the largest ones have a quarter of a megabyte.
pub(crate) const FEED_READ: usize = 32;

/// Passes or subjects in one script call; longer lists go as several calls.
pub(crate) const CALL_MAX: usize = limits::JOIN_BATCH_MAX;

/// Attempts to change a limit group before its callers' rush counts as an outage.
pub(crate) const SWAP_ATTEMPTS: usize = 16;

/// Calls under way at once where one operation needs many (a group's rooms, the list of rooms).
pub(crate) const PARALLEL: usize = 64;

/// A room that wants ticks and has had none for this long is told to the index again: two missed ones are no sign yet.
const UNTICKED: Millis = Millis(3_000);

/// Rooms whose entry in the index of due rooms is looked at with each question: a thousand rooms in a minute, a
/// millisecond each time.
pub(crate) const DUE_CHECKED: usize = 16;

/// A node that served a room and does not say, for so long after the room's server began anew, whether it misses anything:
/// twice the longest pause between its tries to connect.
const ASKING_MAX: Millis = Millis(10_000);

/// Between two rounds over all rooms: with few of them each would be looked after four times a second. A room that the index
/// was not told of has had nobody in it until that moment, so that no lull begins before the round comes to it; and whoever
/// asks there is told to the index by their node sooner ([`UNTICKED`], and a flush of presence).
pub(crate) const ROUND_REST: Duration = Duration::from_secs(5);

/// The index of due rooms is asked this often though no word came that it changed: words can be lost. Short against the 5 s
/// without a tick that make a lull.
pub(crate) const DUE_KEPT: Duration = Duration::from_secs(2);

/// What the index said is asked for anew along with a renewal of the leases where it would not last until a look after the next
/// one: that spares the call of its own. Not with each renewal, for it may name ten thousand rooms.
pub(crate) const DUE_ASKED_ALONG: Duration =
    Duration::from_millis(limits::LEASE_RENEWED_EVERY.0 + 250);

/// Receipts that one field of a room that recovers holds: a million are eight thousand fields, and a new one writes less
/// than a kilobyte.
pub(crate) const RECEIPT_CHUNK: usize = 128;

/// Bytes and events of one of the two segments that a room's stream keeps: some seconds of a rush, half an hour of ticks.
const EV_SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
const EV_SEGMENT_EVENTS: u64 = 2_048;

/// Bytes of an event that is told whole with the word of it, and not read by each node: every tick, and the joins of some
/// forty people. Larger ones would be sent to nodes that are late, which then read them again with others.
const EV_TOLD_BYTES: u64 = 1_024;

/// Entries of the index that one tick looks at to clear it of ended places: under a millisecond, and more than half of
/// them are ended ones, more than a tick admits.
const CLEAR_SHARE: u64 = 512;

/// When the scripts tidy up; tests do it early, so that histories meet it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tidying {
    /// Places cut off the bitmaps at once. A multiple of 8.
    pub(crate) rebase_bits: u64,
    /// Seconds of the line clock between attempts, as each looks at the unclaimed passes.
    pub(crate) rebase_ticks: u64,
    /// Ended places that the index may hold in any case.
    pub(crate) clear_min: u64,
}

/// In production: 128 KB of each bitmap at once; 80 KB of the index.
pub(crate) const TIDYING: Tidying =
    Tidying { rebase_bits: 1 << 20, rebase_ticks: 64, clear_min: 1_000 };

/// Unclaimed passes that an attempt to cut the bitmaps off looks at; with more it waits.
const REBASE_UNCLAIMED_MAX: u64 = 50_000;

const _: () = assert!(
    DUE_ASKED_ALONG.as_millis() as u64 + limits::LEASE_RENEWED_EVERY.0
        < DUE_KEPT.as_millis() as u64,
    "not with each renewal"
);
const _: () = assert!(TIDYING.rebase_bits.is_multiple_of(8));
const _: () =
    assert!(CLUSTER_RETRIES as u64 * CLUSTER_RETRY_MAX_MS < CALL_DEADLINE.as_millis() as u64);
const _: () = assert!(ASKING_MAX.0 > limits::RECOVERY_MIN.0, "the silent have until then");
const _: () = assert!(EV_SEGMENT_BYTES > 8 * limits::SEEN_MAX_BYTES as u64);

/// The scripts' constants: names and values.
pub(crate) fn for_scripts(tidying: Tidying) -> Vec<(&'static str, u64)> {
    vec![
        ("FORMAT", FORMAT),
        ("UNTICKED", UNTICKED.0),
        ("CHUNK", RECEIPT_CHUNK as u64),
        ("SEQ_MAX", limits::SEQ_MAX),
        ("SEQ_JUMP", limits::SEQ_JUMP),
        ("RECOVERY_WINDOW", limits::RECOVERY_WINDOW.0),
        ("RECOVERY_MIN", limits::RECOVERY_MIN.0),
        ("ASKING_MAX", ASKING_MAX.0),
        ("NODE_FRESH", limits::NODE_FRESH.0),
        ("ATTEND_EVERY", limits::ATTEND_EVERY.0),
        ("NODES_MAX", limits::NODES_MAX as u64),
        ("LINEAGE_MAX", limits::LINEAGE_MAX as u64),
        ("TOKEN", 1_000_000),
        ("LEASE", limits::LEASE.0),
        ("TICK", limits::TICK.0),
        ("TICK_LATE", limits::TICK_LATE.0),
        ("TICKETS_A_SECOND", Ledger::TICKETS_A_SECOND),
        ("SLEW", StoreClock::SLEW),
        ("EXPIRE_MAX", limits::EXPIRE_MAX as u64),
        ("SWEEP_SLICE", limits::SWEEP_SLICE),
        ("MASS_ABSENCE_MIN", limits::MASS_ABSENCE_MIN),
        ("PAYMENT_EXTENSION_MAX", limits::PAYMENT_EXTENSION_MAX.0),
        ("SIGNAL_SOURCES_MAX", limits::SIGNAL_SOURCES_MAX as u64),
        ("SIGNAL_SPAN_MAX", limits::SIGNAL_SPAN_MAX.0),
        ("EV_SEGMENT_BYTES", EV_SEGMENT_BYTES),
        ("EV_SEGMENT_EVENTS", EV_SEGMENT_EVENTS),
        ("EV_TOLD_BYTES", EV_TOLD_BYTES),
        ("CLEAR_SHARE", CLEAR_SHARE),
        ("CLEAR_MIN", tidying.clear_min),
        ("REBASE_BITS", tidying.rebase_bits),
        ("REBASE_TICKS", tidying.rebase_ticks),
        ("REBASE_UNCLAIMED_MAX", REBASE_UNCLAIMED_MAX),
    ]
}
