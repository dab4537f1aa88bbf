//! Every key with its unit and what it may be: the one table behind validation, `explain` and the reference page.

/// A key of the configuration.
#[derive(Debug)]
pub(crate) struct Field {
    /// Path in the TOML file: `section.key`.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    /// What is allowed, for people.
    pub(crate) allowed: &'static str,
}

/// What a value is, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    List,
    Number {
        unit: &'static str,
        min: u64,
        max: u64,
    },
    /// A share, from 0 to 1.
    Ratio,
}

/// Every variable that sets a key begins with this.
pub(crate) const VARIABLE_PREFIX: &str = "JARI__";

const fn text(key: &'static str, allowed: &'static str) -> Field {
    Field { key, kind: Kind::Text, allowed }
}

const fn number(
    key: &'static str,
    unit: &'static str,
    (min, max): (u64, u64),
    allowed: &'static str,
) -> Field {
    Field { key, kind: Kind::Number { unit, min, max }, allowed }
}

/// All keys, in the order of `default.toml`.
pub(crate) const FIELDS: &[Field] = &[
    text("http.listen", "an IP address and port"),
    text("http.public_url", "an http or https URL without a path"),
    Field {
        key: "http.trusted_proxies",
        kind: Kind::List,
        allowed: "a list of networks in CIDR form or single addresses",
    },
    text("http.forwarded_header", "x-forwarded-for, or forwarded (RFC 7239)"),
    number("http.max_connections", "connections", (0, 10_000_000), "0 to 10000000 connections"),
    number("http.request_timeout_ms", "ms", (100, 600_000), "100 to 600000 ms"),
    number("http.header_read_timeout_ms", "ms", (100, 300_000), "100 to 300000 ms"),
    number("http.body_max_bytes", "bytes", (1_024, 16_777_216), "1024 to 16777216 bytes"),
    number(
        "http.join_limit_per_minute",
        "joins per minute",
        (0, 1_000_000),
        "0 to 1000000 joins per minute",
    ),
    number("http.join_limit_burst", "joins", (1, 1_000_000), "1 to 1000000 joins"),
    number(
        "http.newcomer_limit_per_minute",
        "newcomers per minute",
        (0, 1_000_000),
        "0 to 1000000 newcomers per minute",
    ),
    number("http.newcomer_limit_burst", "newcomers", (1, 1_000_000), "1 to 1000000 newcomers"),
    number(
        "http.network_limit_per_minute",
        "newcomers per minute",
        (0, 1_000_000),
        "0 to 1000000 newcomers per minute",
    ),
    number("http.network_limit_burst", "newcomers", (1, 1_000_000), "1 to 1000000 newcomers"),
    number(
        "http.pass_limit_per_s",
        "requests per second",
        (0, 1_000_000),
        "0 to 1000000 requests per second",
    ),
    number("http.pass_limit_burst", "requests", (1, 1_000_000), "1 to 1000000 requests"),
    number("http.stream_max", "streams", (0, 1_000_000), "0 to 1000000 streams"),
    number("http.stream_small_room", "people", (0, 1_000_000), "0 to 1000000 people"),
    number("http.stream_near_front", "people", (0, 1_000_000), "0 to 1000000 people"),
    number("http.write_stall_timeout_ms", "ms", (1_000, 300_000), "1000 to 300000 ms"),
    number("http.drain_notice_ms", "ms", (0, 600_000), "0 to 600000 ms"),
    number("http.drain_timeout_ms", "ms", (0, 600_000), "0 to 600000 ms"),
    text("ops.listen", "an IP address and port"),
    Field { key: "node.roles", kind: Kind::List, allowed: "a list of web, gate and admitter" },
    text("protect.upstream", "an http or https URL of a host and port, or \"\" to protect nothing"),
    text("protect.listen", "an IP address and port"),
    text("protect.public_url", "an http or https URL without a path"),
    text("protect.tls_cert", "a path, or \"\" for plain HTTP"),
    text("protect.tls_key", "a path, or \"\" for plain HTTP"),
    text("protect.ca_file", "a path, or \"\" for the system's"),
    text("protect.server_name", "a host's name or address, or \"\" for the upstream's"),
    text("protect.room", "a room's id: 1 to 64 of a-z, 0-9 and '-'"),
    text("protect.path", "a path: exact, with * for any text, or * at its end for all below"),
    Field { key: "protect.exclude", kind: Kind::List, allowed: "a list of paths of the same form" },
    Field {
        key: "protect.rules",
        kind: Kind::List,
        allowed: "sections [[protect.rules]] with room, and host, path, exclude where they matter",
    },
    text("protect.host_header", "keep, or upstream"),
    number("protect.connect_timeout_ms", "ms", (10, 60_000), "10 to 60000 ms"),
    number("protect.response_timeout_ms", "ms", (100, 3_600_000), "100 to 3600000 ms"),
    number("protect.idle_timeout_ms", "ms", (1_000, 86_400_000), "1000 to 86400000 ms"),
    number("protect.max_upstream", "requests", (1, 100_000), "1 to 100000 requests"),
    text("store.data_dir", "a path"),
    text(
        "store.url",
        "a redis:// or rediss:// URL, also with +cluster (several hosts, split by commas) or +sentinel",
    ),
    text("store.key_prefix", "1 to 64 letters, digits, '-', '_', '.' or ':'"),
    text("store.ca_file", "a path, or \"\" for the system's"),
    text("store.joins", "together or apart"),
    text("records.url", "a postgres URL that names a database"),
    number("records.start_wait_ms", "ms", (0, 600_000), "0 to 600000 ms"),
    text("log.level", "off, error, warn, info, debug or trace"),
    text("log.format", "text, json, or auto"),
    text("telemetry.otlp_endpoint", "an http or https URL without user name, query and fragment"),
    Field { key: "telemetry.sample_ratio", kind: Kind::Ratio, allowed: "0 to 1" },
    text("telemetry.service_name", "1 to 100 characters"),
];

/// The field of a key that the code itself names.
pub(crate) fn field(key: &str) -> &'static Field {
    find(key).expect("the code names only keys of the table")
}

pub(crate) fn find(key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.key == key)
}

/// Most changes of letters after which a wrong key still looks like a slip of the known one.
const SLIP_MAX: usize = 4;

/// The known key that an unknown one was probably meant to be.
pub(crate) fn nearest(unknown: &str) -> Option<&'static str> {
    let last = |key: &str| key.rsplit('.').next().map(str::to_owned);
    let moved = FIELDS.iter().find(|field| last(field.key) == last(unknown));
    let distance = |field: &&Field| strsim::damerau_levenshtein(field.key, unknown);
    let slip = FIELDS.iter().min_by_key(distance).filter(|field| distance(field) <= SLIP_MAX);
    slip.or(moved).map(|field| field.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_key_that_was_meant() {
        for (unknown, want) in [
            ("http.listen", Some("http.listen")),
            ("htttp.listen", Some("http.listen")),
            ("http.request_timeout", Some("http.request_timeout_ms")),
            ("http.data_dir", Some("store.data_dir")),
            ("data_dir", Some("store.data_dir")),
            ("redis.cluster_nodes", None),
        ] {
            assert_eq!(nearest(unknown), want, "{unknown}");
        }
    }

    #[test]
    fn the_texts_of_numbers_give_their_bounds() {
        for field in FIELDS {
            if let Kind::Number { unit, min, max } = field.kind {
                assert_eq!(field.allowed, format!("{min} to {max} {unit}"), "{}", field.key);
            }
        }
    }
}
