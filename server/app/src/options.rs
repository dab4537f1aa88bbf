//! From the configuration to the HTTP server's options. Decides no number but those that have no key.

use std::time::Duration;

use jari_config::{Config, Http, Joins};
use jari_http::{
    ConnectionLimits, Deadlines, ForwardedHeader, HttpOptions, JoinLimit, PassLimit,
    ProtectOptions, Role, Roles, StreamLimits,
};
use jari_units::Millis;
use url::Url;

fn time(span: Millis) -> Duration {
    Duration::from_millis(span.0)
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn roles(config: &Config) -> Roles {
    let roles = config.node.roles.iter().map(|role| match role {
        jari_config::Role::Web => Role::Web,
        jari_config::Role::Gate => Role::Gate,
        jari_config::Role::Admitter => Role::Admitter,
    });
    roles.collect()
}

/// The options of a server reached at `public_url`, in a process that may open so many files.
pub(crate) fn http_options(
    config: &Config,
    public_url: Url,
    open_files: u64,
    protect: Option<ProtectOptions>,
) -> HttpOptions {
    let http: &Http = &config.http;
    let defaults = HttpOptions::new(public_url);
    HttpOptions {
        trusted_proxies: http.trusted_proxies.clone(),
        forwarded_header: match http.forwarded_header {
            jari_config::ForwardedHeader::XForwardedFor => ForwardedHeader::XForwardedFor,
            jari_config::ForwardedHeader::Forwarded => ForwardedHeader::Forwarded,
        },
        join_limit: JoinLimit {
            per_minute: http.join_limit_per_minute,
            burst: http.join_limit_burst,
        },
        newcomer_limit: JoinLimit {
            per_minute: http.newcomer_limit_per_minute,
            burst: http.newcomer_limit_burst,
        },
        network_limit: JoinLimit {
            per_minute: http.network_limit_per_minute,
            burst: http.network_limit_burst,
        },
        pass_limit: PassLimit { per_s: http.pass_limit_per_s, burst: http.pass_limit_burst },
        connections: ConnectionLimits {
            max: count(http.connections(open_files)),
            ..defaults.connections
        },
        deadlines: Deadlines {
            head: time(http.header_read_timeout),
            request: time(http.request_timeout),
            write_stall: time(http.write_stall_timeout),
            drain: time(http.drain_timeout),
            ..defaults.deadlines
        },
        body_max_bytes: count(http.body_max_bytes),
        streams: StreamLimits {
            max: http.stream_max,
            small_room: http.stream_small_room,
            near_front: http.stream_near_front,
        },
        joins: match config.store.joins {
            Joins::Together => jari_http::Joins::Together,
            Joins::Apart => jari_http::Joins::Apart,
        },
        roles: roles(config),
        protect,
        ..defaults
    }
}
