//! Several admitters on one Redis, as processes: who ticks what, and that nothing they do to each other lets anybody in too
//! many, too soon or out of order. What happened is read from the rooms' streams, and checked by `watch`.

mod clocks;
mod cut_off;
mod groups;
mod held_up;
mod leases;
mod nodes;
mod proxy;
mod quiet;
mod roles;
mod stopped;
mod watch;

/// The program under test.
const JARI: &str = env!("CARGO_BIN_EXE_jari");
