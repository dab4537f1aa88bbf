//! `[protect]`: the site behind, and the rules that bind its paths to rooms. What a rule means is in `jari-gate`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use jari_gate::{Host, Pattern, Rule, Rules};
use jari_units::{Millis, RoomId};
use toml::{Table, Value};
use url::Url;

use crate::read::{Reader, kind_of, origin_url};

/// The one rule as `default.toml` has it: room, path, and that nothing is excluded.
const ONE_RULE: (&str, &str, bool) = ("site", "/*", true);

/// `[protect]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protect {
    pub upstream: Url,
    pub listen: SocketAddr,
    /// `None`: derived, see [`Protect::public_url_at`].
    pub public_url: Option<Url>,
    /// `None`: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Who vouches for an https upstream; `None`: whom the system trusts.
    pub ca_file: Option<PathBuf>,
    /// The name in its certificate; `None`: the upstream's host.
    pub server_name: Option<String>,
    pub rules: Rules,
    pub host_header: HostHeader,
    pub connect_timeout: Millis,
    pub response_timeout: Millis,
    pub idle_timeout: Millis,
    pub max_upstream: u64,
}

/// Where the certificate is that visitors are shown, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The name that the site is asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostHeader {
    Keep,
    Upstream,
}

impl Protect {
    /// Where visitors find the site, whose listener is bound to `bound`; an unspecified address is called `localhost`.
    ///
    /// # Panics
    /// Never: an address and a port always make a URL.
    #[must_use]
    pub fn public_url_at(&self, bound: SocketAddr) -> Url {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = match bound.ip() {
            ip if ip.is_unspecified() => "localhost".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{host}:{}/", bound.port());
        Url::parse(&url).expect("an address and a port make a URL")
    }
}

/// `None` is a problem, `Some(None)` that no site is protected. Every key is read, so that all problems are found.
pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Option<Protect>> {
    let upstream = reader.text("protect.upstream", upstream);
    let listen = reader.address("protect.listen");
    let public_url = reader.origin_url("protect.public_url");
    let tls = tls(reader);
    let ca_file = reader.maybe_path("protect.ca_file");
    let server_name = reader.text("protect.server_name", |text| {
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    });
    let host_header = reader.text("protect.host_header", |text| match text {
        "keep" => Ok(HostHeader::Keep),
        "upstream" => Ok(HostHeader::Upstream),
        _ => Err("is none of the two".to_owned()),
    });
    let rules = rules(reader);
    let connect_timeout = reader.span("protect.connect_timeout_ms");
    let response_timeout = reader.span("protect.response_timeout_ms");
    let idle_timeout = reader.span("protect.idle_timeout_ms");
    let max_upstream = reader.number("protect.max_upstream");
    let (upstream, (rules, given), host_header) = (upstream?, rules?, host_header?);
    let (listen, public_url, max_upstream) = (listen?, public_url?, max_upstream?);
    let (connect_timeout, response_timeout) = (connect_timeout?, response_timeout?);
    let (idle_timeout, tls) = (idle_timeout?, tls?);
    let (ca_file, server_name) = (ca_file?, server_name?);
    if let (None, Some(given)) = (&upstream, given) {
        let wrong = format!("is missing, and {given} says what to guard");
        let fix = format!("name the site (--protect), or leave {given} out");
        reader.refuse("protect.upstream", wrong, fix);
        return None;
    }
    if host_header == HostHeader::Upstream && rules.hosts().len() > 1 {
        let wrong = "hides from the site which of the rules' hosts was asked for".to_owned();
        let fix = "use keep, or rules for one host".to_owned();
        reader.refuse("protect.host_header", wrong, fix);
        return None;
    }
    let is_https = upstream.as_ref().is_some_and(|upstream| upstream.scheme() == "https");
    for (key, is_set) in
        [("protect.ca_file", ca_file.is_some()), ("protect.server_name", server_name.is_some())]
    {
        if is_set && !is_https {
            let wrong = "says whom to take for the site, which is not asked over TLS".to_owned();
            let fix = "begin protect.upstream with https://, or leave it out".to_owned();
            reader.refuse(key, wrong, fix);
            return None;
        }
    }
    Some(upstream.map(|upstream| Protect {
        upstream,
        listen,
        public_url,
        tls,
        ca_file,
        server_name,
        rules,
        host_header,
        connect_timeout,
        response_timeout,
        idle_timeout,
        max_upstream,
    }))
}

/// `None` is a problem, `Some(None)` plain HTTP.
fn tls(reader: &mut Reader<'_>) -> Option<Option<TlsFiles>> {
    let cert = reader.maybe_path("protect.tls_cert");
    let key = reader.maybe_path("protect.tls_key");
    match (cert?, key?) {
        (None, None) => Some(None),
        (Some(cert), Some(key)) => Some(Some(TlsFiles { cert, key })),
        (cert, _) => {
            let (missing, other) = match cert {
                None => ("protect.tls_cert", "protect.tls_key"),
                Some(_) => ("protect.tls_key", "protect.tls_cert"),
            };
            reader.refuse(
                missing,
                format!("is missing beside {other}"),
                "name both files, or none".to_owned(),
            );
            None
        }
    }
}

fn upstream(text: &str) -> Result<Option<Url>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    origin_url(text).map(Some)
}

