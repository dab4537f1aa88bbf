//! The whole configuration and how it is loaded. Holds no rule about single values.

use std::collections::BTreeMap;

use crate::layers;
use crate::problems::ConfigErrors;
use crate::protect::{self, Protect};
use crate::read::Reader;
use crate::settings::{Http, Log, Node, Ops, Records, Store, Telemetry};
use crate::sources::Sources;
use crate::validate;

/// A checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub http: Http,
    pub ops: Ops,
    pub node: Node,
    /// `None`: no site is behind.
    pub protect: Option<Protect>,
    pub store: Store,
    pub records: Records,
    pub log: Log,
    pub telemetry: Telemetry,
    /// What the keys of `[protect]` were given as, in TOML; there is no secret in them.
    pub(crate) protect_given: BTreeMap<&'static str, String>,
    /// Which step gave each key.
    pub(crate) origins: BTreeMap<&'static str, String>,
}

impl Config {
    /// Lays the four steps over each other and checks the result.
    ///
    /// # Errors
    /// Every problem there is, not only the first.
    pub fn load(sources: &Sources) -> Result<Config, ConfigErrors> {
        let mut problems = Vec::new();
        let layers = layers::stack(sources, &mut problems);
        let mut reader = Reader { layers: &layers, problems };
        let (http, ops) = (http(&mut reader), ops(&mut reader));
        let (node, protect) = (node(&mut reader), protect::read(&mut reader));
        let store = store(&mut reader);
        let (records, log) = (records(&mut reader), log(&mut reader));
        let telemetry = telemetry(&mut reader);
        if let (Some(http), Some(ops)) = (&http, &ops) {
            let site = protect.as_ref().and_then(Option::as_ref);
            validate::across(http, ops, site, &mut reader);
        }
        if let (Some(node), Some(store)) = (&node, &store) {
            validate::roles(node, store, &mut reader);
        }
        let problems = reader.problems;
        let of_protect = layers.iter().filter(|(key, _)| key.starts_with("protect."));
        let protect_given =
            of_protect.map(|(key, given)| (*key, given.value.to_string())).collect();
        let origins = layers.into_iter().map(|(key, given)| (key, given.origin)).collect();
        let whole = || {
            let (http, ops, node, protect, store) = (http?, ops?, node?, protect?, store?);
            let (records, log, telemetry) = (records?, log?, telemetry?);
            Some(Config {
                http,
                ops,
                node,
                protect,
                store,
                records,
                log,
                telemetry,
                protect_given,
                origins,
            })
        };
        match whole() {
            Some(config) if problems.is_empty() => Ok(config),
            _ => Err(ConfigErrors { problems }),
        }
    }
}

impl Default for Config {
    /// The built-in step alone.
    fn default() -> Self {
        Config::load(&Sources::default()).expect("default.toml is valid: a test loads it")
    }
}

/// Every key is read before any of them gives up, so that all problems are found.
fn http(reader: &mut Reader<'_>) -> Option<Http> {
    let listen = reader.address("http.listen");
    let public_url = reader.origin_url("http.public_url");
    let trusted_proxies = reader.networks("http.trusted_proxies");
    let forwarded_header = reader.forwarded_header("http.forwarded_header");
    let max_connections = reader.number("http.max_connections");
    let request_timeout = reader.span("http.request_timeout_ms");
    let header_read_timeout = reader.span("http.header_read_timeout_ms");
    let body_max_bytes = reader.number("http.body_max_bytes");
    let join_limit_per_minute = reader.number_u32("http.join_limit_per_minute");
    let join_limit_burst = reader.number_u32("http.join_limit_burst");
    let newcomer_limit_per_minute = reader.number_u32("http.newcomer_limit_per_minute");
    let newcomer_limit_burst = reader.number_u32("http.newcomer_limit_burst");
    let network_limit_per_minute = reader.number_u32("http.network_limit_per_minute");
    let network_limit_burst = reader.number_u32("http.network_limit_burst");
    let pass_limit_per_s = reader.number_u32("http.pass_limit_per_s");
    let pass_limit_burst = reader.number_u32("http.pass_limit_burst");
    let stream_max = reader.number("http.stream_max");
    let stream_small_room = reader.number("http.stream_small_room");
    let stream_near_front = reader.number("http.stream_near_front");
    let write_stall_timeout = reader.span("http.write_stall_timeout_ms");
    let drain_notice = reader.span("http.drain_notice_ms");
    let drain_timeout = reader.span("http.drain_timeout_ms");
    Some(Http {
        listen: listen?,
        public_url: public_url?,
        trusted_proxies: trusted_proxies?,
        forwarded_header: forwarded_header?,
        max_connections: max_connections?,
        request_timeout: request_timeout?,
        header_read_timeout: header_read_timeout?,
        body_max_bytes: body_max_bytes?,
        join_limit_per_minute: join_limit_per_minute?,
        join_limit_burst: join_limit_burst?,
        newcomer_limit_per_minute: newcomer_limit_per_minute?,
        newcomer_limit_burst: newcomer_limit_burst?,
        network_limit_per_minute: network_limit_per_minute?,
        network_limit_burst: network_limit_burst?,
        pass_limit_per_s: pass_limit_per_s?,
        pass_limit_burst: pass_limit_burst?,
        stream_max: stream_max?,
        stream_small_room: stream_small_room?,
        stream_near_front: stream_near_front?,
        write_stall_timeout: write_stall_timeout?,
        drain_notice: drain_notice?,
        drain_timeout: drain_timeout?,
    })
}

fn ops(reader: &mut Reader<'_>) -> Option<Ops> {
    Some(Ops { listen: reader.address("ops.listen")? })
}

fn node(reader: &mut Reader<'_>) -> Option<Node> {
    Some(Node { roles: reader.roles("node.roles")? })
}

fn store(reader: &mut Reader<'_>) -> Option<Store> {
    let data_dir = reader.path("store.data_dir");
    let url = reader.store_url("store.url");
    let key_prefix = reader.key_prefix("store.key_prefix");
    let ca_file = reader.maybe_path("store.ca_file");
    let joins = reader.joins("store.joins");
    Some(Store {
        data_dir: data_dir?,
        url: url?,
        key_prefix: key_prefix?,
        ca_file: ca_file?,
        joins: joins?,
    })
}

fn records(reader: &mut Reader<'_>) -> Option<Records> {
    let url = reader.records_url("records.url");
    let start_wait = reader.span("records.start_wait_ms");
    Some(Records { url: url?, start_wait: start_wait? })
}

fn log(reader: &mut Reader<'_>) -> Option<Log> {
    let level = reader.log_level("log.level");
    let format = reader.log_format("log.format");
    Some(Log { level: level?, format: format? })
}

fn telemetry(reader: &mut Reader<'_>) -> Option<Telemetry> {
    let otlp_endpoint = reader.collector_url("telemetry.otlp_endpoint");
    let sample_ratio = reader.ratio("telemetry.sample_ratio");
    let service_name = reader.name("telemetry.service_name");
    Some(Telemetry {
        otlp_endpoint: otlp_endpoint?,
        sample_ratio: sample_ratio?,
        service_name: service_name?,
    })
}
