//! Spellings of a guarded path: none reaches the site without a pass.

use crate::raw::{exchange, get, status};
use crate::stage;

/// Every trick of the list, and of the field's.
const SPELLINGS: [&str; 57] = [
    "/tickets/1",
    "/tickets",
    "/TICKETS/1",
    "/Tickets/1",
    "/%74ickets/1",
    "/%54%49%43%4b%45%54%53/1",
    "/%2574ickets/1",
    "/%252574ickets/1",
    "//tickets/1",
    "///tickets///1",
    // A host first, for who reads the path as an address without a scheme.
    "//a/tickets/",
    "///a/tickets",
    "/\\a/tickets/",
    "//x:1@y/tickets/",
    "//[::1]/tickets/",
    "/%2fa/tickets/1",
    "/%5Ca%5Ctickets/1",
    "/%2ftickets/1",
    "/%2Ftickets/1",
    "/%252ftickets/1",
    "/tickets%2f1",
    "/tickets%2F1",
    "/tickets%252F1",
    "/./tickets/1",
    "/x/../tickets/1",
    "/x/%2e%2e/tickets/1",
    "/x/%2E%2E/tickets/1",
    "/x/.%2e/tickets/1",
    "/x/%252e%252e/tickets/1",
    "/x/..%2ftickets/1",
    "/x/..%5ctickets/1",
    "/x/..;/tickets/1",
    "/x/..;a=1/tickets/1",
    "/%2e/tickets/1",
    "/\\tickets/1",
    "/x\\..\\tickets",
    "/%5ctickets/1",
    "/%255Ctickets/1",
    "/tickets;a=1/1",
    "/tickets;/1",
    "/;a/tickets/1",
    "/tickets%3b/1",
    "/tickets%253b/1",
    "/tickets%3f",
    "/tickets%23",
    "/tickets./1",
    "/tickets%20/1",
    "/tickets%09/1",
    "/tickets/1%00",
    "/tickets%00/1",
    "/tickets/1%0d%0aX-A:%20b",
    "/tickets/%ff",
    "/%c0%aftickets/1",
    "/%ef%bc%8ftickets/1",
    "/%ef%bd%94ickets/1",
    "/tic%e2%84%aaets/1",
    "/tickets/%zz",
];

#[tokio::test]
async fn no_spelling_of_a_guarded_path_reaches_the_site() {
    let (site, app) = stage().await;
    for target in SPELLINGS {
        for target in [
            target.to_owned(),
            format!("http://shop.example{target}"),
            format!("{target}?x=/about"),
        ] {
            let answer = exchange(&app, &get(&target, "Accept: application/json\r\n")).await;
            assert!(matches!(status(&answer), 400 | 428), "{target}: {answer}");
        }
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    // The site is there, and what is not guarded is reached as it was written.
    for (target, sent) in
        [("/about?a=%2f..", "/about?a=%2f.."), ("/%61bout", "/about"), ("/caf%c3%a9", "/caf%C3%A9")]
    {
        let answer = exchange(&app, &get(target, "")).await;
        assert_eq!(status(&answer), 200, "{answer}");
        assert_eq!(site.last_seen().target, sent);
    }
}

#[tokio::test]
async fn no_method_opens_a_guarded_path() {
    let (site, app) = stage().await;
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "X-ANY"]
    {
        let request = format!(
            "{method} /tickets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(status(&exchange(&app, request.as_bytes()).await), 428, "{method}");
    }
    for method in ["TRACE", "CONNECT"] {
        let request = format!("{method} /about HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert!(matches!(status(&exchange(&app, request.as_bytes()).await), 400 | 405), "{method}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}

/// The reserved path is Jari's, and nothing of operators and tenants is below it.
#[tokio::test]
async fn the_reserved_path_leads_neither_to_the_site_nor_to_operators() {
    let (site, app) = stage().await;
    for target in [
        "/.jari/v1/admin/rooms",
        "/.jari/admin",
        "/.jari/v1/gate/site",
        "/.jari/v1/rooms/site/entries",
        "/.jari/v1/rooms/site/admit",
        "/.jari/openapi.json",
        "/.jari/../tickets/1",
        "/.jari/%2e%2e/tickets/1",
        "/.jari//tickets/1",
        "/.jari/rooms/site/../../../tickets/1",
        "/.jari",
    ] {
        let answer = exchange(&app, &get(target, "Accept: application/json\r\n")).await;
        assert!(matches!(status(&answer), 400 | 404 | 405), "{target}: {answer}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}
