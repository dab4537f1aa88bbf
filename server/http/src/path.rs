//! Names in a path as typed values, with a problem of its own where they are none. A room's name is `request::RoomName`.

use axum::extract::FromRequestParts;
use http::request::Parts;
use jari_api::Code;
use serde::de::DeserializeOwned;

use crate::problem_response::Refusal;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Path(path.0))
            .map_err(|error| Refusal::new(Code::BadRequest).detail(error.body_text()))
    }
}
