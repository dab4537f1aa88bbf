//! Cookies as a browser keeps them: the newest value that an answer sets is the one that is sent. Sends nothing.

use http::HeaderMap;
use http::header::SET_COOKIE;
use parking_lot::Mutex;

/// What is kept in the first cookie whose name begins so.
pub(crate) fn token<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.filter_map(|text| text.split(';').next()?.split_once('='));
    pairs.find(|(own, _)| own.starts_with(name)).map(|(_, token)| token)
}

/// A visitor's pass, as their browser keeps it.
#[derive(Debug)]
pub(crate) struct PassCookie {
    name: String,
    /// As the next request sends it.
    pair: Mutex<String>,
}

impl PassCookie {
    pub(crate) fn new(room: &str, token: &str) -> Self {
        let name = format!("jari_pass_{room}");
        let pair = Mutex::new(format!("{name}={token}"));
        PassCookie { name, pair }
    }

    pub(crate) fn sent(&self) -> String {
        self.pair.lock().clone()
    }

    /// Keeps what an answer renews.
    pub(crate) fn keep(&self, headers: &HeaderMap) {
        if let Some(token) = token(headers, &self.name) {
            *self.pair.lock() = format!("{}={token}", self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_renewed_pass_is_the_one_that_is_sent() {
        let cookie = PassCookie::new("bench", "old");
        let mut answer = HeaderMap::new();
        cookie.keep(&answer);
        assert_eq!(cookie.sent(), "jari_pass_bench=old");
        for set in ["jari_visitor=x; Path=/", "jari_pass_bench=new; Path=/; HttpOnly"] {
            answer.append(SET_COOKIE, HeaderValue::from_static(set));
        }
        cookie.keep(&answer);
        assert_eq!(cookie.sent(), "jari_pass_bench=new");
    }
}
