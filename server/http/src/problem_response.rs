//! The only place where refusals become HTTP: every error type, its code, status, headers and fields.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use jari_api::{Code, PROBLEM_JSON, Problem, Utc};
use jari_line::{ClosedNext, JoinOutcome};
use jari_pass::TokenError;
use jari_ports::{ControlError, StoreError};
use jari_units::Millis;
use serde_json::Value;

use crate::api_keys::ApiKeyError;
use crate::directory::PrepareError;
use crate::room::BatchError;

/// How soon to ask again after a refusal that passes by itself.
const COME_BACK: Millis = Millis(2_000);
/// How soon to ask again in a full room: places free up as the line moves.
const COME_BACK_WHEN_FULL: Millis = Millis(15_000);

/// A call that was not served, and everything the caller is told about it.
#[derive(Debug)]
pub struct Refusal(Box<Told>);

#[derive(Debug)]
struct Told {
    code: Code,
    problem: Problem,
    poll_after: Option<Millis>,
}

impl Refusal {
    #[must_use]
    pub fn new(code: Code) -> Self {
        let poll_after =
            matches!(code.status(), StatusCode::SERVICE_UNAVAILABLE).then_some(COME_BACK);
        Refusal(Box::new(Told { code, problem: Problem::new(code), poll_after }))
    }

    /// Says more, for a person. Never a secret.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.problem.detail = detail.into();
        self
    }

    /// A field of its own beside the standard ones.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.problem.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Tells when to ask again: `poll_after_ms` and `Retry-After`.
    #[must_use]
    pub fn poll_after(mut self, after: Millis) -> Self {
        self.0.poll_after = Some(after);
        self
    }

    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Its `reason`, where it has one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.0.problem.fields.get("reason")?.as_str()
    }

    #[must_use]
    pub fn unknown_room(room: &str) -> Self {
        let shown: String = room.chars().take(jari_units::limits::ID_MAX_LEN).collect();
        Refusal::new(Code::UnknownRoom).detail(format!("there is no room {shown:?}"))
    }

    #[must_use]
    pub fn invalid_token(reason: &'static str) -> Self {
        Refusal::new(Code::InvalidToken).with("reason", reason)
    }

    /// Logs what nobody expected, once, and shows nothing of it.
    #[must_use]
    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a call failed for an unforeseen reason: {error}");
        Refusal::new(Code::Internal)
    }

    /// What a join that gave no place is answered; `None` where it gave one.
    #[must_use]
    pub fn of_join(outcome: &JoinOutcome) -> Option<Self> {
        let refusal = match outcome {
            JoinOutcome::Blocked => Refusal::new(Code::Blocked),
            JoinOutcome::Recovering => Refusal::new(Code::Recovering),
            JoinOutcome::Off => Refusal::new(Code::NotNeeded),
            JoinOutcome::SoldOut => Refusal::new(Code::RoomSoldOut),
            JoinOutcome::NotOpen { opens_at } => {
                Refusal::new(Code::NotOpen).with("opens_at", Utc(*opens_at).to_string())
            }
            JoinOutcome::Closed(next) => Refusal::closed(next),
            JoinOutcome::Full => Refusal::new(Code::RoomFull).poll_after(COME_BACK_WHEN_FULL),
            _ => return None,
        };
        Some(refusal)
    }

    fn closed(next: &ClosedNext) -> Self {
        let refusal = Refusal::new(Code::RoomClosed).with("message", next.message.as_str());
        match next.reopens_at {
            Some(at) => refusal.with("reopens_at", Utc(at).to_string()),
            None => refusal,
        }
    }
}

/// The `reason` of a bad token.
#[must_use]
pub(crate) fn token_reason(error: TokenError) -> &'static str {
    match error {
        TokenError::Malformed | TokenError::UnknownVersion => "malformed",
        TokenError::WrongKind => "wrong_kind",
        TokenError::UnknownKey | TokenError::BadSignature => "bad_signature",
        TokenError::Expired => "expired",
    }
}

impl From<TokenError> for Refusal {
    fn from(error: TokenError) -> Self {
        Refusal::invalid_token(token_reason(error))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            // The room is defined: the store lost it, and the follower is making it anew.
            StoreError::UnknownRoom(_) | StoreError::LostHistory(_) => {
                Refusal::new(Code::Recovering)
            }
            StoreError::UnknownGroup(_) => Refusal::new(Code::UnknownGroup),
            StoreError::Unavailable(_) | StoreError::Silent(_) => {
                Refusal::new(Code::StoreUnavailable)
            }
        }
    }
}

