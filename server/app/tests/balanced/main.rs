//! Several nodes behind a real nginx and a real Envoy, by the very configurations in `deploy/`: what visitors notice when a
//! node dies, hangs or is replaced (nothing that costs them their place), and that no limit of a balancer is met before
//! Jari's own.

mod configured;
mod crowd;
mod deaths;
mod edge;
mod house;
mod many;
mod page;
mod repeats;
mod replaced;
mod seen;

/// The program under test.
const JARI: &str = env!("CARGO_BIN_EXE_jari");

/// Figures that are part of what a run shows.
#[expect(
    clippy::print_stdout,
    reason = "nextest shows a test's output on success for this program"
)]
fn report(figures: std::fmt::Arguments<'_>) {
    println!("{figures}");
}
