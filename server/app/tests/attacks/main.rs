//! Attacks on a protected site, by hand over TCP where no HTTP client would send such a thing. Each ends with what reached
//! the site; and crowds of one client, at the line. What a protected site is for is in the test program `proxy`.

mod addresses;
mod crowds;
mod floods;
mod http2;
mod passes;
mod paths;
mod raw;
mod raw_http2;
mod smuggling;
mod spoofing;

use jari_testkit::spellings::GUARDED;
use jari_testkit::{FakeSite, TestApp};

/// The usual stage: a site of which everything below `/tickets` needs a pass.
async fn stage() -> (FakeSite, TestApp) {
    let site = FakeSite::start().await;
    let app = TestApp::builder().protect(&site).set("protect.path", GUARDED).start().await;
    (site, app)
}
