//! Named limits shared by several crates, each with its unit and the reason for the number.

use crate::Millis;

/// Characters in a room, group or tenant id: fits a cookie name, a metric label and a Redis key comfortably.
pub const ID_MAX_LEN: usize = 64;

/// People in one store call: above this the answer's latency grows without saving round trips.
pub const JOIN_BATCH_MAX: usize = 512;

/// Places one call may admit: bounds how long one atomic step blocks a store.
pub const ADMIT_MAX: u64 = 200;

/// Largest place number: JSON numbers and Redis scores are exact below 2^53.
pub const SEQ_MAX: u64 = (1 << 53) - 1;

/// Line ticks are due this often.
pub const TICK: Millis = Millis(1_000);

/// A tick later than this means Jari could not hear visitors: a lull starts.
pub const TICK_LATE: Millis = Millis(5_000);

/// Passes of each kind that one tick may end: bounds the tick's work after a long outage.
pub const EXPIRE_MAX: usize = 1_000;

/// Places one tick examines for absences that ran out.
pub const SWEEP_SLICE: u64 = 32_768;

/// A frontier step that passes fewer places than this is too small to tell an outage from no-shows.
pub const MASS_ABSENCE_MIN: u64 = 100;

/// Payment may keep one pass alive for this long in all.
pub const PAYMENT_EXTENSION_MAX: Millis = Millis::from_mins(15);

/// Bytes of an operator's notice or closing message: a few sentences on a phone.
pub const NOTICE_MAX_BYTES: usize = 1_000;

/// Bytes of presence bits in one call: one bit a place, two million places (`max_waiting`'s default) in one flush.
pub const SEEN_MAX_BYTES: usize = 262_144;

/// A room that lost history waits this long for nodes and visitors to tell what they know: every open page asks within
/// ten seconds, and a third of it is left for a slow one.
pub const RECOVERY_WINDOW: Millis = Millis(30_000);

/// A recovery ends no earlier, even where every node that is known has told everything: one that came in the moments
/// that were lost is known to nobody, and tells within a few tries.
pub const RECOVERY_MIN: Millis = Millis(5_000);

/// Numbers left out above the highest one that anybody has seen: more than are given in the seconds that a lagging copy
/// of a store can lack and no node heard of.
pub const SEQ_JUMP: u64 = 10_000;

/// Numbers that one call tells of while a room is restored: 32 KB of bits, eight calls for two million places.
pub const RESTORE_NUMBERS_MAX: u64 = 262_144;

/// Passes that one call tells of while a room is restored: bounds how long one atomic step blocks a store.
pub const RESTORE_PASSES_MAX: usize = 1_000;

/// A node that attended a room within this time is waited for before a recovery ends early.
pub const NODE_FRESH: Millis = Millis::from_secs(60);

/// A node's attendance is recorded at most this often: a lost one still leaves it fresh.
pub const ATTEND_EVERY: Millis = Millis(20_000);

/// Nodes that a room remembers; those heard of longest ago are forgotten first.
pub const NODES_MAX: usize = 64;

/// Whose words on a site's load a room remembers: a node each, and the site.
pub const SIGNAL_SOURCES_MAX: usize = 64;

/// A word on a site's load counts for no longer than this: what nobody repeats for so long is no news.
pub const SIGNAL_SPAN_MAX: Millis = Millis::from_mins(5);

/// Recoveries that old tokens of a room survive: one more than any incident needs, and a bound on what is stored.
pub const LINEAGE_MAX: usize = 16;

/// Bundles that all rooms are divided into for their ticks: shares of a dozen admitters differ by a fifth at most, and who
/// holds which is a word of bits.
pub const BUNDLES: u32 = 64;

/// An admitter that was not heard from for this long has lost its leases. With a renewal missed and another node's next one
/// it is below the 5 s that make a lull.
pub const LEASE: Millis = Millis(2_000);

/// An admitter renews its leases this often: one lost call loses none of them. Not oftener: renewals are a third of what a
/// line that stands asks of a store which several nodes share.
pub const LEASE_RENEWED_EVERY: Millis = Millis(800);

const _: () = assert!(LEASE.0 > 2 * LEASE_RENEWED_EVERY.0);
const _: () = assert!(LEASE.0 + LEASE_RENEWED_EVERY.0 + TICK.0 < TICK_LATE.0, "a death is no lull");
const _: () = assert!(RESTORE_NUMBERS_MAX.is_multiple_of(8), "parts start at whole bytes");
const _: () = assert!(NODE_FRESH.0 > 2 * ATTEND_EVERY.0);
const _: () = assert!(RECOVERY_WINDOW.0 > RECOVERY_MIN.0);
const _: () = assert!(RECOVERY_WINDOW.0 > 2 * TICK_LATE.0, "ticks are heard of within it");
const _: () = assert!(ADMIT_MAX as usize <= JOIN_BATCH_MAX);
const _: () = assert!(SWEEP_SLICE.is_multiple_of(8), "slices start at whole presence bytes");
const _: () = assert!(TICK_LATE.0 > TICK.0);
