//! The line store that the configuration names: in the data folder, or on Redis for several nodes.

use std::path::PathBuf;
use std::sync::Arc;

use jari_config::{Config, Store, StoreUrl};
use jari_embedded::{EmbeddedStore, StoreStats};
use jari_ports::{Clock, LineStore, TickLeases};
use jari_redis::{RedisOptions, RedisStore};

use crate::serve::ServeError;

#[derive(Clone, Debug)]
pub(crate) enum Lines {
    Embedded(Arc<EmbeddedStore>),
    Redis(Arc<RedisStore>),
}

impl Lines {
    /// Opens the store. The embedded one takes its time from `clock`; on Redis the server's is everybody's, and it need not
    /// answer yet.
    pub(crate) async fn open(config: &Config, clock: Arc<dyn Clock>) -> Result<Lines, ServeError> {
        let Store { data_dir, url, key_prefix, ca_file, joins: _ } = config.store.clone();
        let Some(url) = url else {
            let opened = tokio::task::spawn_blocking(move || EmbeddedStore::open(&data_dir, clock));
            return Ok(Lines::Embedded(Arc::new(opened.await??)));
        };
        std::fs::create_dir_all(&data_dir).map_err(|source| unusable(data_dir, source))?;
        let options = redis_options(&url, key_prefix, ca_file)?;
        let store = RedisStore::open(options)?;
        if let Some(error) = store.greet().await? {
            tracing::warn!(
                %error,
                "{error}. This node starts all the same: it is not ready (/readyz) until the store answers, and tells visitors when to come back"
            );
        }
        Ok(Lines::Redis(Arc::new(store)))
    }

    pub(crate) fn port(&self) -> Arc<dyn LineStore> {
        match self {
            Lines::Embedded(store) => store.clone(),
            Lines::Redis(store) => store.clone(),
        }
    }

    /// Who ticks which rooms: this process all of them, or one of several nodes its share.
    pub(crate) fn leases(&self) -> Arc<dyn TickLeases> {
        match self {
            Lines::Embedded(store) => store.clone(),
            Lines::Redis(store) => store.clone(),
        }
    }

    /// The lines are in the data folder, whose records they belong to.
    pub(crate) fn are_here(&self) -> bool {
        matches!(self, Lines::Embedded(_))
    }

    /// What the embedded store counts of itself; Redis counts for itself.
    pub(crate) fn stats(&self) -> Option<StoreStats> {
        match self {
            Lines::Embedded(store) => Some(store.stats()),
            Lines::Redis(_) => None,
        }
    }

    /// Finishes what was sent. On Redis nothing is kept that could be lost.
    pub(crate) async fn close(self) {
        let Lines::Embedded(store) = self else {
            return;
        };
        let closed = tokio::task::spawn_blocking(move || store.close());
        if let Err(error) = closed.await {
            tracing::error!(%error, "closing the store failed: {error}");
        }
    }
}

/// Whether the store that the configuration names could be opened, as far as can be told without it.
///
/// # Errors
/// As [`Lines::open`]'s.
pub(crate) fn check(config: &Config) -> Result<(), ServeError> {
    let Store { data_dir: _, url, key_prefix, ca_file, joins: _ } = config.store.clone();
    match url {
        Some(url) => Ok(redis_options(&url, key_prefix, ca_file)?.check()?),
        None => Ok(()),
    }
}

/// The store that several nodes may share, where the configuration names one. Connects nowhere yet.
///
/// # Errors
/// As [`Lines::open`]'s.
pub(crate) fn shared(config: &Config) -> Result<Option<RedisStore>, ServeError> {
    let Store { data_dir: _, url, key_prefix, ca_file, joins: _ } = config.store.clone();
    let Some(url) = url else { return Ok(None) };
    Ok(Some(RedisStore::open(redis_options(&url, key_prefix, ca_file)?)?))
}

fn redis_options(
    url: &StoreUrl,
    key_prefix: String,
    ca_file: Option<PathBuf>,
) -> Result<RedisOptions, ServeError> {
    let mut options = RedisOptions::new(url.with_secrets()).prefix(key_prefix);
    if let Some(file) = ca_file {
        options = options.trust(std::fs::read(&file).map_err(|source| unusable(file, source))?);
    }
    Ok(options)
}

fn unusable(path: PathBuf, source: std::io::Error) -> ServeError {
    ServeError::Path { path, source }
}
