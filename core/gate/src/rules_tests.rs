//! Tables of judgements: which rule counts, and which spellings of a guarded path are guarded or refused.

use super::*;

fn rule(host: &str, path: &str, exclude: &[&str], room: &str) -> Rule {
    Rule {
        host: (!host.is_empty()).then(|| host.parse().expect("a host")),
        path: path.parse().expect("a pattern"),
        exclude: exclude.iter().map(|pattern| pattern.parse().expect("a pattern")).collect(),
        room: room.parse().expect("an id"),
    }
}

/// The room's id, `-` for none, `?` for another host's, else why it is unclear.
fn judged(rules: &Rules, host: &str, path: &str) -> String {
    let host = host.parse().expect("a host");
    let target = match Target::read(path) {
        Ok(target) => target,
        Err(unclear) => return format!("{unclear:?}"),
    };
    match rules.judge(&host, &target) {
        Ok(Judgement::Open) => "-".to_owned(),
        Ok(Judgement::Guarded(room)) => room.to_string(),
        Ok(Judgement::Misdirected) => "?".to_owned(),
        Err(unclear) => format!("{unclear:?}"),
    }
}

#[test]
fn the_most_specific_rule_counts() {
    let rules = Rules::new(vec![
        rule("", "/*", &[], "site"),
        rule("", "/tickets/*", &["/tickets/assets/*"], "tickets"),
        rule("", "/tickets/vip", &[], "vip"),
        rule("shop.example", "/*", &[], "shop"),
        rule("other.example", "/only", &[], "other"),
    ])
    .expect("rules");
    for (host, path, want) in [
        ("other.example", "/", "site"),
        ("other.example", "/tickets/1", "tickets"),
        ("other.example", "/tickets", "tickets"),
        ("other.example", "/tickets/assets/a.css", "-"),
        ("other.example", "/tickets/vip", "vip"),
        ("other.example", "/tickets/vip/x", "tickets"),
        ("other.example", "/only", "other"),
        ("SHOP.example.:8080", "/tickets/1", "shop"),
        ("third.example", "/", "?"),
    ] {
        assert_eq!(judged(&rules, host, path), want, "{host}{path}");
    }
}

#[test]
fn no_spelling_of_a_guarded_path_is_open() {
    let rules = Rules::new(vec![rule("", "/tickets/*", &[], "room")]).expect("rules");
    for path in [
        "/tickets/1",
        "/tickets",
        "/tickets/",
        "/TICKETS/1",
        "/Tickets",
        "/%74ickets/1",
        "/%54ickets/1",
        "/%2574ickets/1",
        "/%252574ickets/1",
        "//tickets/1",
        "///tickets",
        "/%2ftickets/1",
        "/%2Ftickets/1",
        "/%252ftickets",
        "//a/tickets/",
        "///a/tickets",
        "/\\a/tickets/",
        "/\\/a\\tickets",
        "//x:1@y/tickets/",
        "//[::1]/tickets/",
        "/%2fa/tickets",
        "/%5Ca%5Ctickets",
        "//a%2Fb/%2574ickets",
        "//a//b/tickets",
        "/tickets%2f1",
        "/tickets%2F1",
        "/tickets%252F1",
        "\\tickets",
        "/\\tickets/1",
        "/tickets\\1",
        "/tickets%5c1",
        "/%5Ctickets",
        "/tickets;x=1/1",
        "/tickets;x",
        "/;x/tickets/1",
        "/tickets%3bx/1",
        "/tickets%253bx/1",
        "/tickets%3f",
        "/tickets%23/1",
        "/tickets./1",
        "/tickets%20/1",
        "/tickets%2e/1",
        "/ticket%C5%BF/1",
        "/tic%E2%84%AAets/1",
        "/%EF%BD%94ickets/1",
        "/%EF%BC%8Ftickets/1",
        "/./tickets/1",
        "/x/../tickets/1",
        "/x/%2e%2e/tickets/1",
        "/x/%252e%252e/tickets/1",
        "/x/..;/tickets/1",
        "/x/..%2ftickets/1",
        "/%2e/tickets/1",
        "/tickets/%00",
        "/tickets%00",
        "/tickets/%ff",
        "/%c0%aftickets/1",
        "/tickets/%",
        "/tickets/%zz",
        "/tickets/%u002e",
    ] {
        assert_ne!(judged(&rules, "shop.example", path), "-", "{path}");
    }
    // And what is not guarded stays open: the rule is not "everything".
    for path in [
        "/",
        "/about",
        "/ticket",
        "/x/tickets",
        "/%EC%98%88%EB%A7%A4",
        "/a%20b",
        "/a;b",
        "/a%2Fb",
        "/100%25",
    ] {
        assert_eq!(judged(&rules, "shop.example", path), "-", "{path}");
    }
}

/// An upstream that does not read it so would answer with a page that is guarded.
#[test]
fn an_excluded_path_is_open_only_in_its_plain_spelling() {
    let rules =
        Rules::new(vec![rule("", "/*", &["/assets/*", "/favicon.ico"], "room")]).expect("rules");
    for path in
        ["/assets/a.css", "/assets/", "/favicon.ico", "/%61ssets/a.css", "/assets/a%20b.png"]
    {
        assert_eq!(judged(&rules, "shop.example", path), "-", "{path}");
    }
    for path in [
        "/",
        "/ASSETS/a.css",
        "//assets/a.css",
        "/assets%2fa.css",
        "/assets;/a.css",
        "/assets\\a",
        "/x;/../assets/",
        "/assets/../tickets",
        "/assets/%2e%2e/tickets",
        "/assets/..%2ftickets",
        "/assets%252f..%252ftickets",
        "/favicon.ico%3f",
        "/favicon.ico%20",
    ] {
        assert_ne!(judged(&rules, "shop.example", path), "-", "{path}");
    }
}

#[test]
fn what_reads_as_two_rooms_is_refused() {
    let rules = Rules::new(vec![rule("", "/*", &[], "site"), rule("", "/vip/*", &[], "vip")])
        .expect("rules");
    assert_eq!(judged(&rules, "a.example", "/%76ip/1"), "vip");
    assert_eq!(judged(&rules, "a.example", "/vip/%EC%98%88"), "vip");
    for path in ["/vip%2f1", "/VIP/1", "//vip/1", "/vip;x/1"] {
        assert_eq!(judged(&rules, "a.example", path), "TwoRooms", "{path}");
    }
}

#[test]
fn rules_are_bounded_and_each_is_there_once() {
    assert_eq!(Rules::new(Vec::new()), Err(RulesError::None));
    let many = (0..=RULES_MAX).map(|no| rule("", &format!("/{no}"), &[], "room")).collect();
    assert_eq!(Rules::new(many), Err(RulesError::TooMany));
    let twice = vec![rule("a.example", "/x", &[], "one"), rule("A.example.", "/x", &[], "two")];
    assert_eq!(Rules::new(twice), Err(RulesError::Twice("a.example/x".to_owned())));
    let excluded: Vec<_> = (0..=EXCLUDED_MAX).map(|no| format!("/{no}")).collect();
    let excluded: Vec<_> = excluded.iter().map(String::as_str).collect();
    let greedy = vec![rule("", "/x", &excluded, "room")];
    assert_eq!(Rules::new(greedy), Err(RulesError::TooManyExcluded("/x".to_owned())));
}
