//! Who calls with an API key: of any scope, or an operator. Which tenant's rooms a key may reach is checked where the
//! room is known.

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::api_keys::Caller;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// A call with a good API key of any scope.
#[derive(Clone, Debug)]
pub(crate) struct ApiCaller(pub(crate) Caller);

impl FromRequestParts<AppState> for ApiCaller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Refusal> {
        Ok(ApiCaller(state.api_keys.check(parts.headers.get(AUTHORIZATION))?))
    }
}

/// A call with an operator's API key.
#[derive(Clone, Debug)]
pub(crate) struct Admin(pub(crate) Caller);

impl FromRequestParts<AppState> for Admin {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Refusal> {
        let ApiCaller(caller) = ApiCaller::from_request_parts(parts, state).await?;
        caller.require_admin()?;
        Ok(Admin(caller))
    }
}
