//! Requests hidden in others: where one ends is read once here, and told to the site anew.

use crate::raw::{exchange, status};
use crate::stage;

/// What is hidden: it would be open to the site, and is guarded here.
const HIDDEN: &str = "GET /tickets/1 HTTP/1.1\r\nHost: shop.example\r\n\r\n";

/// A request to an open path, with these headers and this behind its head.
fn post(headers: &str, rest: &str) -> Vec<u8> {
    format!("POST /about HTTP/1.1\r\nHost: shop.example\r\n{headers}\r\n{rest}").into_bytes()
}

#[tokio::test]
async fn issue_5_attack_no_request_hides_in_another() {
    let (site, app) = stage().await;
    let chunked = "Transfer-Encoding: chunked\r\n";
    let zero = format!("0\r\n\r\n{HIDDEN}");
    let length = format!("Content-Length: {}\r\n", zero.len());
    let attacks = [
        // Both, in both orders: one server believes the length, the other the chunks.
        post(&format!("{length}{chunked}"), &zero),
        post(&format!("{chunked}{length}"), &zero),
        post(&format!("{chunked}Content-Length: 4\r\n"), &format!("5c\r\n{HIDDEN}\r\n0\r\n\r\n")),
        // Spellings of chunked that one server takes and another does not.
        post(&format!("Transfer-Encoding: xchunked\r\n{length}"), &zero),
        post(&format!("Transfer-Encoding : chunked\r\n{length}"), &zero),
        post(&format!("Transfer-Encoding: chunked, identity\r\n{length}"), &zero),
        post(&format!("Transfer-Encoding: identity, chunked\r\n{length}"), &zero),
        post(&format!("Transfer-Encoding:\x0bchunked\r\n{length}"), &zero),
        post(&format!("Transfer-Encoding: \"chunked\"\r\n{length}"), &zero),
        post(&format!("Transfer_Encoding: chunked\r\n{length}"), &zero),
        post(&format!("X: y\nTransfer-Encoding: chunked\r\n{length}"), &zero),
        // Folded over two lines.
        post(&format!("Transfer-Encoding:\r\n chunked\r\n{length}"), &zero),
        post(&format!("X: y\r\n Content-Length: 0\r\n{length}"), &zero),
        // Two lengths, or such as are none.
        post(&format!("Content-Length: 0\r\n{length}"), HIDDEN),
        post("Content-Length: +0\r\n", HIDDEN),
        post("Content-Length: 0x0\r\n", HIDDEN),
        post("Content-Length: 0, 0\r\n", HIDDEN),
        post("Content-Length: -1\r\n", HIDDEN),
        post("Content_Length: 0\r\n", HIDDEN),
        // Chunks with extensions, with bare line feeds, of sizes that overflow.
        post(chunked, &format!("1;a=\"\r\nx\r\n{zero}")),
        post(chunked, &format!("1\nx\n{zero}")),
        post(chunked, &format!("0\n\n{HIDDEN}")),
        post(chunked, &format!("10000000000000000\r\n{zero}")),
        post(chunked, &format!("-1\r\n{zero}")),
        post(chunked, &format!("0\r\nX: y\r\nGET: /tickets/1\r\n\r\n{HIDDEN}")),
        // Bare line feeds and carriage returns in the head.
        format!("GET /about HTTP/1.1\nHost: shop.example\n\n{HIDDEN}").into_bytes(),
        format!("GET /about HTTP/1.1\r\nHost: shop.example\r\nX: a\rContent-Length: 0\r\n\r\n{HIDDEN}").into_bytes(),
        // A line that goes on.
        format!("GET /about HTTP/1.1 HTTP/1.1\r\nHost: shop.example\r\n\r\n{HIDDEN}").into_bytes(),
        // Another protocol that nobody here speaks.
        format!("GET /about HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n{HIDDEN}").into_bytes(),
    ];
    for attack in attacks {
        let before = site.seen().len();
        let mut attack = attack;
        // A last request that ends the connection, where it is still one.
        attack.extend_from_slice(
            b"GET /tickets/2 HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n",
        );
        let answer = exchange(&app, &attack).await;
        let seen = site.seen();
        let shown = String::from_utf8_lossy(&attack).into_owned();
        assert!(seen.iter().all(|request| request.target == "/about"), "{shown}\n{seen:?}");
        assert!(seen.len() <= before + 1, "{shown}\n{seen:?}\n{answer}");
        assert!(!answer.contains("101 Switching"), "{shown}");
        for request in &seen[before..] {
            let framed = [request.header("content-length"), request.header("transfer-encoding")];
            assert!(framed.iter().flatten().count() <= 1, "{shown}\n{request:?}");
            assert_eq!(
                (request.header("upgrade"), request.header("http2-settings")),
                (None, None),
                "{shown}"
            );
        }
    }
}

/// Several requests on one connection are each judged, and each answer belongs to its request.
#[tokio::test]
async fn issue_5_attack_requests_sent_at_once_are_judged_one_by_one() {
    let (site, app) = stage().await;
    let open = "GET /about HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    let last = "GET /last HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";
    let answer = exchange(&app, format!("{open}{HIDDEN}{open}{last}").as_bytes()).await;
    assert_eq!(status(&answer), 200);
    assert_eq!(answer.matches("HTTP/1.1 428").count(), 1, "{answer}");
    let seen: Vec<_> = site.seen().into_iter().map(|request| request.target).collect();
    assert_eq!(seen, ["/about", "/about", "/last"]);
}
