//! Prints the picture of the `signal` pacer that the documentation shows: `docs/explanation/signal-pacer.svg`.

#[path = "../tests/signal_pacer/simulation.rs"]
mod simulation;

#[expect(clippy::print_stdout, reason = "this program prints its picture")]
fn main() {
    print!("{}", simulation::picture(&simulation::play()));
}
