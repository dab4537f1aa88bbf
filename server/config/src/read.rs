//! Reading a key as what it is: a number in its bounds, an address, a list of networks. Each refusal becomes a problem.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use jari_units::Millis;
use toml::Value;
use url::Url;

use crate::fields::{self, Kind};
use crate::layers::Layers;
use crate::problems::Problem;
use crate::records_url::{RecordsUrl, redacted};
use crate::settings::{ForwardedHeader, Joins, LogFormat, Ratio, Role, StoreUrl};

/// Characters of a name that every span carries.
const NAME_MAX: usize = 100;

const STORE_SCHEMES: [&str; 6] =
    ["redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel"];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads keys out of the layers; what cannot be read is `None` and a problem.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) layers: &'a Layers,
    pub(crate) problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Notes that a key's value is wrong.
    pub(crate) fn refuse(&mut self, key: &'static str, wrong: String, fix: String) {
        let given = &self.layers[key];
        let value = shown(key, &given.value);
        let origin = given.origin.clone();
        self.problems.push(Problem { key: key.to_owned(), value, origin, wrong, fix });
    }

    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        match parse(&self.layers[key].value) {
            Ok(value) => Some(value),
            Err(wrong) => {
                let fix = format!("use {}", fields::field(key).allowed);
                self.refuse(key, wrong, fix);
                None
            }
        }
    }

    pub(crate) fn text<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.read(key, |value| match value {
            Value::String(text) => parse(text),
            other => Err(format!("is {}, not a text in quotes", kind_of(other))),
        })
    }

    pub(crate) fn number(&mut self, key: &'static str) -> Option<u64> {
        let Kind::Number { min, max, .. } = fields::field(key).kind else {
            unreachable!("{key} is read as a number but is none in the table");
        };
        self.read(key, |value| match value {
            Value::Integer(number) => u64::try_from(*number)
                .ok()
                .filter(|number| (min..=max).contains(number))
                .ok_or_else(|| "is out of its bounds".to_owned()),
            other => Err(format!("is {}, not a whole number", kind_of(other))),
        })
    }

    pub(crate) fn number_u32(&mut self, key: &'static str) -> Option<u32> {
        self.number(key).map(|number| {
            u32::try_from(number).expect("the table bounds what is read as 32 bits below 2^32")
        })
    }

    pub(crate) fn span(&mut self, key: &'static str) -> Option<Millis> {
        self.number(key).map(Millis)
    }

    pub(crate) fn ratio(&mut self, key: &'static str) -> Option<Ratio> {
        self.read(key, |value| {
            let share = match value {
                Value::Float(share) => *share,
                Value::Integer(share @ 0..=1) => *share as f64,
                Value::Integer(_) => return Err("is out of its bounds".to_owned()),
                other => return Err(format!("is {}, not a number", kind_of(other))),
            };
            Ratio::of(share).ok_or_else(|| "is out of its bounds".to_owned())
        })
    }

    pub(crate) fn name(&mut self, key: &'static str) -> Option<String> {
        self.text(key, |text| match text.chars().count() {
            0 => Err("is empty".to_owned()),
            1..=NAME_MAX => Ok(text.to_owned()),
            count => Err(format!("has {count} characters")),
        })
    }

    /// `None` is a problem, `Some(None)` an empty text.
    pub(crate) fn collector_url(&mut self, key: &'static str) -> Option<Option<Url>> {
        self.text(key, |text| match text {
            "" => Ok(None),
            _ => web_url(text).map(Some),
        })
    }

    pub(crate) fn address(&mut self, key: &'static str) -> Option<SocketAddr> {
        self.text(key, |text| text.parse().map_err(|_| "is not an IP address and port".to_owned()))
    }

    pub(crate) fn path(&mut self, key: &'static str) -> Option<PathBuf> {
        self.text(key, |text| match text {
            "" => Err("is empty".to_owned()),
            _ => Ok(text.into()),
        })
    }

    /// `None` is a problem, `Some(None)` an empty text.
    pub(crate) fn maybe_path(&mut self, key: &'static str) -> Option<Option<PathBuf>> {
        self.text(key, |text| Ok(Some(text).filter(|text| !text.is_empty()).map(PathBuf::from)))
    }

    /// `None` is a problem, `Some(None)` an empty text. The store itself reads the rest of it.
    pub(crate) fn store_url(&mut self, key: &'static str) -> Option<Option<StoreUrl>> {
        self.text(key, |text| match text.split_once("://") {
            _ if text.is_empty() => Ok(None),
            Some((scheme, rest)) if STORE_SCHEMES.contains(&scheme) && !rest.is_empty() => {
                Ok(Some(StoreUrl(text.to_owned())))
            }
            _ => Err("is no URL of a store".to_owned()),
        })
    }

    pub(crate) fn key_prefix(&mut self, key: &'static str) -> Option<String> {
        self.text(key, |text| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
            if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
                Ok(text.to_owned())
            } else {
                Err("is no prefix of keys".to_owned())
            }
        })
    }

    pub(crate) fn joins(&mut self, key: &'static str) -> Option<Joins> {
        self.text(key, |text| match text {
            "together" => Ok(Joins::Together),
            "apart" => Ok(Joins::Apart),
            _ => Err("is none of the two ways".to_owned()),
        })
    }

    /// `None` is a problem, `Some(None)` an empty text.
    pub(crate) fn origin_url(&mut self, key: &'static str) -> Option<Option<Url>> {
        self.text(key, |text| match text {
            "" => Ok(None),
            _ => origin_url(text).map(Some),
        })
    }

    /// `None` is a problem, `Some(None)` an empty text.
    pub(crate) fn records_url(&mut self, key: &'static str) -> Option<Option<RecordsUrl>> {
        self.text(key, |text| match text {
            "" => Ok(None),
            _ => RecordsUrl::parse(text).map(Some),
        })
    }

    pub(crate) fn networks(&mut self, key: &'static str) -> Option<Vec<IpNet>> {
        self.read(key, |value| match value {
            Value::Array(items) => items.iter().map(network).collect(),
            other => Err(format!("is {}, not a list", kind_of(other))),
        })
    }

    /// In the order of [`Role::ALL`], each once.
    pub(crate) fn roles(&mut self, key: &'static str) -> Option<Vec<Role>> {
        self.read(key, |value| match value {
            Value::Array(items) => {
                let named: Vec<Role> = items.iter().map(role).collect::<Result<_, _>>()?;
                match named.is_empty() {
                    true => Err("is empty, so that the node would do nothing".to_owned()),
                    false => {
                        Ok(Role::ALL.into_iter().filter(|role| named.contains(role)).collect())
                    }
                }
            }
            other => Err(format!("is {}, not a list", kind_of(other))),
        })
    }

    pub(crate) fn forwarded_header(&mut self, key: &'static str) -> Option<ForwardedHeader> {
        self.text(key, |text| match text {
            "x-forwarded-for" => Ok(ForwardedHeader::XForwardedFor),
            "forwarded" => Ok(ForwardedHeader::Forwarded),
            _ => Err("is none of the two headers".to_owned()),
        })
    }

    pub(crate) fn log_level(&mut self, key: &'static str) -> Option<String> {
        self.text(key, |text| {
            let known = |level: &str| LEVELS.contains(&level);
            let wrong = text.split(',').find(|part| match part.split_once('=') {
                Some((module, level)) => module.trim().is_empty() || !known(level.trim()),
                None => !known(part.trim()),
            });
            match wrong {
                Some(part) => Err(format!("has no level in {part:?}")),
                None => Ok(text.to_owned()),
            }
        })
    }

    pub(crate) fn log_format(&mut self, key: &'static str) -> Option<LogFormat> {
        self.text(key, |text| match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            "auto" => Ok(LogFormat::Auto),
            _ => Err("is no log format".to_owned()),
        })
    }
}

