//! Which room guards an address of a protected site: rules that bind hosts and paths to rooms, and the reading of a
//! request's target so that no spelling of a guarded path slips past. And where visitors may be led back to. Knows no HTTP,
//! no pass and no cookie.
//!
//! A path has many readings: upstreams decode once or twice, fold case, collapse slashes, cut parameters. A path is
//! guarded where *any* reading is, and open only where *all* are. What reads as two different rooms, or cannot be read
//! at all, is refused.

mod host;
mod origin;
mod pattern;
#[cfg(test)]
mod properties;
mod readings;
mod return_urls;
mod rules;
mod spelling;
mod target;

pub use host::{Host, HostError};
pub use origin::{ORIGINS_MAX, Origin, OriginError};
pub use pattern::{Pattern, PatternError};
pub use return_urls::{
    ADDRESS_MAX_BYTES, Destination, Destinations, RETURN_URL_MAX_BYTES, RETURN_URLS_MAX, ReturnUrl,
    ReturnUrlError,
};
pub use rules::{Judgement, Rule, Rules, RulesError};
pub use target::{Target, Unclear};
