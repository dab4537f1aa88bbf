//! The example sites of other languages, each started as its README says, before a real Jari. The one in Rust has a test of
//! its own.

mod troubled;

use std::path::PathBuf;

use jari_api::admin::Handover;
use jari_testkit::{ExampleSite, Process, ProcessBuilder, TestApp};

/// What `cargo xtask test` makes for the example in Python.
const PYTHON: &str = "target/tools/site-python/bin/python";

fn root() -> PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("a crate two folders below the root").to_owned()
}

/// A program that finds what it needs by itself.
#[expect(clippy::disallowed_methods, reason = "Node.js is wherever the machine has it")]
fn command(program: &str, script: &str) -> ProcessBuilder {
    let script = root().join(script);
    let script = script.to_str().expect("a path of letters");
    let path = std::env::var_os("PATH").expect("a machine has one");
    Process::command(program, &[script]).env("PATH", path)
}

fn python() -> ProcessBuilder {
    let program = root().join(PYTHON);
    assert!(program.exists(), "`cargo xtask test` makes {PYTHON}");
    command(program.to_str().expect("a path of letters"), "examples/site-python/site.py")
}

fn express() -> ProcessBuilder {
    let packages = "examples/site-express/node_modules";
    assert!(root().join(packages).exists(), "`cargo xtask test` installs {packages}");
    command("node", "examples/site-express/site.js")
}

async fn before(app: &TestApp, command: ProcessBuilder) -> ExampleSite {
    let key = app.integrator().await;
    let site = ExampleSite::start(command, app, "show", key.key()).await;
    app.create_room(|room| {
        room.room = "show".to_owned();
        room.handover = Handover::Token;
        room.target_url = site.url().to_string();
        room.settings.rate_per_s = 1_000.0;
    })
    .await;
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_register_and_redirect_brings_everybody_into_the_express_site_once() {
    let app = TestApp::start().await;
    let site = before(&app, express()).await;
    site.crowd(&app, "show", 60).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_register_and_redirect_brings_everybody_into_the_python_site_once() {
    let app = TestApp::start().await;
    let site = before(&app, python()).await;
    site.crowd(&app, "show", 60).await;
    app.stop().await;
}

/// PyJWT, which knows nothing of us, takes our key set and our tokens: and refuses what is not one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_a_site_that_checks_by_itself_takes_good_tokens_and_no_others() {
    let app = TestApp::start().await;
    let site = before(&app, python().env("OFFLINE", "1")).await;
    let guest = site.visit(&app, "show").await;
    site.refuses(&app, guest.landing.as_str()).await;
    let (address, token) = guest.landing.as_str().rsplit_once('=').expect("a token");
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts[..] else { panic!("{token}") };
    // {"alg":"none","typ":"jari-pass+jwt"}
    let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiamFyaS1wYXNzK2p3dCJ9";
    for forged in [
        format!("{unsigned}.{claims}."),
        format!("{unsigned}.{claims}.{signature}"),
        format!("{head}.{claims}."),
        format!("{head}.{claims}.{}", signature.chars().rev().collect::<String>()),
        "nonsense".to_owned(),
    ] {
        site.refuses(&app, &format!("{address}={forged}")).await;
    }
    app.stop().await;
}
