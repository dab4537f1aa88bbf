//! Where an admitted person goes from the room's page, with the one-time token where the room hands one over.

use std::sync::atomic::Ordering;

use http::HeaderMap;
use jari_api::Code;
use jari_line::Standing;
use jari_pass::PassHandle;
use jari_ports::{Handover, RoomDefinition};
use url::Url;

use crate::directory::RoomEntry;
use crate::place_view::acknowledged_end;
use crate::problem_response::Refusal;
use crate::protect::PREFIX;
use crate::site_token::{self, Leaving};
use crate::state::AppState;
use crate::{identity, original_url, places};

/// What the token is called in the address that it is sent to.
const TOKEN: &str = "jari_pass";

/// The address on the room's own origin that makes the token at the moment of leaving.
#[must_use]
pub(crate) fn door(state: &AppState, room: &RoomDefinition) -> String {
    let root = if state.options.protect.is_some() { PREFIX } else { "" };
    format!("{root}/rooms/{}/go", room.id)
}

/// Where whoever asks goes now; `wanted` is where their tab wants to go, where it says so.
///
/// # Errors
/// Whatever a poll of their place is refused with; 401 `identity_required` where they hold only its receipt in an `entry`
/// room; 428 `pass_required` where they have no pass.
pub(crate) async fn address(
    state: &AppState,
    entry: &RoomEntry,
    headers: &HeaderMap,
    wanted: Option<&str>,
) -> Result<String, Refusal> {
    let room = entry.definition();
    let place = identity::receipt(state, &room.id, headers)?;
    if !identity::proves_subject(state, &room, headers, place.subject) {
        return Err(Refusal::new(Code::IdentityRequired));
    }
    let to = original_url::wanted(state, &room, headers, wanted);
    let to = to.unwrap_or_else(|| room.target_url.clone());
    let runtime = entry.runtime().await?;
    places::know_incarnation(&runtime, place.incarnation).await?;
    let node_now = state.clock.now();
    let leaving = runtime.read(|live| {
        let ledger = live.ledger();
        let Standing::Admitted(grant) = ledger.standing(place.incarnation, place.seq) else {
            return None;
        };
        let count = state.tokens_made.fetch_add(1, Ordering::Relaxed);
        let no = ledger.next_ticket_no(grant.id.seq, count)?;
        Some(Leaving {
            handle: PassHandle { room: room.id.clone(), pass: grant.id },
            no,
            subject: place.subject,
            now: ledger.clocks().now,
            until: acknowledged_end(live, grant.remaining, node_now),
        })
    });
    let leaving = leaving.ok_or_else(|| Refusal::new(Code::PassRequired))?;
    match room.handover {
        Handover::Cookie => Ok(to),
        Handover::Token => {
            let token = site_token::sign(state, &room, &leaving)?;
            with_token(state, &to, &token)
        }
    }
}

/// The address with the token in its query, in place of an older one.
fn with_token(state: &AppState, to: &str, token: &str) -> Result<String, Refusal> {
    let on_this_origin = || Url::parse(&state.options.link(to));
    let parsed = if to.starts_with('/') { on_this_origin() } else { Url::parse(to) };
    let mut url = parsed.map_err(|error| Refusal::internal(&error))?;
    put_token(&mut url, token);
    Ok(url.into())
}

fn put_token(url: &mut Url, token: &str) {
    if url.query_pairs().any(|(name, _)| name == TOKEN) {
        let others: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| name != TOKEN)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.query_pairs_mut().clear().extend_pairs(others);
    }
    url.query_pairs_mut().append_pair(TOKEN, token);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_carries_one_token_and_keeps_the_rest_as_it_was() {
        for (address, want) in [
            ("https://shop.example/", "https://shop.example/?jari_pass=new"),
            ("https://shop.example/a?b=%20c&d", "https://shop.example/a?b=%20c&d&jari_pass=new"),
            ("https://shop.example/a?b=1#top", "https://shop.example/a?b=1&jari_pass=new#top"),
            (
                "https://shop.example/a?jari_pass=old&b=1",
                "https://shop.example/a?b=1&jari_pass=new",
            ),
        ] {
            let mut url = Url::parse(address).expect("a URL");
            put_token(&mut url, "new");
            assert_eq!(url.as_str(), want);
        }
    }
}
