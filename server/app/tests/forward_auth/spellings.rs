//! Spellings of a guarded path: none reaches the site without a pass, by what each proxy makes of it.

use jari_servers::BalancerKind;
use jari_testkit::spellings::SPELLINGS;

use crate::stage::{Stage, status};
use crate::with_each_proxy;

/// Whether a path as it reached the site is plain, and not what is guarded.
fn is_another_page(target: &str) -> bool {
    let plain = !target.contains("//") && !target.contains(['%', ';', '\\', '.']);
    plain && !target.to_lowercase().starts_with("/tickets")
}

async fn issue_5_attack_no_spelling_of_a_guarded_path_reaches_the_site(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    for target in SPELLINGS {
        for target in [target.to_owned(), format!("{target}?x=/about")] {
            let request = format!(
                "GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nAccept: */*\r\nConnection: close\r\n\r\n"
            );
            let answer = stage.exchange(&request).await;
            if let 400 | 404 | 428 = status(&answer) {
                continue;
            }
            // Some take one of two slashes out and send on what is left: another page, in whatever way it is read.
            assert!(target.starts_with("//") || target.starts_with("/\\"), "{target}: {answer}");
            let sent = stage.site.last_seen().target;
            assert!(is_another_page(&sent), "{target}: sent on as {sent}");
        }
    }
    assert!(stage.site.seen().iter().all(|seen| is_another_page(&seen.target)));
    // The site is there, and what is not guarded is reached.
    for target in ["/about?a=%2f..", "/caf%C3%A9", "/%EC%98%88%EB%A7%A4", "/a%20b", "/ticket"] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\n\r\n");
        let answer = stage.exchange(&request).await;
        assert_eq!(status(&answer), 200, "{target}: {answer}");
        assert_eq!(stage.site.last_seen().target, target);
    }
}

async fn issue_5_attack_no_method_opens_a_guarded_path(kind: BalancerKind) {
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
    issue_5_attack_no_spelling_of_a_guarded_path_reaches_the_site
    issue_5_attack_no_method_opens_a_guarded_path
}
