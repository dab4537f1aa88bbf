//! `jari-conformance`: prints the list of clauses, stores and sizes. `cargo xtask conformance` puts it on its page. Runs no
//! store: stores' own tests do.
#![expect(clippy::print_stdout, reason = "a command-line tool: what it prints is its result")]

fn main() {
    print!("{}", jari_conformance::list::markdown());
}
