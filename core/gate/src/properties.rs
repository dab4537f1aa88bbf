//! Whatever an upstream could make of a path that was let through: decoders written apart from the readings, in every
//! combination, over paths put together from the tricks that are known.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use crate::{Host, Judgement, Rule, Rules, Target};

/// Pieces of tricky paths.
const PIECES: [&str; 46] = [
    "tickets",
    "TICKETS",
    "%74ickets",
    "t%69ckets",
    "%2574ickets",
    "ticket%C5%BF",
    "%EF%BD%94ickets",
    "assets",
    "ASSETS",
    "%61ssets",
    "x",
    "1",
    "/",
    "/",
    "/",
    "//",
    "%2f",
    "%2F",
    "%252f",
    "%25252F",
    "\\",
    "%5c",
    "%255C",
    ";",
    ";a=1",
    "%3b",
    "%253B",
    ".",
    "..",
    "%2e",
    "%252E",
    "%2e%2e",
    "%00",
    "%0a",
    "%20",
    "%c0%af",
    "%ff",
    "%EF%BC%8F",
    "%EF%BC%8E",
    "%3f",
    "%23",
    "%25",
    "%EC%98%88",
    "~",
    "a:1@b",
    "[::1]",
];

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..9)
        .prop_map(|pieces| format!("/{}", pieces.concat()))
}

/// What a server does to a path after taking it from the request line.
#[derive(Clone, Copy, Debug)]
struct Server {
    decodes: usize,
    /// Takes the path for an address without a scheme, after so many decodings; after everything else where that is more.
    host: Option<(Parser, usize)>,
    backslash: bool,
    parameters: bool,
    query: bool,
    trims: bool,
    folds: bool,
    composes: bool,
    collapses: bool,
    dots: bool,
}

/// Who cuts a host off a path.
#[derive(Clone, Copy, Debug)]
enum Parser {
    /// RFC 3986, appendix B: `^//([^/?#]*)`. Python's, for one.
    Rfc,
    /// The URL standard of browsers and Node.js: any two slashes or more, however they lean.
    Whatwg,
}

impl Parser {
    fn path_of(self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let leans = matches!(self, Parser::Whatwg);
        let slash = |c: char| c == '/' || (leans && c == '\\');
        let mut at = chars.iter().take_while(|c| slash(**c)).count();
        if at < 2 {
            return text.to_owned();
        }
        if !leans {
            at = 2;
        }
        while at < chars.len() && !slash(chars[at]) && !matches!(chars[at], '?' | '#') {
            at += 1;
        }
        let rest: String = chars[at..].iter().collect();
        if rest.starts_with(slash) { rest } else { format!("/{rest}") }
    }
}

fn server() -> impl Strategy<Value = Server> {
    let parser = proptest::sample::select(&[Parser::Rfc, Parser::Whatwg][..]);
    let host = proptest::option::of((parser, 0_usize..5));
    (0_usize..4, host, any::<[bool; 8]>()).prop_map(
        |(
            decodes,
            host,
            [backslash, parameters, query, trims, folds, composes, collapses, dots],
        )| {
            Server {
                decodes,
                host,
                backslash,
                parameters,
                query,
                trims,
                folds,
                composes,
                collapses,
                dots,
            }
        },
    )
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Server {
    fn path_of(self, text: String, now: impl Fn(usize) -> bool) -> String {
        match self.host {
            Some((parser, at)) if now(at) => parser.path_of(&text),
            _ => text,
        }
    }

    fn takes_for(self, sent: &str) -> String {
        let mut text = sent.to_owned();
        for decoded in 0..self.decodes {
            text = self.path_of(text, |at| at == decoded);
            text = decode(&text);
        }
        if self.composes {
            text = text.nfkc().collect();
        }
        if self.folds {
            text = text.to_uppercase().to_lowercase();
        }
        text = self.path_of(text, |at| at >= self.decodes);
        if self.backslash {
            text = text.replace('\\', "/");
        }
        if self.query {
            text.truncate(text.find(['?', '#']).unwrap_or(text.len()));
        }
        let mut segments: Vec<String> = Vec::new();
        for (no, segment) in text.split('/').enumerate() {
            let segment = if self.parameters {
                segment.split(';').next().unwrap_or_default()
            } else {
                segment
            };
            let segment = if self.trims { segment.trim_end_matches(['.', ' ']) } else { segment };
            match segment {
                "" if self.collapses && no > 0 => {}
                "." if self.dots => {}
                ".." if self.dots => {
                    segments.truncate(segments.len().saturating_sub(1).max(1));
                }
                segment => segments.push(segment.to_owned()),
            }
        }
        segments.join("/")
    }
}

fn rules(path: &str, exclude: &[&str]) -> Rules {
    let rule = Rule {
        host: None,
        path: path.parse().expect("a pattern"),
        exclude: exclude.iter().map(|pattern| pattern.parse().expect("a pattern")).collect(),
        room: "room".parse().expect("an id"),
    };
    Rules::new(vec![rule]).expect("rules")
}

/// The spelling that a server would get without a pass; `None` where it gets nothing.
fn let_through(rules: &Rules, path: &str) -> Option<String> {
    let host: Host = "shop.example".parse().expect("a host");
    let target = Target::read(path).ok()?;
    let open = rules.judge(&host, &target) == Ok(Judgement::Open);
    open.then(|| target.as_sent().to_owned())
}

fn below(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_server_takes_what_was_let_through_for_a_guarded_path(path in path(), server in server()) {
        if let Some(sent) = let_through(&rules("/tickets/*", &[]), &path) {
            let taken = server.takes_for(&sent);
            prop_assert!(!below("/tickets", &taken), "{path:?}, sent as {sent:?}, is {taken:?} to {server:?}");
        }
    }

    #[test]
    fn every_server_takes_what_was_let_through_for_an_excluded_path(path in path(), server in server()) {
        if let Some(sent) = let_through(&rules("/*", &["/assets/*"]), &path) {
            let taken = server.takes_for(&sent);
            prop_assert!(below("/assets", &taken), "{path:?}, sent as {sent:?}, is {taken:?} to {server:?}");
        }
    }

    /// What is sent on is judged as what came: no second proxy behind can be told another story.
    #[test]
    fn reading_what_is_sent_changes_nothing(path in path()) {
        if let Ok(target) = Target::read(&path) {
            prop_assert_eq!(Target::read(target.as_sent()), Ok(target.clone()));
        }
    }
}