impl From<PrepareError> for Refusal {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Store(error) => error.into(),
            served @ PrepareError::Served { .. } => {
                Refusal::new(Code::LineInUse).detail(served.to_string())
            }
        }
    }
}

impl From<BatchError> for Refusal {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::Overloaded => Refusal::new(Code::Overloaded),
            // Its room was deleted while it waited.
            BatchError::Stopped => Refusal::new(Code::UnknownRoom),
            BatchError::Store(error) => error.into(),
        }
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Self {
        let code = match &error {
            ControlError::Conflict(_) => Code::VersionConflict,
            ControlError::NotFound(_) => Code::NotFound,
            ControlError::InUse(_) => Code::GroupInUse,
            ControlError::Full(_) => Code::TenantFull,
            ControlError::Unavailable(_) => {
                tracing::error!(%error, "control data cannot be reached: {error}");
                return Refusal::new(Code::RecordsUnavailable);
            }
        };
        Refusal::new(code).detail(error.to_string())
    }
}

impl From<ApiKeyError> for Refusal {
    fn from(error: ApiKeyError) -> Self {
        let code = match error {
            ApiKeyError::Required => Code::KeyRequired,
            ApiKeyError::Invalid => Code::InvalidKey,
            ApiKeyError::Scope => Code::NotAllowed,
        };
        Refusal::new(code).detail(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Told { code, mut problem, poll_after } = *self.0;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if code.status() == StatusCode::UNAUTHORIZED {
            // RFC 9110 wants a challenge with every 401.
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = poll_after {
            problem.fields.insert("poll_after_ms".to_owned(), after.0.into());
            headers.insert(RETRY_AFTER, HeaderValue::from(after.as_secs_ceil()));
        }
        let body = serde_json::to_vec(&problem).expect("a problem holds only text and numbers");
        let mut response = (code.status(), headers, body).into_response();
        // For the call log and the count of refusals.
        response.extensions_mut().insert(code);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(refusal: Refusal) -> (u16, Option<String>, Value) {
        let response = refusal.into_response();
        let retry =
            response.headers().get(RETRY_AFTER).map(|v| v.to_str().expect("digits").to_owned());
        let status = response.status().as_u16();
        let body = futures_util::FutureExt::now_or_never(axum::body::to_bytes(
            response.into_body(),
            usize::MAX,
        ));
        let body = body.expect("in memory").expect("in memory");
        (status, retry, serde_json::from_slice(&body).expect("JSON"))
    }

    #[test]
    fn a_closed_room_says_what_comes_next() {
        let next = ClosedNext {
            reopens_at: Some(jari_units::Timestamp(1_796_029_200_000)),
            message: "see you tomorrow".into(),
        };
        let refusal = Refusal::of_join(&JoinOutcome::Closed(next)).expect("no place");
        let (status, retry, body) = shown(refusal);
        assert_eq!((status, retry), (410, None));
        insta::assert_json_snapshot!(body);
    }

    #[test]
    fn what_passes_by_itself_says_when_to_come_back() {
        for refusal in [
            Refusal::from(BatchError::Overloaded),
            Refusal::from(StoreError::Unavailable("disk full".into())),
            Refusal::of_join(&JoinOutcome::Full).expect("no place"),
        ] {
            let (status, retry, body) = shown(refusal);
            assert_eq!(status, 503);
            let after = body["poll_after_ms"].as_u64().expect("a number");
            assert_eq!(retry, Some(after.div_ceil(1_000).to_string()));
        }
    }

    #[test]
    fn inner_words_of_a_failure_are_not_shown() {
        let (_, _, body) =
            shown(StoreError::Unavailable("/var/lib/jari is read-only".into()).into());
        assert!(!body.to_string().contains("/var/lib"), "{body}");
        let (status, _, body) = shown(Refusal::internal(&std::fmt::Error));
        assert_eq!((status, body.get("detail")), (500, None));
    }

    #[test]
    fn a_join_that_gave_a_place_is_no_refusal() {
        assert!(Refusal::of_join(&JoinOutcome::Joined { seq: 1 }).is_none());
        assert!(Refusal::of_join(&JoinOutcome::Absent { seq: 1 }).is_none());
    }
}
