//! `jari demo` as a person runs it: a real process on free ports, a small crowd, Ctrl-C. Checks no rule of the line.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The demo's process; ended by its own handle, whatever the test finds.
struct Demo {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}

impl Demo {
    fn start(folder: &std::path::Path) -> Demo {
        let mut process = Command::new(env!("CARGO_BIN_EXE_jari"))
            .args(["demo", "--crowd", "60", "--rate", "50", "--opens-in", "1"])
            .args(["--listen", "127.0.0.1:0"])
            .env("TMPDIR", folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let output = process.stdout.take().expect("it was piped");
        Demo { process, lines: BufReader::new(output).lines() }
    }

    /// Reads on until a line for which `found` gives something. The demo prints every few seconds for as long as it
    /// lives; when it ends, so does its output.
    fn until<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        for line in self.lines.by_ref() {
            if let Some(found) = found(&line.expect("text")) {
                return found;
            }
        }
        panic!("the demo ended without {what}");
    }

    fn interrupt(&self) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill starts");
        assert!(sent.success());
    }
}

/// The number in front of `name`, or behind it.
fn number(line: &str, name: &str, behind: bool) -> Option<u64> {
    let (before, after) = line.split_once(name)?;
    let word =
        if behind { after.split_whitespace().next() } else { before.split_whitespace().last() };
    word?.parse().ok()
}

#[tokio::test]
async fn a_crowd_moves_through_and_ctrl_c_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut demo = Demo::start(folder.path());
    let address = |line: &str, name: &str| {
        line.strip_prefix(name)?.split_whitespace().next().map(str::to_owned)
    };
    let room = demo.until("a room page", |line| address(line, "Waiting room"));
    let page = demo.until("a protected page", |line| address(line, "Protected page"));
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let answer = browser.expect("a client").get(&page).send().await.expect("it answers");
    assert_eq!(answer.headers()["location"], room.as_str(), "without a pass one is sent to wait");
    demo.until("anybody inside", |line| {
        number(line, "  inside ", true).filter(|inside| *inside > 0)
    });
    assert!(folder.path().read_dir().expect("readable").next().is_some(), "the data is there");
    demo.interrupt();
    let entered = demo.until("a summary", |line| number(line, "  went in", false));
    let broken = demo.until("its last line", |line| number(line, "  positions that rose", false));
    assert!(entered > 0);
    assert_eq!(broken, 0, "Q1, Q2: nobody's place changed and no shown position rose");
    demo.until("the line's totals", |line| line.starts_with("The line: ").then_some(()));
    assert!(demo.lines.by_ref().map_while(Result::ok).all(|line| line.is_empty()), "nothing more");
    assert!(demo.process.wait().expect("it ends").success());
    assert!(folder.path().read_dir().expect("readable").next().is_none(), "the data is removed");
}
