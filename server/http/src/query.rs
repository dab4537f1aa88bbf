//! A query string as a typed value, with a problem of its own where it is not.

use axum::extract::FromRequestParts;
use http::request::Parts;
use jari_api::Code;
use serde::de::DeserializeOwned;

use crate::problem_response::Refusal;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query
            .map(|query| Query(query.0))
            .map_err(|error| Refusal::new(Code::BadRequest).detail(error.body_text()))
    }
}
