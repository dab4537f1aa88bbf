//! `GET /v1/gate/{room}`: whether a request may pass to what the room protects (forward auth).

use axum::extract::State;
use axum::response::Response;
use jari_api::{Code, Problem};

use crate::answers::{no_content, with_cookies};
use crate::cookies::CookieKind;
use crate::gate::{self, Passage};
use crate::original_url::room_url;
use crate::problem_response::Refusal;
use crate::request::{ClientAddress, Headers, RoomName};
use crate::state::AppState;

/// 204 with a good pass; the first use claims it. Else 428 with the room's address.
#[utoipa::path(get, path = "/v1/gate/{room}", tag = "gate",
    params(("room" = String, Path)),
    responses(
        (status = 204, description = "Let the request pass", headers(
            ("jari-room" = String), ("jari-seq" = u64), ("jari-subject" = String), ("jari-pass-expires" = String))),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 428, description = "pass_required", body = Problem),
        (status = 503, description = "store_unavailable", body = Problem)))]
pub(crate) async fn check(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ClientAddress(address): ClientAddress,
    Headers(headers): Headers,
) -> Result<Response, Refusal> {
    let entry = state.room_entry(&room)?;
    let definition = entry.definition();
    match gate::check(&state, &entry, &headers, address).await? {
        Passage::Refused { reason, poll_after, cookies } => {
            let refusal = Refusal::new(Code::PassRequired)
                .with("reason", reason)
                .with("room_url", room_url(&state.options, &definition, &headers))
                .poll_after(poll_after);
            // A browser need not show a dead pass again.
            let dead = matches!(reason, gate::ENDED | "expired" | "bad_signature");
            let forget =
                dead.then(|| CookieKind::Pass(&definition.id).forget(state.options.secure()));
            let response = axum::response::IntoResponse::into_response(refusal);
            Ok(with_cookies(response, forget.into_iter().chain(cookies).collect()))
        }
        passage => {
            let mut response = no_content();
            passage.tell_site(&definition.id, response.headers_mut());
            Ok(with_cookies(response, passage.into_cookies()))
        }
    }
}
