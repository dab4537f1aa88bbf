//! Every key that a script touches was declared in its call: neither a server nor a Cluster checks it, MONITOR shows it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use jari_conformance::{Harness, clauses, leases, oracle, recovery, recovery_history};
use jari_line::GroupSettings;
use jari_servers::{Kind, Server};

use crate::conformance::{fresh, runtime};
use crate::leases::shared;
use crate::losing::lossy;

/// What MONITOR says of one command: whether a script ran it, and its words.
struct Monitored {
    in_script: bool,
    words: Vec<String>,
}

/// `1700000000.123456 [0 127.0.0.1:5000] "SET" "a\"b" "c"`, or `[0 lua]` for a script's.
fn parse(line: &str) -> Option<Monitored> {
    let (head, rest) = line.split_once("] ")?;
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match (character, &mut word) {
            ('"', None) => word = Some(String::new()),
            ('"', Some(_)) => words.extend(word.take()),
            ('\\', Some(text)) => text.extend(characters.next()),
            (other, Some(text)) => text.push(other),
            (_, None) => {}
        }
    }
    Some(Monitored { in_script: head.ends_with("lua"), words })
}

/// The keys (and the channel, which is in the same slot) among a command's words.
fn keys(words: &[String]) -> &[String] {
    match words[0].to_uppercase().as_str() {
        "TIME" | "INFO" => &[],
        "BITOP" => &words[2..],
        "UNLINK" | "DEL" | "EXISTS" => &words[1..],
        "RENAME" => &words[1..3],
        _ => &words[1..2],
    }
}

fn declared(words: &[String]) -> BTreeSet<String> {
    let count: usize = words[2].parse().expect("the number of keys");
    words[3..3 + count].iter().cloned().collect()
}

/// Plays something of everything.
fn play(url: &str) {
    let runtime = runtime();
    let _entered = runtime.enter();
    oracle::check_histories("declared keys", (6, 300), None, &|| fresh(url), &|history| {
        runtime.block_on(history)
    });
    runtime.block_on(clauses::check_all(&|| fresh(url)));
    recovery_history::check_histories(
        "declared keys",
        (6, 200),
        None,
        &|| lossy(url),
        &|history| runtime.block_on(history),
    );
    runtime.block_on(recovery::check_all(&|| lossy(url)));
    runtime.block_on(leases::check_all(&|| shared(url)));
    runtime.block_on(async {
        let harness: Box<dyn Harness> = fresh(url);
        let room = "gone".parse().expect("an id");
        let limits = GroupSettings { capacity: 1, rate_milli: 1, burst: 1 };
        let group = "some".parse().expect("an id");
        harness.store().set_group(&group, limits, vec![room]).await.expect("set");
        harness.store().set_group(&group, limits, Vec::new()).await.expect("set");
        let nobody = "nobody".parse().expect("an id");
        assert_eq!(harness.store().served(&nobody).await, Ok(None));
        assert_eq!(harness.store().probe().await, Ok(None));
    });
}

#[test]
fn every_key_that_a_script_touches_was_declared() {
    let server = Server::start(Kind::Redis);
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("it listens");
    let mut monitor = BufReader::new(stream);
    monitor.get_mut().write_all(b"MONITOR\r\n").expect("it takes a command");
    let watching = std::thread::spawn(move || watch(&mut monitor));
    play(&server.url());
    // Seen by the monitor last, since one server does one thing after the other.
    server.ask("ECHO the-end");
    let scripts = watching.join().expect("no key was undeclared");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");
    let files = std::fs::read_dir(folder).expect("the scripts are there").flatten();
    let all = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "lua"));
    assert_eq!(scripts, all.count(), "every script was called");
}

/// Checks every line until the end; how many different scripts were called.
fn watch(monitor: &mut impl BufRead) -> usize {
    let mut scripts = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut touched = 0;
    for line in monitor.lines() {
        let line = line.expect("MONITOR goes on");
        let Some(Monitored { in_script, words }) = parse(&line) else { continue };
        match words[0].to_uppercase().as_str() {
            "ECHO" => break,
            "EVALSHA" | "EVAL" => {
                known = declared(&words);
                if words[0] == "EVALSHA" {
                    scripts.insert(words[1].clone());
                }
            }
            _ if in_script => {
                for key in keys(&words) {
                    assert!(known.contains(key), "{key} was not declared: {line}");
                    touched += 1;
                }
            }
            _ => {}
        }
    }
    assert!(touched > 10_000, "{touched} keys seen");
    scripts.len()
}
