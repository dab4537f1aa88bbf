//! Every refusal the server can give: stable codes, their status and title. Who is refused when is decided elsewhere.

use std::borrow::Cow;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The media type of a problem (RFC 9457).
pub const PROBLEM_JSON: &str = "application/problem+json";

macro_rules! codes {
    ($($name:ident $status:ident $text:literal $title:literal;)*) => {
        /// Why a call was refused; the text never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name,)*
        }

        impl Code {
            /// Every code, in the order of this file.
            pub const ALL: &[Code] = &[$(Code::$name,)*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status,)* }
            }

            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }
        }
    };
}

codes! {
    BadRequest BAD_REQUEST "bad_request" "The request cannot be understood";
    BadTarget BAD_REQUEST "bad_target" "The address could be read in two ways";
    MalformedBody BAD_REQUEST "malformed_body" "The body is not the JSON that is expected here";
    IdentityRequired UNAUTHORIZED "identity_required" "It is not known who is asking";
    PlaceRequired UNAUTHORIZED "place_required" "A place token is needed here";
    InvalidToken UNAUTHORIZED "invalid_token" "The token is not good";
    KeyRequired UNAUTHORIZED "api_key_required" "An API key is needed here";
    InvalidKey UNAUTHORIZED "api_key_invalid" "The API key is not good";
    Blocked FORBIDDEN "blocked" "The operator has blocked this visitor";
    ChallengeRequired FORBIDDEN "challenge_required" "This room wants a solved challenge before a join";
    NotAllowed FORBIDDEN "api_key_scope" "This API key may not do that";
    NotFound NOT_FOUND "not_found" "There is nothing at this address";
    UnknownRoom NOT_FOUND "unknown_room" "There is no such room";
    UnknownGroup NOT_FOUND "unknown_group" "There is no such limit group";
    UnknownTenant NOT_FOUND "unknown_tenant" "There is no such tenant";
    UnknownPass NOT_FOUND "unknown_pass" "There is no such pass";
    UnknownKey NOT_FOUND "unknown_key" "There is no such key";
    MethodNotAllowed METHOD_NOT_ALLOWED "method_not_allowed" "This address does not take that method";
    RequestTimeout REQUEST_TIMEOUT "request_timeout" "The request came too slowly";
    NotOpen CONFLICT "not_open" "The room is not open yet";
    NotNeeded CONFLICT "not_needed" "Nobody needs a place here now; go on";
    PacerHeedsNone CONFLICT "pacer_heeds_none" "The room's pacer heeds no signals";
    AlreadyExists CONFLICT "already_exists" "Something of that name exists";
    LineInUse CONFLICT "line_in_use" "Somebody else's line has that name in the store";
    VersionConflict CONFLICT "version_conflict" "It was changed meanwhile; read it again";
    GroupInUse CONFLICT "group_in_use" "Rooms still belong to this limit group";
    TenantInUse CONFLICT "tenant_in_use" "Rooms or keys still belong to this tenant";
    TenantFull CONFLICT "tenant_full" "This tenant has as many rooms as it may";
    RoomClosed GONE "room_closed" "The room is closed";
    RoomSoldOut GONE "room_sold_out" "Nothing is left";
    PreconditionFailed PRECONDITION_FAILED "precondition_failed" "It is not at the version that was named";
    BodyTooLarge PAYLOAD_TOO_LARGE "body_too_large" "The body is larger than is taken here";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "Only application/json is taken here";
    Misdirected MISDIRECTED_REQUEST "misdirected" "It is not served here";
    InvalidField UNPROCESSABLE_ENTITY "invalid_field" "A field is out of its bounds";
    InvalidSettings UNPROCESSABLE_ENTITY "invalid_settings" "A setting is out of its bounds";
    PassRequired PRECONDITION_REQUIRED "pass_required" "A pass is needed; the waiting room gives it";
    TooFast TOO_MANY_REQUESTS "too_fast" "Asked sooner than directed";
    TooManyJoins TOO_MANY_REQUESTS "too_many_joins" "Too many joins from this address";
    TooManyNewcomers TOO_MANY_REQUESTS "too_many_newcomers" "Too many newcomers from this address or network";
    TooManyRequests TOO_MANY_REQUESTS "too_many_requests" "Too many requests with this pass";
    TenantLimit TOO_MANY_REQUESTS "tenant_limit" "More than this tenant may ask for in a minute";
    Internal INTERNAL_SERVER_ERROR "internal" "Something went wrong here";
    LoopDetected LOOP_DETECTED "loop_detected" "The site is configured to be behind itself";
    SiteUnavailable BAD_GATEWAY "site_unavailable" "The site does not answer; come back in a moment";
    SiteTimeout GATEWAY_TIMEOUT "site_timeout" "The site takes too long; come back in a moment";
    SiteBusy SERVICE_UNAVAILABLE "site_busy" "The site has all it can take; come back in a moment";
    RoomFull SERVICE_UNAVAILABLE "room_full" "The line is full; come back later";
    Recovering SERVICE_UNAVAILABLE "recovering" "The line is being restored; come back in a moment";
    Overloaded SERVICE_UNAVAILABLE "overloaded" "Too much at once; come back in a moment";
    StoreUnavailable SERVICE_UNAVAILABLE "store_unavailable" "The line cannot be reached; come back in a moment";
    RecordsUnavailable SERVICE_UNAVAILABLE "records_unavailable" "The records cannot be reached; come back in a moment";
    StreamRefused SERVICE_UNAVAILABLE "stream_refused" "Ask by polling instead";
    DeadlineExceeded SERVICE_UNAVAILABLE "deadline_exceeded" "It took too long; come back in a moment";
    Draining SERVICE_UNAVAILABLE "draining" "This server is going away; ask again";
}

/// A refusal as it is sent: RFC 9457, with a stable `code` and fields of its own beside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `about:blank`: the code says all there is to know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: Cow<'static, str>,
    #[schema(value_type = String)]
    pub title: Cow<'static, str>,
    pub status: u16,
    /// Stable; one of a fixed list.
    #[schema(value_type = String)]
    pub code: Cow<'static, str>,
    /// For a person who reads logs; may change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Fields of this code: `poll_after_ms`, `opens_at`, `reason` and so on.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl Problem {
    #[must_use]
    pub fn new(code: Code) -> Self {
        Problem {
            kind: "about:blank".into(),
            title: code.title().into(),
            status: code.status().as_u16(),
            code: code.as_str().into(),
            detail: String::new(),
            fields: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_snake_case_and_unique() {
        let texts: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        for text in texts {
            assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{text}");
        }
    }

    #[test]
    fn every_code_has_a_refusing_status() {
        let list: Vec<_> = Code::ALL
            .iter()
            .map(|code| format!("{} {}", code.status().as_u16(), code.as_str()))
            .collect();
        assert!(Code::ALL.iter().all(|code| code.status().as_u16() >= 400), "{list:?}");
        insta::assert_json_snapshot!(list);
    }

    #[test]
    fn a_problem_carries_its_own_fields_beside_the_standard_ones() {
        let mut problem = Problem::new(Code::TooFast);
        problem.detail = "the next poll is due in 900 ms".to_owned();
        problem.fields.insert("poll_after_ms".to_owned(), 900.into());
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "about:blank",
          "title": "Asked sooner than directed",
          "status": 429,
          "code": "too_fast",
          "detail": "the next poll is due in 900 ms",
          "poll_after_ms": 900
        }
        "#);
    }
}
