//! The endpoints, one file each: a handler parses, calls one thing and maps its answer.

pub(crate) mod admin;
pub(crate) mod admit;
pub(crate) mod challenge;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod gate;
pub(crate) mod join;
pub(crate) mod key_set;
pub(crate) mod passes;
pub(crate) mod place;
pub(crate) mod room;
pub(crate) mod signal;
pub(crate) mod steer;
pub(crate) mod visitors;
