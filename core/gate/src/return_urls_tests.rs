//! Tests of where an address may lead: a table of attacks, and what is registered.

use super::*;

fn registered(texts: &[&str]) -> Vec<ReturnUrl> {
    texts.iter().map(|text| text.parse().expect("a return URL")).collect()
}

/// Where it leads, as written; `None` where nowhere.
fn judged(own: &[&str], returns: &[&str], address: &str) -> Option<String> {
    let registered = registered(returns);
    let origins = own.iter().map(|text| text.parse().expect("an origin")).collect();
    let destinations = Destinations { origins, registered: &registered };
    destinations.judge(address).map(|to| match to {
        Destination::Path(path) => path,
        Destination::Url(url) => url.into(),
    })
}

/// No address of these leads anywhere, though the site and a folder of a partner are allowed.
const ATTACKS: &[&str] = &[
    "",
    "cart",
    "?x",
    "#x",
    // Another host, for a browser.
    "//evil.example",
    "//evil.example/..",
    "///evil.example",
    "////evil.example",
    "//shop.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/x/..//evil.example",
    "/%2e//evil.example",
    // Control characters, which browsers drop.
    "/cart\r\nset-cookie: a=b",
    "/a\tb",
    "/a\\b",
    "https://shop.example/a\nb",
    "https://shop.example/a\\..\\b",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r\n/evil.example",
    "\t//evil.example",
    "\u{0}//evil.example",
    "ht\ntps://shop.example/",
    "java\tscript:alert(1)",
    "https://shop.example\t.evil.example/",
    // No scheme of ours, or one that is not said in full.
    "javascript:alert(1)",
    "JavaScript://shop.example/%0aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "blob:https://shop.example/x",
    "view-source:https://shop.example/",
    "ftp://shop.example/",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https:////shop.example/",
    "https:shop.example/cart",
    "https:/shop.example/cart",
    "https:\\\\shop.example/",
    "http:/\\shop.example/",
    " https://shop.example/",
    // Another origin.
    "http://shop.example/",
    "https://shop.example:8443/",
    "https://shop.example:80/",
    "https://evil.example/",
    "https://evil.example/shop.example",
    "https://evil.example?https://shop.example/",
    "https://evil.example#https://shop.example/",
    "https://shop.example.evil.example/",
    "https://shop.example:443.evil.example/",
    "https://shop.example./",
    "https://xshop.example/",
    "https://evil-shop.example/",
    "https://sub.shop.example/",
    "https://shop.example@evil.example/",
    "https://evil.example@shop.example/",
    "https://@shop.example/",
    "https://user:pass@shop.example/",
    "https://shop.example%40evil.example/",
    "https://shop.example%2f@evil.example/",
    "https://evil.example\\@shop.example/",
    "https://evil.example\\.shop.example/",
    "https://shop.example\\.evil.example/",
    "https://shop.example;.evil.example/",
    "https://shop.example .evil.example/",
    "https://shop%2eexample/",
    "https://[shop.example]/",
    "https://[::ffff:127.0.0.1]/",
    "https://0x7f000001/",
    // Letters that look like ours and are not: a Cyrillic о, a Greek ο.
    "https://sh\u{43e}p.example/",
    "https://sh\u{3bf}p.example/",
    "https://xn--shp-fed.example/",
    "https://shop.example\u{2044}evil.example/",
    "https://shop.example\u{ff0f}@evil.example/",
    "https://evil.example\u{ff0f}.shop.example/",
    // The partner's folder, and not what only begins like it, or leaves it.
    "https://partner.example/",
    "https://partner.example/backyard",
    "https://partner.example/back.evil",
    "https://partner.example/BACK/x",
    "https://partner.example/back/../x",
    "https://partner.example/back/%2e%2e/x",
    "https://partner.example/back/.%2e/x",
    "https://partner.example/back%2f..%2fx",
    "https://partner.example/back/..%2fx",
    "https://partner.example/back/..%5cx",
    "https://partner.example/back/%252e%252e/x",
    "https://partner.example/back/..;/x",
    "https://partner.example/x/back",
    "https://partner.example/x/%2e%2e/%2e%2e/x",
    "https://partner.example/back%00",
    "https://partner.example/back/%ff",
    "https://partner.example//back",
    "https://partner.example/%2fback",
    "http://partner.example/back",
    "https://partner.example:444/back",
    "https://partner.example.evil.example/back",
];

