//! The command line against a running server: what it does, what it prints, and how it fails.

use jari_testkit::{Process, TestApp};
use serde_json::Value;

use crate::JARI;

/// Runs a command as an operator types it; gives the exit code and both outputs.
async fn jari(app: &TestApp, args: &[&str]) -> (i32, String, String) {
    let server = app.url();
    let mut process = Process::command(JARI, args)
        .env("JARI_SERVER", server.as_str())
        .env("JARI_ADMIN_KEY", app.admin_key())
        .spawn();
    let code = process.wait().await.code().expect("it ends by itself");
    (code, process.stdout(), process.stderr())
}

async fn done(app: &TestApp, args: &[&str]) -> String {
    let (code, stdout, stderr) = jari(app, args).await;
    assert_eq!(code, 0, "{args:?}: {stdout}{stderr}");
    stdout
}

#[tokio::test]
async fn a_rooms_life_from_the_command_line() {
    let app = TestApp::start().await;
    let made = done(
        &app,
        &[
            "room",
            "create",
            "shop",
            "--title-en",
            "Autumn show",
            "--rate",
            "0.5",
            "--pass-ttl",
            "5m",
        ],
    )
    .await;
    assert!(made.contains("settings.pass_ttl_ms") && made.contains("300000"), "{made}");
    done(
        &app,
        &["room", "set", "shop", "--capacity", "0", "--opens-at", "2099-01-01T00:00:00+09:00"],
    )
    .await;
    let list = done(&app, &["room", "list"]).await;
    let row = list.lines().find(|line| line.starts_with("shop")).expect("it is listed");
    assert!(
        row.contains("2098-12-31T15:00:00.000Z") && row.ends_with("shop / Autumn show"),
        "{row}"
    );
    let shown: Value =
        serde_json::from_str(&done(&app, &["room", "show", "shop", "--json"]).await).expect("JSON");
    assert_eq!(shown["settings"]["rate_per_s"], 0.5);
    done(&app, &["room", "set", "shop", "--opens-at", "none"]).await;
    for (args, said) in [
        (&["room", "pause", "shop"][..], "shop: pause: done\n"),
        (&["room", "pause", "shop"], "shop: pause: it was so already\n"),
        (&["room", "resume", "shop"], "shop: resume: done\n"),
        (&["room", "close", "shop", "--message", "later"], "shop: close: done\n"),
        (&["room", "open", "shop"], "shop: open: done\n"),
        (&["room", "announce", "shop", "hello"], "shop: announce: done\n"),
        (&["room", "sold-out", "shop"], "shop: sold-out: done\n"),
        (&["room", "sold-out", "shop", "--undo"], "shop: sold-out: done\n"),
        (&["room", "block", "shop", "00000000000000000000000000000001"], "shop: block: done\n"),
        (&["room", "unblock", "shop", "00000000000000000000000000000001"], "shop: unblock: done\n"),
        (&["room", "admit", "shop", "--count", "5"], "called: 0\n"),
    ] {
        assert_eq!(done(&app, args).await, said, "{args:?}");
    }
    let stats = done(&app, &["room", "stats", "shop"]).await;
    assert!(stats.lines().nth(1).is_some_and(|row| row.starts_with("shop  open")), "{stats}");
    let (code, _, stderr) = jari(&app, &["room", "delete", "shop"]).await;
    assert!(code == 1 && stderr.contains("--yes"), "{stderr}");
    assert_eq!(done(&app, &["room", "delete", "shop", "--yes"]).await, "shop: deleted\n");
    let audit = done(&app, &["audit", "--target", "room:shop", "--limit", "3"]).await;
    assert!(audit.lines().nth(1).is_some_and(|row| row.contains("room.delete")), "{audit}");
    app.stop().await;
}

#[tokio::test]
async fn groups_and_keys_from_the_command_line() {
    let app = TestApp::start().await;
    let set = done(&app, &["group", "set", "both", "--capacity", "10", "--rate", "2.5"]).await;
    assert!(
        set.lines().nth(1).is_some_and(|row| row.starts_with("both  10        2.5     3")),
        "{set}"
    );
    done(&app, &["room", "create", "a", "--group", "both"]).await;
    assert!(done(&app, &["group", "list"]).await.contains("both  10        2.5     3      a"));
    let (code, _, stderr) = jari(&app, &["group", "delete", "both"]).await;
    assert!(code == 1 && stderr.contains("group_in_use"), "{stderr}");
    done(&app, &["room", "set", "a", "--group", "none"]).await;
    done(&app, &["group", "delete", "both"]).await;

    let made = done(&app, &["key", "create", "--scope", "tenant", "--name", "shop"]).await;
    let key = made.lines().next().expect("the key").to_owned();
    let id = key.split('_').nth(1).expect("an id").to_owned();
    assert!(done(&app, &["key", "list"]).await.contains(&id));
    // A whole key in the address would be in the logs of whatever is between.
    for action in ["revoke", "rotate"] {
        let (code, _, stderr) = jari(&app, &["key", action, &key]).await;
        assert!(code == 1 && stderr.contains(&id) && !stderr.contains(&key), "{action}: {stderr}");
        assert!(stderr.contains("name its id"), "{action}: {stderr}");
    }
    done(&app, &["key", "revoke", &id]).await;
    let (code, _, stderr) = jari(&app, &["room", "list", "--key", &key]).await;
    assert!(code == 4 && stderr.contains("api_key_invalid"), "{stderr}");
    assert!(!stderr.contains(&key), "a failure shows the key");
    app.stop().await;
}

#[tokio::test]
async fn failures_are_one_line_and_have_their_exit_code() {
    let app = TestApp::start().await;
    for (args, code, part) in [
        (&["room", "show", "nowhere"][..], 1, "unknown_room"),
        (&["room", "create", "No"], 1, "field: room"),
        (&["room", "create", "a", "--burst", "0"], 1, "field: burst"),
        (&["room", "set", "nowhere", "--rate", "1"], 1, "unknown_room"),
        (&["room", "set", "nowhere"], 1, "name what to change"),
        (&["room", "list", "--key", "jari_nobody_x"], 4, "api_key_invalid"),
        (&["room", "list", "--server", "http://127.0.0.1:1"], 3, "cannot reach"),
    ] {
        let (ended, stdout, stderr) = jari(&app, args).await;
        assert_eq!(ended, code, "{args:?}: {stderr}");
        assert!(stderr.contains(part) && stderr.lines().count() == 1, "{args:?}: {stderr}");
        assert_eq!(stdout, "", "{args:?}");
    }
    for args in
        [&["room", "create"][..], &["room", "admit", "a"], &["room", "set", "a", "--pass-ttl", "5"]]
    {
        assert_eq!(jari(&app, args).await.0, 2, "{args:?}");
    }
    app.stop().await;
}
