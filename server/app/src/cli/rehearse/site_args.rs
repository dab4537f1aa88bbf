//! The flags that give a rehearsal a site which says how it does, for the pacer `signal`.

use clap::Args;
use jari_line::{PacerKind, Settings};
use jari_rehearsal::Site;

use crate::cli::Failure;

#[derive(Debug, Args)]
#[command(next_help_heading = "Site")]
pub(super) struct SiteArgs {
    /// The site says busy from this many people at it on. For the pacer signal; without, nobody says anything.
    #[arg(long, value_name = "N", requires = "site_overloaded_at")]
    site_busy_at: Option<u64>,
    /// And overloaded from this many on.
    #[arg(long, value_name = "N", requires = "site_busy_at")]
    site_overloaded_at: Option<u64>,
}

impl SiteArgs {
    /// # Errors
    /// Where the numbers contradict each other, or the pacer would not listen.
    pub(super) fn site(&self, settings: &Settings) -> Result<Option<Site>, Failure> {
        let (Some(busy_at), Some(overloaded_at)) = (self.site_busy_at, self.site_overloaded_at)
        else {
            return Ok(None);
        };
        if busy_at > overloaded_at {
            let told = "--site-busy-at is above --site-overloaded-at: a site is busy before it is overloaded";
            return Err(Failure::failed(told.to_owned()));
        }
        if !matches!(settings.pacer, PacerKind::Signal(_)) {
            let told = "--site-busy-at is what the pacer signal hears, and this room has another; say --pacer signal";
            return Err(Failure::failed(told.to_owned()));
        }
        Ok(Some(Site { busy_at, overloaded_at }))
    }
}