#[test]
fn no_address_leads_to_where_nobody_said() {
    for address in ATTACKS {
        let to = judged(&["https://shop.example"], &["https://partner.example/back"], address);
        assert_eq!(to, None, "{address:?}");
    }
    let long = format!("/{}", "a".repeat(ADDRESS_MAX_BYTES));
    assert_eq!(judged(&[], &[], &long), None);
    assert!(judged(&[], &[], &long[..ADDRESS_MAX_BYTES]).is_some());
}

#[test]
fn what_is_ours_or_registered_is_led_to_in_one_spelling() {
    for (address, want) in [
        ("/cart?item=1&x=//evil.example", "/cart?item=1&x=//evil.example"),
        ("/예매?a=1&b=%20;c", "/예매?a=1&b=%20;c"),
        ("/a//b", "/a//b"),
        // To a browser these are paths: it decodes nothing before it has found the host.
        ("/%2f/evil.example", "/%2f/evil.example"),
        ("/%5cevil.example", "/%5cevil.example"),
        ("/https://evil.example", "/https://evil.example"),
        ("https://shop.example", "https://shop.example/"),
        ("HTTPS://SHOP.example:443/cart?a=b#c", "https://shop.example/cart?a=b#c"),
        ("https://shop.example:/cart", "https://shop.example/cart"),
        ("https://shop.example?x=1", "https://shop.example/?x=1"),
        // Full-width letters are the same host to a browser.
        ("https://ｓhop.example/cart", "https://shop.example/cart"),
        ("https://partner.example/back", "https://partner.example/back"),
        ("https://partner.example/back/", "https://partner.example/back/"),
        (
            "https://partner.example/back/deep/er?x=../..#y",
            "https://partner.example/back/deep/er?x=../..#y",
        ),
        ("https://partner.example/back?x", "https://partner.example/back?x"),
        ("https://partner.example/x/../back/y", "https://partner.example/back/y"),
        ("http://127.0.0.1:3000/any/where", "http://127.0.0.1:3000/any/where"),
    ] {
        let returns = ["https://partner.example/back", "http://127.0.0.1:3000"];
        let to = judged(&["https://shop.example"], &returns, address);
        assert_eq!(to.as_deref(), Some(want), "{address:?}");
    }
}

#[test]
fn a_return_url_is_kept_in_one_spelling() {
    for (text, want) in [
        ("https://Shop.Example", "https://shop.example/"),
        ("https://shop.example:443/a/", "https://shop.example/a/"),
        ("https://shop.example:8443/a/b", "https://shop.example:8443/a/b"),
        ("https://한국.example/예매", "https://xn--3e0b707e.example/%EC%98%88%EB%A7%A4"),
        ("http://localhost:3000/a", "http://localhost:3000/a"),
    ] {
        let url = text.parse::<ReturnUrl>().map(|url| url.to_string());
        assert_eq!(url.as_deref(), Ok(want), "{text}");
        let again: ReturnUrl = want.parse().expect("what is kept is read again");
        assert_eq!(again.as_str(), want);
    }
    let korean =
        judged(&[], &["https://shop.example/예매"], "https://shop.example/%EC%98%88%EB%A7%A4/1");
    assert!(korean.is_some());
}

