//! Where the store is and how it is used, and whether that can be. Connects nowhere.

use std::sync::Arc;

use jari_ports::Clock;

use crate::OpenError;
use crate::address::Address;
use crate::limits::{TIDYING, Tidying};
use crate::rooms::Time;

/// Characters of a key prefix at most.
const PREFIX_MAX: usize = 64;

/// Where the store is and how it is used.
#[derive(Clone)]
pub struct RedisOptions {
    pub(crate) url: String,
    pub(crate) trust: Option<Vec<u8>>,
    pub(crate) prefix: String,
    pub(crate) time: Time,
    pub(crate) tidying: Tidying,
}

impl RedisOptions {
    /// The store at `url`: `redis://`, `rediss://`, `redis+cluster://`, `rediss+cluster://` or `redis+sentinel://`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        let prefix = "jari".to_owned();
        RedisOptions { url: url.into(), trust: None, prefix, time: Time::Server, tidying: TIDYING }
    }

    /// Whether a store could be opened so, as far as can be told without a server.
    ///
    /// # Errors
    /// [`OpenError`] for an address or a prefix that cannot be one.
    pub fn check(&self) -> Result<(), OpenError> {
        self.address().map(|_| ())
    }

    /// The address, with the certificates to trust.
    pub(crate) fn address(&self) -> Result<Address, OpenError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let prefix = &self.prefix;
        if prefix.is_empty() || prefix.len() > PREFIX_MAX || !prefix.bytes().all(fits) {
            return Err(OpenError::Prefix(prefix.clone()));
        }
        let address = Address { trust: self.trust.clone(), ..Address::parse(&self.url)? };
        if address.trust.is_some() && !self.url.starts_with("rediss") {
            let problem = "certificates to trust need rediss://".to_owned();
            return Err(OpenError::Address { url: address.shown, problem });
        }
        Ok(address)
    }

    /// What all keys begin with, so that several installations can share a server.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Certificates in PEM to trust instead of the system's, for `rediss://` and its like.
    #[must_use]
    pub fn trust(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust = Some(pem.into());
        self
    }

    /// For tests: takes the time from `clock` instead of the server.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.time = Time::Set(clock);
        self
    }

    /// For tests: cuts the bitmaps off by so many places, a multiple of 8, and clears the index as soon as it can be done.
    #[must_use]
    pub fn tidy_early(mut self, rebase_bits: u64) -> Self {
        self.tidying = Tidying { rebase_bits, rebase_ticks: 1, clear_min: 0 };
        self
    }
}

impl std::fmt::Debug for RedisOptions {
    /// The URL may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
