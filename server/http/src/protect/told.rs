//! What a visitor is told whose request the site did not answer, and the way to the room of one who has no pass.

use axum::response::Response;
use jari_api::Code;
use jari_units::Millis;

use super::addressed::Addressed;
use super::upstream::Failed;
use super::{PREFIX, Site};
use crate::directory::RoomEntry;
use crate::original_url::room_page;
use crate::problem_response::Refusal;
use crate::reader::{Page, Reader};
use crate::state::AppState;

/// How soon to look again for a site that does not answer: it is being restarted, or it is not.
const LOOK_AGAIN: Millis = Millis(5_000);

/// The way to the room, with the way back to what was asked for.
pub(super) fn sent_to_room(
    reader: &Reader,
    state: &AppState,
    site: &Site,
    entry: &RoomEntry,
    addressed: &Addressed,
    why: (&'static str, Millis),
) -> Response {
    let room = entry.definition();
    let location =
        room_page(&format!("{PREFIX}/rooms/{}", room.id), Some(&addressed.path_and_query));
    let origin = site.options.public_url.as_str().trim_end_matches('/');
    let page = Page { location: &location, room_url: &format!("{origin}{location}") };
    reader.sent_to_room(&room, page, why, state.options.secure())
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Busy => Refusal::new(Code::SiteBusy),
            Failed::Unreachable | Failed::Broken => {
                Refusal::new(Code::SiteUnavailable).poll_after(LOOK_AGAIN)
            }
            Failed::Slow => Refusal::new(Code::SiteTimeout).poll_after(LOOK_AGAIN),
            Failed::Upload => Refusal::new(Code::RequestTimeout),
            Failed::Malformed => {
                Refusal::new(Code::BadRequest).detail("the body is not framed as HTTP wants it")
            }
        }
    }
}