#[test]
fn what_could_mean_more_than_one_folder_is_no_return_url() {
    let long = format!("https://shop.example/{}", "a".repeat(RETURN_URL_MAX_BYTES));
    for (text, want) in [
        ("", OriginError::NotHttp.into()),
        ("/cart", OriginError::NotHttp.into()),
        ("https:shop.example", OriginError::NotHttp.into()),
        ("https:///shop.example", OriginError::NotHttp.into()),
        ("javascript:alert(1)", OriginError::NotHttp.into()),
        ("https://user@shop.example/", OriginError::NotHttp.into()),
        ("https://*.example/", OriginError::NotHttp.into()),
        ("http://shop.example/", OriginError::Plain.into()),
        ("https://shop.example/?a=b", ReturnUrlError::NotOnlyPath),
        ("https://shop.example/#a", ReturnUrlError::NotOnlyPath),
        ("https://shop.example/*", ReturnUrlError::Path),
        ("https://shop.example/a/*/b", ReturnUrlError::Path),
        ("https://shop.example/a/../b", ReturnUrlError::Path),
        ("https://shop.example/a/%2e%2e/b", ReturnUrlError::Path),
        ("https://shop.example/a%2fb", ReturnUrlError::Path),
        ("https://shop.example/a;b", ReturnUrlError::Path),
        ("https://shop.example//a", ReturnUrlError::Path),
        (&long, ReturnUrlError::TooLong),
    ] {
        assert_eq!(text.parse::<ReturnUrl>(), Err(want), "{text}");
    }
}

#[test]
fn what_lies_within_a_folder_is_found_in_every_spelling() {
    let folder = "/.jari/*".parse().expect("a pattern");
    let url = |text: &str| Destination::Url(text.parse().expect("a URL"));
    let path = |text: &str| Destination::Path(text.to_owned());
    for within in [
        "/.jari/rooms/vip",
        "/.jari",
        "/.jari/",
        "/.jari?x",
        "/.JARI/rooms/vip",
        "/%2ejari/rooms/vip",
        "/%252ejari/rooms/vip",
        "/.jari%2frooms",
        "/.jari;x/rooms",
        "/x/../.jari/rooms/vip",
        "/./.jari/rooms/vip",
        "/.jari/rooms/vip#x",
        "/.jari/%zz",
        "/.jari/%ff",
    ] {
        assert!(path(within).is_within(&folder), "{within}");
        assert!(url(&format!("https://shop.example{within}")).is_within(&folder), "{within}");
    }
    for outside in
        ["/", "/.jarix", "/jari/rooms", "/x?return=/.jari/rooms/vip", "/x/.jari", "/%ff", "/예매"]
    {
        assert!(!path(outside).is_within(&folder), "{outside}");
        assert!(!url(&format!("https://shop.example{outside}")).is_within(&folder), "{outside}");
    }
}

#[test]
fn what_is_named_right_below_a_folder_is_found_in_every_spelling() {
    for (address, named) in [
        ("/rooms/a", Some("a")),
        ("/rooms/a?return=/rooms/b", Some("a")),
        ("/rooms/a/plain#x", Some("a")),
        ("/x/../rooms/a/go", Some("a")),
        ("/%72ooms/%61", Some("a")),
        ("/rooms;x/a;y/b", Some("a")),
        ("/rooms//a", Some("a")),
        ("/ROOMS/A", Some("a")),
        ("/rooms", None),
        ("/roomservice/a", None),
        ("/x/rooms/a", None),
        ("/x?y=/rooms/a", None),
        ("/%ff/rooms/a", None),
    ] {
        let url =
            Destination::Url(format!("https://shop.example{address}").parse().expect("a URL"));
        for to in [Destination::Path(address.to_owned()), url] {
            let below = to.named_below("/rooms/");
            assert_eq!(named.is_some_and(|named| below.contains(named)), named.is_some(), "{to:?}");
            assert!(named.is_some() || below.iter().all(String::is_empty), "{to:?} {below:?}");
        }
    }
}
