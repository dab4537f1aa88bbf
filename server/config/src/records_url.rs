//! The address of the records' database: the one value of the configuration that may hold a secret.

use std::fmt;

use url::Url;

const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// A database's address. Shows no password.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordsUrl(Url);

impl RecordsUrl {
    pub(crate) fn parse(text: &str) -> Result<RecordsUrl, String> {
        let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
        if !SCHEMES.contains(&url.scheme()) {
            return Err("is not postgres or postgresql".to_owned());
        }
        if url.path().trim_start_matches('/').is_empty() {
            return Err("names no database".to_owned());
        }
        Ok(RecordsUrl(url))
    }

    /// As it was given: for the driver alone.
    #[must_use]
    pub fn with_password(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for RecordsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(self.0.as_str()))
    }
}

impl fmt::Debug for RecordsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that may be a URL, without the password in it: also one that cannot be read, since a slip in an address is no
/// reason to show its password.
pub(crate) fn redacted(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) => {
            if url.query_pairs().any(|(key, _)| key.contains("password")) {
                url.set_query(Some("redacted"));
            } else if url.password().is_none() {
                return text.to_owned();
            }
            if url.password().is_some() {
                // Fails only for URLs that can have no password.
                let _ = url.set_password(Some("redacted"));
            }
            url.to_string()
        }
        Err(_) if text.contains("://") && text.contains('@') => "redacted".to_owned(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_whatever_the_text() {
        for (text, shown) in [
            ("postgres://a:hunter2@h/d", "postgres://a:redacted@h/d"),
            ("postgres://a@h/d?password=hunter2", "postgres://a@h/d?redacted"),
            ("postgres://a:hunter2@h:port/d", "redacted"),
            ("postgres://a@h/d", "postgres://a@h/d"),
            ("127.0.0.1:80", "127.0.0.1:80"),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
        }
        let url = RecordsUrl::parse("postgres://a:hunter2@h/d").unwrap();
        assert_eq!(format!("{url} {url:?}").matches("hunter2").count(), 0);
        assert_eq!(url.with_password(), "postgres://a:hunter2@h/d");
    }
}
