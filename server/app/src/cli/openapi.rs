//! `jari openapi`: the HTTP API's document, as the handlers declare it.

use super::{Failure, print};

pub(super) fn run() -> Result<(), Failure> {
    let document = jari_http::openapi();
    let text = document
        .to_pretty_json()
        .map_err(|error| Failure::failed(format!("cannot write the document: {error}")))?;
    print(&format!("{text}\n"))
}
