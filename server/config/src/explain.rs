//! The configuration in effect as TOML, each value with where it came from. The output can be used as a file.

use std::fmt::Write;

use toml::Value;

use crate::config::Config;
use crate::fields::FIELDS;
use crate::settings::{ForwardedHeader, Joins, LogFormat};

impl Config {
    /// The effective configuration as TOML, with the origin of each value as a comment. A password is replaced by a
    /// word: it has to be put back before the text is used as a file.
    ///
    /// # Panics
    /// Never: the origin of every key is kept.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let mut section = "";
        for field in FIELDS {
            let (of, key) = field.key.split_once('.').expect("each key of the table has a section");
            if of != section {
                let gap = if section.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{gap}[{of}]");
                section = of;
            }
            let given = self.protect_given.get(field.key);
            let value = given.cloned().unwrap_or_else(|| self.value(field.key).to_string());
            let origin = &self.origins[field.key];
            let _ = writeln!(text, "{key} = {value} # {origin}");
        }
        text
    }

    /// The value of a key, as the file would have it.
    fn value(&self, key: &str) -> Value {
        let Config { http, ops, node, store, records, log, telemetry, .. } = self;
        let text = |text: &dyn ToString| Value::String(text.to_string());
        match key {
            "http.listen" => text(&http.listen),
            "http.public_url" => {
                let url = http.public_url.as_ref().map_or("", url::Url::as_str);
                text(&url.trim_end_matches('/'))
            }
            "http.trusted_proxies" => {
                Value::Array(http.trusted_proxies.iter().map(|network| text(network)).collect())
            }
            "http.forwarded_header" => text(&match http.forwarded_header {
                ForwardedHeader::XForwardedFor => "x-forwarded-for",
                ForwardedHeader::Forwarded => "forwarded",
            }),
            "http.max_connections" => number(http.max_connections),
            "http.request_timeout_ms" => number(http.request_timeout.0),
            "http.header_read_timeout_ms" => number(http.header_read_timeout.0),
            "http.body_max_bytes" => number(http.body_max_bytes),
            "http.join_limit_per_minute" => number(http.join_limit_per_minute.into()),
            "http.join_limit_burst" => number(http.join_limit_burst.into()),
            "http.newcomer_limit_per_minute" => number(http.newcomer_limit_per_minute.into()),
            "http.newcomer_limit_burst" => number(http.newcomer_limit_burst.into()),
            "http.network_limit_per_minute" => number(http.network_limit_per_minute.into()),
            "http.network_limit_burst" => number(http.network_limit_burst.into()),
            "http.pass_limit_per_s" => number(http.pass_limit_per_s.into()),
            "http.pass_limit_burst" => number(http.pass_limit_burst.into()),
            "http.stream_max" => number(http.stream_max),
            "http.stream_small_room" => number(http.stream_small_room),
            "http.stream_near_front" => number(http.stream_near_front),
            "http.write_stall_timeout_ms" => number(http.write_stall_timeout.0),
            "http.drain_notice_ms" => number(http.drain_notice.0),
            "http.drain_timeout_ms" => number(http.drain_timeout.0),
            "ops.listen" => text(&ops.listen),
            "node.roles" => {
                Value::Array(node.roles.iter().map(|role| text(&role.as_str())).collect())
            }
            "store.data_dir" => text(&store.data_dir.display()),
            "records.url" => records.url.as_ref().map_or_else(|| text(&""), |url| text(url)),
            "records.start_wait_ms" => number(records.start_wait.0),
            "store.url" => text(&store.url.as_ref().map_or_else(String::new, ToString::to_string)),
            "store.key_prefix" => text(&store.key_prefix),
            "store.ca_file" => {
                let file = store.ca_file.as_ref();
                text(&file.map_or_else(String::new, |file| file.display().to_string()))
            }
            "store.joins" => text(&match store.joins {
                Joins::Together => "together",
                Joins::Apart => "apart",
            }),
            "log.level" => text(&log.level),
            "log.format" => text(&match log.format {
                LogFormat::Text => "text",
                LogFormat::Json => "json",
                LogFormat::Auto => "auto",
            }),
            "telemetry.otlp_endpoint" => {
                let url = telemetry.otlp_endpoint.as_ref().map_or("", url::Url::as_str);
                text(&url.trim_end_matches('/'))
            }
            "telemetry.sample_ratio" => Value::Float(telemetry.sample_ratio.share()),
            "telemetry.service_name" => text(&telemetry.service_name),
            other => unreachable!("{other} is in the table of fields but not in Config"),
        }
    }
}

fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
