//! The example as its README starts it, before a real Jari: a crowd goes through the room to the site and back.

use jari_api::admin::Handover;
use jari_testkit::{ExampleSite, Process, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_register_and_redirect_brings_everybody_into_the_rust_site_once() {
    let app = TestApp::start().await;
    let key = app.integrator().await;
    let command = Process::command(env!("CARGO_BIN_EXE_site-rust"), &[]);
    let site = ExampleSite::start(command, &app, "show", key.key()).await;
    app.create_room(|room| {
        room.room = "show".to_owned();
        room.handover = Handover::Token;
        room.target_url = site.url().to_string();
        room.settings.rate_per_s = 1_000.0;
    })
    .await;
    site.crowd(&app, "show", 60).await;
    app.stop().await;
}
