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

const _: () = assert!(ADMIT_MAX as usize <= JOIN_BATCH_MAX);
const _: () = assert!(SWEEP_SLICE.is_multiple_of(8), "slices start at whole presence bytes");
const _: () = assert!(TICK_LATE.0 > TICK.0);