pub(crate) fn origin_url(text: &str) -> Result<Url, String> {
    let url = web_url(text)?;
    if url.path() != "/" {
        return Err("has more than scheme, host and port".to_owned());
    }
    Ok(url)
}

fn web_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is not http or https".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or password in it".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a query or fragment in it".to_owned());
    }
    Ok(url)
}

/// Roles that the design names and that no release has yet.
const LATER_ROLES: [&str; 3] = ["relay", "resolver", "notices"];

fn role(item: &Value) -> Result<Role, String> {
    let Value::String(text) = item else {
        return Err(format!("has {} in it", kind_of(item)));
    };
    let known = Role::ALL.into_iter().find(|role| role.as_str() == text);
    known.ok_or_else(|| match LATER_ROLES.contains(&text.as_str()) {
        true => format!("has {text:?} in it, a role that this release does not have yet"),
        false => format!("has {text:?} in it, which is no role"),
    })
}

fn network(item: &Value) -> Result<IpNet, String> {
    let Value::String(text) = item else {
        return Err(format!("has {} in it", kind_of(item)));
    };
    let single = text.parse::<IpAddr>().map(IpNet::from);
    let network = single.or_else(|_| text.parse::<IpNet>());
    let network = network.map_err(|_| format!("has {text:?} in it, which is no network"))?;
    if network.prefix_len() == 0 {
        return Err(format!("has {text:?} in it, so that anybody could pretend to be any address"));
    }
    Ok(network.trunc())
}

/// Keys whose value may hold a password, and how a value begins that can be shown without it.
const SECRETS: [(&str, &[&str]); 2] = [
    ("records.url", &["postgres://", "postgresql://"]),
    ("store.url", &["redis://", "rediss://", "redis+", "rediss+"]),
];

/// A value as it is shown in messages: a URL's password is not, and nothing is of what should be one and is not.
fn shown(key: &str, value: &Value) -> String {
    if let Some((_, begins)) = SECRETS.iter().find(|(secret, _)| *secret == key) {
        let readable =
            |text: &str| text.is_empty() || begins.iter().any(|start| text.starts_with(start));
        return match value {
            Value::String(text) if readable(text) => format!("{:?}", redacted(text)),
            other => format!("{} that is not shown", kind_of(other)),
        };
    }
    match value {
        Value::String(text) => format!("{:?}", redacted(text)),
        _ => value.to_string(),
    }
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}