/// The rules of the list, else the one of `room`, `path` and `exclude`; and by which keys somebody has set them.
fn rules(reader: &mut Reader<'_>) -> Option<(Rules, Option<&'static str>)> {
    let several = reader.read("protect.rules", |value| match value {
        Value::Array(items) => items.iter().map(of_table).collect::<Result<Vec<_>, _>>(),
        other => Err(format!("is {}, not a list of sections", kind_of(other))),
    });
    let room = reader.text("protect.room", room);
    let path = reader.text("protect.path", pattern);
    let exclude = reader.read("protect.exclude", patterns);
    let (several, room, path, exclude) = (several?, room?, path?, exclude?);
    let key = if several.is_empty() { "protect.path" } else { "protect.rules" };
    let one = (room.as_str(), path.as_str(), exclude.is_empty()) != ONE_RULE;
    if !several.is_empty() && one {
        let wrong =
            "stands beside protect.room, path or exclude, which are a rule of their own".to_owned();
        let fix = "put that rule into the list".to_owned();
        reader.refuse("protect.rules", wrong, fix);
        return None;
    }
    let given = match several.is_empty() {
        false => Some("protect.rules"),
        true => one.then_some("protect.room, path or exclude"),
    };
    let rules = match several {
        rules if rules.is_empty() => vec![Rule { host: None, path, exclude, room }],
        rules => rules,
    };
    match Rules::new(rules) {
        Ok(rules) => Some((rules, given)),
        Err(error) => {
            reader.refuse(
                key,
                error.to_string(),
                "keep one rule for each host and path".to_owned(),
            );
            None
        }
    }
}

fn of_table(item: &Value) -> Result<Rule, String> {
    let Value::Table(table) = item else {
        return Err(format!("has {} in it, not a section; it is set in the file", kind_of(item)));
    };
    const KEYS: [&str; 4] = ["host", "path", "room", "exclude"];
    if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("has a key {unknown:?}, which there is not"));
    }
    let of = |key, why: String| format!("has a {key} that {why}");
    let host = match text(table, "host")? {
        None | Some("") => None,
        Some(host) => Some(host.parse::<Host>().map_err(|error| of("host", error.to_string()))?),
    };
    let path = pattern(text(table, "path")?.unwrap_or("/*")).map_err(|why| of("path", why))?;
    let name = text(table, "room")?.ok_or("has a section without room")?;
    let room = room(name).map_err(|why| of("room", why))?;
    let exclude = match table.get("exclude") {
        Some(value) => patterns(value).map_err(|why| of("exclude", why))?,
        None => Vec::new(),
    };
    Ok(Rule { host, path, exclude, room })
}

fn text<'a>(table: &'a Table, key: &str) -> Result<Option<&'a str>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("has a {key} that is {}, not a text", kind_of(other))),
    }
}

fn room(text: &str) -> Result<RoomId, String> {
    text.parse().map_err(|_| "is no room's id".to_owned())
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse().map_err(|error: jari_gate::PatternError| error.to_string())
}

fn patterns(value: &Value) -> Result<Vec<Pattern>, String> {
    let Value::Array(items) = value else {
        return Err(format!("is {}, not a list", kind_of(value)));
    };
    let one = |item: &Value| match item {
        Value::String(text) => {
            pattern(text).map_err(|why| format!("has {text:?} in it, which {why}"))
        }
        other => Err(format!("has {} in it", kind_of(other))),
    };
    items.iter().map(one).collect()
}

#[cfg(test)]
#[path = "protect_tests.rs"]
mod tests;
