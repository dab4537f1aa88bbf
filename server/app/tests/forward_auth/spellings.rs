//! Spellings of a guarded path: none reaches the site without a pass, by what each proxy makes of it.

use jari_servers::BalancerKind;

use crate::stage::{Stage, status};
use crate::with_each_proxy;

const SPELLINGS: [&str; 44] = [
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
    "/%2ftickets/1",
    "/%2Ftickets/1",
    "/%252ftickets/1",
    "/tickets%2f1",
    "/tickets%252F1",
    "/./tickets/1",
    "/x/../tickets/1",
    "/x/%2e%2e/tickets/1",
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
    "/%3ba/tickets/1",
    "/tickets%253b/1",
    "/tickets%3f",
    "/tickets%23",
    "/tickets./1",
    "/tickets%20/1",
    "/tickets%09/1",
    "/tickets/1%00",
    "/tickets%00/1",
    "/tickets/%ff",
    "/tickets/%zz",
];

async fn no_spelling_of_a_guarded_path_reaches_the_site(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    for target in SPELLINGS {
        for target in [target.to_owned(), format!("{target}?x=/about")] {
            let request = format!(
                "GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nAccept: */*\r\nConnection: close\r\n\r\n"
            );
            let answer = stage.exchange(&request).await;
            assert!(matches!(status(&answer), 400 | 404 | 428), "{target}: {answer}");
        }
    }
    assert!(stage.site.seen().is_empty(), "{:?}", stage.site.seen());
    // The site is there, and what is not guarded is reached.
    for target in ["/about?a=%2f..", "/caf%C3%A9", "/%EC%98%88%EB%A7%A4", "/a%20b", "/ticket"] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\n\r\n");
        let answer = stage.exchange(&request).await;
        assert_eq!(status(&answer), 200, "{target}: {answer}");
        assert_eq!(stage.site.last_seen().target, target);
    }
}

async fn no_method_opens_a_guarded_path(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
        let request = format!(
            "{method} /tickets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let answer = stage.exchange(&request).await;
        assert_eq!(status(&answer), 428, "{method}: {answer}");
    }
    assert!(stage.site.seen().is_empty(), "{:?}", stage.site.seen());
}

with_each_proxy! {
    no_spelling_of_a_guarded_path_reaches_the_site
    no_method_opens_a_guarded_path
}
