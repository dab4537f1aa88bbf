//! `jari serve --protect`: the five-minute case, as a process.

use jari_testkit::{FakeSite, Process};

const JARI: &str = env!("CARGO_BIN_EXE_jari");

#[tokio::test]
async fn one_line_protects_a_site_and_says_what_visitors_see() {
    let site = FakeSite::start().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upstream = site.url().to_string();
    let process = Process::serve(JARI, &folder.path().join("data"))
        .arg("--protect")
        .arg(upstream.trim_end_matches('/'))
        .arg("--protect-listen")
        .arg("127.0.0.1:0")
        .arg("--room")
        .arg("shop")
        .arg("--path")
        .arg("/tickets/*")
        .start()
        .await;
    process.wait_for_key().await;
    let said = process.stdout();
    let protecting = format!("protecting {} on http://127.0.0.1:", upstream.trim_end_matches('/'));
    assert!(said.contains(&protecting), "{said}");
    assert!(
        said.contains("/tickets/* needs a pass of room shop (made now, with the defaults)"),
        "{said}"
    );
    let page = said
        .split_whitespace()
        .find(|word| word.ends_with("/.jari/rooms/shop"))
        .expect("the room's page");
    let answer = reqwest::get(page).await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200);
    process.terminate().await;
}
