//! Spellings that begin on a guarded path and leave it, and the like: what a proxy takes out before it decides must not be in
//! what the site gets, which may read it in another way.

use std::collections::BTreeSet;

use jari_servers::BalancerKind;
use url::Url;

use crate::stage::{Stage, status};
use crate::with_each_proxy;

/// A proxy that normalises finds what needs no pass in most of these; the site may find the guarded path in each.
const SPELLINGS: [&str; 26] = [
    "/tickets/../about",
    "/tickets/..",
    "/tickets/x/../../about",
    "/tickets/./../about",
    "/tickets/%2e%2e/about",
    "/tickets/.%2E/about",
    "/tickets/..%2fabout",
    "/tickets%2f..%2fabout",
    "/tickets%2F%2e%2E",
    "/tickets/..%5cabout",
    "/tickets\\..\\about",
    "/tickets/..\\about",
    "/tickets/..;/about",
    "/tickets/x;/../../about",
    "/tickets/..#x",
    "/about#/../tickets/1",
    "//about/tickets/1",
    "///about/tickets/1",
    "/%2fabout/tickets/1",
    "/%2Fabout%2Ftickets%2F1",
    "/\\about/tickets/1",
    "/%5cabout/tickets/1",
    "/x/..%20/tickets/1",
    "/x/%20../tickets/1",
    "/x/.../tickets/1",
    "http://shop.example.com/tickets/../about",
];

/// The paths that one site or another finds in a target: as it is written, decoded, an address of its own, without dots
/// however they are dressed.
fn readings(target: &str) -> BTreeSet<String> {
    let path = target.split('?').next().unwrap_or_default();
    let decoded = decoded(path);
    let base = Url::parse("http://site.example/").expect("an address");
    let mut readings = BTreeSet::new();
    for text in [path, &decoded] {
        readings.insert(text.to_owned());
        let bare = text.split('/').map(|part| part.split(';').next().unwrap_or_default().trim());
        let bare = bare.map(|part| if is_dots(part) { ".." } else { part });
        readings.insert(without_dots(&bare.collect::<Vec<_>>()));
        readings.extend(base.join(text).map(|url| url.path().to_owned()));
        let from_host = text.strip_prefix("//").map(|rest| rest.trim_start_matches('/'));
        let cut = from_host.and_then(|rest| rest.find('/').map(|end| rest[end..].to_owned()));
        readings.extend(cut);
    }
    readings
}

fn is_dots(part: &str) -> bool {
    part.len() > 1 && part.bytes().all(|byte| byte == b'.')
}

fn without_dots(parts: &[&str]) -> String {
    let mut kept = Vec::new();
    for part in parts {
        match *part {
            "" | "." => {}
            ".." => _ = kept.pop(),
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

fn decoded(text: &str) -> String {
    let digit = |byte: Option<&u8>| (*byte? as char).to_digit(16);
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let pair =
            (bytes[at] == b'%').then(|| (digit(bytes.get(at + 1)), digit(bytes.get(at + 2))));
        if let Some((Some(high), Some(low))) = pair {
            out.push(u8::try_from(high * 16 + low).expect("two digits are a byte"));
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_guarded(target: &str) -> bool {
    readings(target).iter().any(|path| path.to_lowercase().starts_with("/tickets"))
}

async fn issue_5_attack_no_spelling_leaves_a_guarded_path_for_the_proxy_alone(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let mut faults = Vec::new();
    for target in SPELLINGS {
        for target in [target.to_owned(), format!("{target}?x=/about")] {
            let before = stage.site.seen().len();
            let request = format!(
                "GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nAccept: */*\r\nConnection: close\r\n\r\n"
            );
            let answer = stage.exchange(&request).await;
            let seen = stage.site.seen()[before..].to_vec();
            let guarded = seen.iter().any(|seen| is_guarded(&seen.target));
            let answered = matches!(status(&answer), 400 | 404 | 428) || !seen.is_empty();
            if guarded || !answered {
                let targets: Vec<_> = seen.into_iter().map(|seen| seen.target).collect();
                faults.push(format!("{target}: {} {targets:?}", status(&answer)));
            }
        }
    }
    assert!(faults.is_empty(), "{kind:?}:\n{}", faults.join("\n"));
    // A query is no path, and dots within a name are none.
    for target in ["/about?a=/../b//c", "/about/..x/x.y/.well-known", "/about//x", "/about?..", "/"]
    {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\n\r\n");
        let answer = stage.exchange(&request).await;
        assert_eq!(status(&answer), 200, "{target}: {answer}");
    }
}

#[test]
fn the_readings_find_a_guarded_path_in_what_a_site_could_be_sent() {
    for target in SPELLINGS.iter().filter(|target| !target.contains(['\\', '#'])) {
        assert!(is_guarded(target.trim_start_matches("http://shop.example.com")), "{target}");
    }
    for target in ["/about", "/about?x=/tickets", "/about/tickets/1", "/about/..x"] {
        assert!(!is_guarded(target), "{target}");
    }
}

with_each_proxy! {
    issue_5_attack_no_spelling_leaves_a_guarded_path_for_the_proxy_alone
}
