//! `[protect]` as people write it: one rule, several, and what is wrong told by key with a way to mend it.

use super::*;
use crate::{Config, ConfigErrors, Overrides, Sources};

fn load(toml: &str, overrides: Overrides) -> Result<Config, ConfigErrors> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("test.toml");
    std::fs::write(&file, toml).expect("a file");
    Config::load(&Sources::new(Some(file), [], overrides))
}

fn protected(toml: &str) -> Protect {
    load(toml, Overrides::default()).expect(toml).protect.expect("a site")
}

#[test]
fn nothing_is_protected_unless_a_site_is_named() {
    assert_eq!(Config::default().protect, None);
}

/// Somebody who says what to guard and not where the site is would otherwise be left without a gate, and not be told.
#[test]
fn a_rule_without_a_site_is_refused() {
    for (toml, flags, told) in [
        (
            "[[protect.rules]]\nroom = \"shop\"\npath = \"/a\"",
            Overrides::default(),
            "protect.rules",
        ),
        ("[protect]\npath = \"/tickets/*\"", Overrides::default(), "protect.room, path"),
        ("", Overrides::default().with("--room", "protect.room", Some("shop")), "protect.room"),
    ] {
        let said = load(toml, flags).expect_err(toml).to_string();
        assert!(said.contains("protect.upstream") && said.contains(told), "{said}");
    }
}

#[test]
fn a_flag_is_enough_for_one_rule() {
    let flags = Overrides::default()
        .with("--protect", "protect.upstream", Some("http://127.0.0.1:3000"))
        .with("--room", "protect.room", Some("shop"))
        .with("--path", "protect.path", Some("/tickets/*"));
    let site = load("", flags).expect("valid").protect.expect("a site");
    let names: Vec<_> =
        site.rules.all().iter().map(|rule| (rule.name(), rule.room.to_string())).collect();
    assert_eq!(names, [("/tickets/*".to_owned(), "shop".to_owned())]);
    assert_eq!(site.public_url_at(site.listen).as_str(), "http://127.0.0.1:8081/");
}

#[test]
fn several_rules_stand_in_the_file() {
    let site = protected(
        r#"
        [protect]
        upstream = "http://127.0.0.1:3000"
        [[protect.rules]]
        host = "Shop.example.com"
        path = "/tickets/*"
        room = "shop"
        exclude = ["/tickets/images/*"]
        [[protect.rules]]
        host = "shop.example.com"
        room = "rest"
        "#,
    );
    let names: Vec<_> = site.rules.all().iter().map(Rule::name).collect();
    assert_eq!(names, ["shop.example.com/tickets/*", "shop.example.com/*"]);
}

#[test]
fn an_https_site_is_checked_by_the_system_or_by_who_is_named() {
    let base = "[protect]\nupstream = \"https://10.0.0.21:8443\"\n";
    let site = protected(base);
    assert_eq!(
        (site.upstream.port(), &site.ca_file, &site.server_name),
        (Some(8_443), &None, &None)
    );
    let site = protected(&format!("{base}ca_file = \"/etc/ca.pem\"\nserver_name = \"a.example\""));
    assert_eq!(site.ca_file.as_deref(), Some(std::path::Path::new("/etc/ca.pem")));
    assert_eq!(site.server_name.as_deref(), Some("a.example"));
}

#[test]
fn what_is_wrong_is_told_by_key_with_a_way_to_mend_it() {
    let base = "[protect]\nupstream = \"http://127.0.0.1:3000\"\n";
    for (more, key) in [
        ("path = \"tickets\"", "protect.path"),
        ("path = \"/a/../b\"", "protect.path"),
        ("room = \"Shop\"", "protect.room"),
        ("exclude = [\"a\"]", "protect.exclude"),
        ("exclude = \"/a\"", "protect.exclude"),
        ("host_header = \"x\"", "protect.host_header"),
        ("ca_file = \"a.pem\"", "protect.ca_file"),
        ("server_name = \"a.example\"", "protect.server_name"),
        ("tls_cert = \"a.pem\"", "protect.tls_key"),
        ("tls_key = \"a.pem\"", "protect.tls_cert"),
        ("rules = [\"/a\"]", "protect.rules"),
        ("[[protect.rules]]\npath = \"/a\"", "protect.rules"),
        ("[[protect.rules]]\nroom = \"a\"\nroms = 1", "protect.rules"),
        ("[[protect.rules]]\nroom = \"a\"\nhost = \"a b\"", "protect.rules"),
        ("[[protect.rules]]\nroom = \"a\"\n[[protect.rules]]\nroom = \"b\"", "protect.rules"),
        ("room = \"a\"\n[[protect.rules]]\nroom = \"a\"", "protect.rules"),
        (
            "host_header = \"upstream\"\n[[protect.rules]]\nroom = \"a\"\nhost = \"a.example\"\n\
             [[protect.rules]]\nroom = \"b\"\nhost = \"b.example\"",
            "protect.host_header",
        ),
        ("listen = \"127.0.0.1:8080\"", "protect.listen"),
        ("listen = \"127.0.0.1:9090\"", "protect.listen"),
        ("listen = \"0.0.0.0:3000\"", "protect.upstream"),
    ] {
        let errors = load(&format!("{base}{more}"), Overrides::default()).expect_err(more);
        let keys: Vec<_> = errors.problems.iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(keys, [key], "{more}: {errors}");
        assert!(errors.problems.iter().all(|problem| !problem.fix.is_empty()), "{errors}");
    }
    for upstream in ["https://a.example/x", "ftp://a.example", "http://a.example/x", "a.example"] {
        let file = format!("[protect]\nupstream = \"{upstream}\"");
        let errors = load(&file, Overrides::default()).expect_err(upstream);
        assert_eq!(errors.problems[0].key, "protect.upstream", "{upstream}");
    }
}

#[test]
fn the_configuration_in_effect_can_be_used_as_a_file() {
    let file = "[protect]\nupstream = \"http://127.0.0.1:3000\"\n[[protect.rules]]\nroom = \"shop\"\npath = \"/a/*\"";
    let first = load(file, Overrides::default()).expect("valid");
    let again = load(&first.explain(), Overrides::default()).expect("valid too");
    assert_eq!(first.protect, again.protect);
}
