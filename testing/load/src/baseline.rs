//! The baseline: axum handlers on the same routes that do nothing and answer fixed bytes of a place's size. None of
//! Jari's layers stand before it: the ratio to it is what the whole of Jari costs, its HTTP layers included.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use clap::Args;
use tokio::net::TcpListener;

#[derive(Args, Debug)]
pub(crate) struct BaselineArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// As long as a visitor token, so that joins carry as many bytes.
const VISITOR: &str = r#"{"visitor_token":"AQIBBQUFBQUFBQUFBQUFBQUFBQAAAAGjGFxQAAAAAaMYXFAAGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s-UTtjvqb9bC-0icEl9g-swCuxg","expires_at":"2027-01-15T08:01:00.000Z"}"#;

/// A place view as a waiting person gets it.
const PLACE: &str = r#"{"room":"bench","status":"waiting","seq":120134,"position":120134,"behind":0,"line":{"state":"open","serving":0,"served":0,"waiting":120134,"rate_per_s":0.0},"no_estimate":"unknown","poll_after_ms":9200,"stream":true,"place_token":"AQEBBWJlbmNoAAAAAAAAAAcAAAAAAAAEsQMDAwMDAwMDAwMDAwMDAwMAAAGjGFxQAAAAAaMYXTpgGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s","stream_key":"AQUBBWJlbmNoAAAAAAAAAAcAAAAAAAAEsQMDAwMDAwMDAwMDAwMDAwMAAAGjGF06YAAAAAAAAP7tGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s","server_time":"2027-01-15T08:00:00.000Z"}"#;

/// Serves until it is stopped; prints the address first.
pub(crate) fn run(args: &BaselineArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port))).await?;
        writeln!(std::io::stdout(), "baseline on http://{}", listener.local_addr()?)?;
        axum::serve(listener, routes()).await?;
        Ok(())
    })
}

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/v1/visitors", post(async || created(VISITOR)))
        .route("/v1/rooms/{room}/places", post(async || created(PLACE)))
}

fn created(body: &'static str) -> impl IntoResponse {
    (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], body)
}
