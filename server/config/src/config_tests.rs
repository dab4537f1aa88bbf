//! The four steps, every bound, unknown keys, and that all problems are told at once.

use std::path::PathBuf;

use jari_units::Millis;

use crate::fields::{FIELDS, Kind};
use crate::{Config, ConfigErrors, LogFormat, Overrides, Problem, RecordsUrl, Sources, StoreUrl};

/// A file with `toml` in it, the variables, and the overrides.
fn load(
    toml: &str,
    variables: &[(&str, &str)],
    overrides: Overrides,
) -> Result<Config, ConfigErrors> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("test.toml");
    std::fs::write(&file, toml).expect("a file");
    Config::load(&Sources::new(Some(file), owned(variables), overrides))
}

fn owned(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn flag(key: &str, value: &str) -> Overrides {
    Overrides::default().with("--flag", key, Some(value))
}

fn problems(toml: &str) -> Vec<Problem> {
    load(toml, &[], Overrides::default()).expect_err(toml).problems
}

/// `a.b = value` as a file.
fn file_with(key: &str, value: &str) -> String {
    let (section, key) = key.split_once('.').expect("a section");
    format!("[{section}]\n{key} = {value}\n")
}

#[test]
fn the_defaults_stand_alone() {
    let config = Config::default();
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.http.public_url, None);
    assert_eq!(config.http.request_timeout, Millis::from_secs(7));
    assert_eq!(config.ops.listen.to_string(), "127.0.0.1:9090");
    assert_eq!(config.store.data_dir, PathBuf::from("jari-data"));
    assert_eq!(config.log.format, LogFormat::Auto);
}

#[test]
fn each_step_goes_over_the_one_before() {
    let file = "[http]\nrequest_timeout_ms = 1001\n[log]\nlevel = \"warn\"";
    let variables = [("JARI__HTTP__REQUEST_TIMEOUT_MS", "1002"), ("JARI_ADMIN_KEY", "x")];
    let timeout = |config: &Config| config.http.request_timeout.0;
    let none = Overrides::default;
    assert_eq!(timeout(&load("", &[], none()).unwrap()), 7_000);
    assert_eq!(timeout(&load(file, &[], none()).unwrap()), 1_001);
    assert_eq!(timeout(&load(file, &variables, none()).unwrap()), 1_002);
    let flags = flag("http.request_timeout_ms", "1003");
    let all = load(file, &variables, flags.clone()).unwrap();
    assert_eq!((timeout(&all), all.log.level.as_str()), (1_003, "warn"));
    let flags = flags.with("--later", "http.request_timeout_ms", Some(1_004));
    let flags = flags.with("--absent", "http.request_timeout_ms", None::<u64>);
    assert_eq!(timeout(&load(file, &variables, flags).unwrap()), 1_004);
}

#[test]
fn the_file_is_the_one_named_by_flag_then_variable() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, level: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, file_with("log.level", &format!("\"{level}\""))).unwrap();
        file
    };
    let (by_flag, by_variable) = (write("flag.toml", "debug"), write("variable.toml", "trace"));
    let variable = [("JARI_CONFIG", by_variable.to_str().unwrap())];
    let level = |file, variables| {
        let sources = Sources::new(file, owned(variables), Overrides::default());
        Config::load(&sources).unwrap().log.level
    };
    assert_eq!(level(Some(by_flag), &variable), "debug");
    assert_eq!(level(None, &variable), "trace");
    // Tests run in the crate's folder, which has no jari.toml: that is no error.
    assert_eq!(level(None, &[("JARI_CONFIG", "")]), "info");
}

#[test]
fn a_named_file_must_be_there_and_be_toml() {
    let missing = PathBuf::from("missing.toml");
    let sources = Sources::new(Some(missing), Vec::new(), Overrides::default());
    let told = Config::load(&sources).unwrap_err().to_string();
    assert!(told.contains("missing.toml") && told.contains("cannot be read"), "{told}");
    let told = problems("[http]\nlisten = ")[0].to_string();
    assert!(told.contains("test.toml") && told.contains("line 2"), "{told}");
}

#[test]
fn every_number_is_held_to_its_bounds_in_each_step() {
    for field in FIELDS {
        let Kind::Number { min, max, .. } = field.kind else { continue };
        for (number, good) in [(min, true), (max, true), (max + 1, false)] {
            // Streams may not exceed connections, which are derived here.
            let text = number.to_string();
            let in_file = load(&file_with(field.key, &text), &[], Overrides::default());
            let variable = field.variable();
            let in_variable = load("", &[(&variable, &text)], Overrides::default());
            let in_flag = load("", &[], flag(field.key, &text));
            for got in [in_file, in_variable, in_flag] {
                assert_eq!(got.is_ok(), good, "{} = {number}: {got:?}", field.key);
            }
        }
        let below = i64::try_from(min).unwrap() - 1;
        for wrong in [below.to_string(), "1.5".to_owned(), "\"1\"".to_owned(), "[1]".to_owned()] {
            let found = problems(&file_with(field.key, &wrong));
            assert_eq!((found.len(), found[0].key.as_str()), (1, field.key), "{wrong}");
            assert!(found[0].fix.contains(field.allowed), "{:?}", found[0]);
        }
    }
}

#[test]
fn texts_are_held_to_what_they_are() {
    for (key, good, wrong) in [
        (
            "http.listen",
            vec!["0.0.0.0:80", "[::1]:0"],
            vec!["", "8080", "localhost:80", "1.2.3.4", "1.2.3.4:70000"],
        ),
        (
            "http.forwarded_header",
            vec!["x-forwarded-for", "forwarded"],
            vec!["", "Forwarded", "via"],
        ),
        ("ops.listen", vec!["127.0.0.1:1"], vec![":9090"]),
        (
            "http.public_url",
            vec!["", "https://wait.example.com", "http://localhost:8080/"],
            vec![
                "wait.example.com",
                "ftp://example.com",
                "https://example.com/wait",
                "https://example.com/?a=b",
                "https://example.com/#top",
                "https://user@example.com",
            ],
        ),
        ("store.data_dir", vec!["/var/lib/jari", "a b"], vec![""]),
        (
            "records.url",
            vec!["", "postgres://jari@db/jari?sslmode=verify-full", "postgresql:///jari?host=/run"],
            vec!["db", "mysql://db/jari", "postgres://db", "postgres://db:port/jari"],
        ),
        (
            "store.url",
            vec![
                "",
                "redis://localhost",
                "rediss+cluster://u:p@a:1,b:2",
                "redis+sentinel://a/shop",
            ],
            vec!["localhost:6379", "http://localhost", "redis://", "redis+ring://a"],
        ),
        ("store.key_prefix", vec!["jari", "a:b"], vec!["", "a{b}", "a b"]),
        ("store.ca_file", vec!["", "/etc/ssl/ours.pem"], vec![]),
        ("store.joins", vec!["together", "apart"], vec!["", "1", "Together"]),
        (
            "log.level",
            vec!["off", "info", "warn,jari_http=debug, jari=trace"],
            vec!["", "loud", "info,=debug", "jari_http=loud", "info,"],
        ),
        ("log.format", vec!["text", "json", "auto"], vec!["", "JSON", "xml"]),
        (
            "telemetry.otlp_endpoint",
            vec!["", "http://127.0.0.1:4318", "https://collector.example/otlp"],
            vec!["127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://a:b@c", "http://c/?token=d"],
        ),
        ("telemetry.service_name", vec!["jari", "자리"], vec![""]),
    ] {
        for text in good {
            let got = load(&file_with(key, &format!("\"{text}\"")), &[], Overrides::default());
            assert!(got.is_ok(), "{key} = {text}: {got:?}");
        }
        for text in wrong {
            let found = problems(&file_with(key, &format!("\"{text}\"")));
            assert_eq!((found.len(), found[0].key.as_str()), (1, key), "{text}");
        }
        assert_eq!(problems(&file_with(key, "5"))[0].key, key);
    }
}

#[test]
fn a_share_is_a_number_from_0_to_1_in_each_step() {
    const KEY: &str = "telemetry.sample_ratio";
    for (text, millionths) in
        [("0", Some(0)), ("0.25", Some(250_000)), ("1", Some(1_000_000)), ("1.0", Some(1_000_000))]
            .into_iter()
            .chain(["1.01", "-0.1", "2", "nan", "\"0.5\""].map(|wrong| (wrong, None)))
    {
        let got = load(&file_with(KEY, text), &[], Overrides::default());
        let got = got.map(|config| config.telemetry.sample_ratio.millionths);
        assert_eq!(got.ok(), millionths, "{text}");
    }
    let variable = [("JARI__TELEMETRY__SAMPLE_RATIO", "0.5")];
    let config = load("", &variable, Overrides::default()).expect("a share");
    assert_eq!(config.telemetry.sample_ratio.share(), 0.5);
}

#[test]
fn proxies_are_networks_or_addresses() {
    let proxies = |config: Config| {
        config.http.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let file = file_with("http.trusted_proxies", r#"["10.1.2.3/8", "192.0.2.7", "fd00::/8"]"#);
    let want = ["10.0.0.0/8", "192.0.2.7/32", "fd00::/8"];
    assert_eq!(proxies(load(&file, &[], Overrides::default()).unwrap()), want);
    let variable = [("JARI__HTTP__TRUSTED_PROXIES", " 10.1.2.3/8,192.0.2.7 , fd00::/8")];
    assert_eq!(proxies(load("", &variable, Overrides::default()).unwrap()), want);
    let empty = [("JARI__HTTP__TRUSTED_PROXIES", "")];
    assert!(proxies(load(&file, &empty, Overrides::default()).unwrap()).is_empty());
    for wrong in [r#"["proxy"]"#, r#"["10.0.0.0/33"]"#, "[7]", r#""10.0.0.0/8""#, "7"] {
        assert_eq!(problems(&file_with("http.trusted_proxies", wrong)).len(), 1, "{wrong}");
    }
    for everybody in [r#"["0.0.0.0/0"]"#, r#"["::/0"]"#] {
        let found = problems(&file_with("http.trusted_proxies", everybody));
        assert!(found[0].wrong.contains("anybody"), "{found:?}");
    }
}

#[test]
fn roles_are_some_of_three_each_once_in_one_order() {
    let shared = |roles: &str| format!("store.url = \"redis://a\"\nnode.roles = {roles}");
    let told = |config: Config| {
        config.node.roles.into_iter().map(crate::Role::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told(Config::default()), "web gate admitter");
    let file = shared(r#"["admitter", "web", "web"]"#);
    assert_eq!(told(load(&file, &[], Overrides::default()).unwrap()), "web admitter");
    let variable = [("JARI__NODE__ROLES", "gate"), ("JARI__STORE__URL", "redis://a")];
    assert_eq!(told(load("", &variable, Overrides::default()).unwrap()), "gate");
    let flag = flag("node.roles", "gate, web");
    assert_eq!(told(load(&file, &[], flag).unwrap()), "web gate");
    for (wrong, told) in [
        ("[]", "is empty"),
        (r#"["web", "relay"]"#, "\"relay\" in it, a role that this release does not have yet"),
        (r#"["resolver"]"#, "does not have yet"),
        (r#"["notices"]"#, "does not have yet"),
        (r#"["Web"]"#, "\"Web\" in it, which is no role"),
        ("[5]", "a whole number in it"),
        (r#""web""#, "is a text, not a list"),
    ] {
        let found = problems(&shared(wrong));
        assert_eq!((found.len(), found[0].key.as_str()), (1, "node.roles"), "{wrong}");
        assert!(found[0].wrong.contains(told), "{wrong}: {}", found[0]);
        assert!(found[0].fix.contains("a list of web, gate and admitter"), "{}", found[0]);
    }
}

#[test]
fn lines_in_the_data_folder_need_every_role_in_one_process() {
    let found = problems("[node]\nroles = [\"web\", \"gate\"]");
    assert_eq!((found.len(), found[0].key.as_str()), (1, "node.roles"));
    assert!(found[0].fix.contains("store.url"), "{}", found[0]);
    let all = "[node]\nroles = [\"admitter\", \"gate\", \"web\"]";
    assert!(load(all, &[], Overrides::default()).is_ok());
}

#[test]
fn unknown_keys_are_errors_that_name_the_nearest() {
    let file = "htttp.listen = \"secret\"\nport = 80\n[store]\ndata = \"x\"\n[redis]\nnodes = \"y\"\n[log]";
    let variables = [("JARI__HTTP__LISTN", "1.2.3.4:5"), ("JARI_HTTP__LISTEN", "not ours")];
    let found = load(file, &variables, flag("http.listens", "secret")).unwrap_err().problems;
    let told: Vec<_> = found.iter().map(|found| (found.key.as_str(), found.fix.as_str())).collect();
    let did_you_mean_listen = "did you mean http.listen?";
    let remove = "remove it; docs/reference/configuration.md has all keys";
    assert_eq!(
        told,
        [
            ("htttp.listen", did_you_mean_listen),
            ("port", remove),
            ("redis.nodes", remove),
            ("store.data", "did you mean store.data_dir?"),
            ("http.listn", did_you_mean_listen),
            ("http.listens", did_you_mean_listen),
        ]
    );
    assert!(!format!("{found:?}").contains("secret"), "what an unknown key holds is not shown");
    let sections = [problems("http = 5"), problems("[nothing]")];
    assert_eq!(sections.map(|found| found[0].key.clone()), ["http", "nothing"]);
}

#[test]
fn rules_across_fields() {
    let ops = "[ops]\nlisten = ";
    for (http, ops_listen, good) in [
        ("127.0.0.1:9000", "127.0.0.1:9000", false),
        ("0.0.0.0:9000", "127.0.0.1:9000", false),
        ("127.0.0.1:9000", "[::]:9000", false),
        ("127.0.0.1:9000", "127.0.0.2:9000", true),
        ("127.0.0.1:9000", "127.0.0.1:9001", true),
        ("127.0.0.1:0", "127.0.0.1:0", true),
    ] {
        let file = format!("[http]\nlisten = \"{http}\"\n{ops}\"{ops_listen}\"");
        let got = load(&file, &[], Overrides::default());
        assert_eq!(got.is_ok(), good, "{http} {ops_listen}: {got:?}");
    }
    for (connections, streams, good) in
        [(0, 9_000, true), (9_000, 9_000, true), (8_999, 9_000, false)]
    {
        let file = format!("[http]\nmax_connections = {connections}\nstream_max = {streams}");
        let got = load(&file, &[], Overrides::default());
        assert_eq!(got.is_ok(), good, "{connections} {streams}: {got:?}");
    }
}

#[test]
fn all_problems_are_told_at_once_with_value_origin_and_fix() {
    let file = "[http]\nlisten = \"nowhere\"\nstream_max = -1\n[log]\nformat = \"xml\"";
    let found = load(file, &[("JARI__OPS__LISTEN", "x")], flag("http.body_max_bytes", "many"));
    let error = found.unwrap_err();
    let keys: Vec<_> = error.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(
        keys,
        ["http.listen", "http.body_max_bytes", "http.stream_max", "ops.listen", "log.format"]
    );
    let text = error.to_string();
    for part in [
        "the configuration has 5 problems",
        "test.toml): is not an IP address and port; use an IP address and port",
        "http.body_max_bytes = \"many\" (--flag): is a text, not a whole number; use 1024 to",
        "ops.listen = \"x\" (JARI__OPS__LISTEN)",
        "http.stream_max = -1 (",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_password_in_a_url_is_not_told() {
    let found = problems(&file_with("http.public_url", "\"https://me:hunter2@example.com\""));
    let text = found[0].to_string();
    assert!(
        text.contains("https://me:redacted@example.com") && !text.contains("hunter2"),
        "{text}"
    );
}

#[test]
fn a_databases_password_is_neither_told_nor_logged() {
    let address = "postgres://jari:hunter2@db/jari";
    let config =
        load(&file_with("records.url", &format!("\"{address}\"")), &[], flag("log.level", "info"));
    let config = config.unwrap();
    assert_eq!(config.records.url.as_ref().map(RecordsUrl::with_password), Some(address));
    let shown = format!("{config:?} {}", config.explain());
    assert!(shown.contains("jari:redacted@db") && !shown.contains("hunter2"), "{shown}");
    for slip in ["postgres://jari:hunter2@db:port/jari", "postgres://jari:hunter2@db"] {
        let told = problems(&file_with("records.url", &format!("\"{slip}\"")))[0].to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn what_is_explained_can_be_used_as_a_file() {
    let file = "[http]\ntrusted_proxies = [\"10.0.0.0/8\"]\npublic_url = \"https://example.com\"";
    let variables = [("JARI__LOG__LEVEL", "debug"), ("JARI__STORE__DATA_DIR", "a \"b\"\\c")];
    let config = load(file, &variables, flag("http.listen", "0.0.0.0:80")).unwrap();
    let text = config.explain();
    for line in [
        "[http]\nlisten = \"0.0.0.0:80\" # --flag\n",
        "stream_max = 10000 # default\n",
        "\n\n[log]\nlevel = \"debug\" # JARI__LOG__LEVEL\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mut again = load(&text, &[], Overrides::default()).unwrap();
    again.origins = config.origins.clone();
    assert_eq!(again, config);
}

#[test]
fn a_stores_password_is_shown_nowhere() {
    let url = "rediss+cluster://jari:hunter2@a:1,b:2";
    let config = load(&file_with("store.url", &format!("\"{url}\"")), &[], Overrides::default());
    let config = config.unwrap();
    assert_eq!(config.store.url.as_ref().map(StoreUrl::with_secrets), Some(url));
    for text in [config.explain(), format!("{config:?}")] {
        assert!(text.contains("rediss+cluster://redacted@a:1,b:2"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let refused = problems(&file_with("store.url", "\"redis+ring://jari:hunter2@a:1,b:2\""));
    assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
}

#[test]
fn what_may_hold_a_password_is_not_shown_however_it_is_misspelt() {
    let wrong = [
        ("JARI__RECORDS__URL", "postgres//u:hunter2@h/db"),
        ("JARI__RECORDS__URL", "u:hunter2@h/db"),
        ("JARI__RECORDS__URL", "host=h user=u password=hunter2"),
        ("JARI__STORE__URL", "redis//:hunter2@h"),
        ("JARI__STORE__URL", "h:6379 hunter2"),
    ];
    for (name, value) in wrong {
        let errors = load("", &[(name, value)], Overrides::default()).expect_err(value);
        let text = format!("{errors} {errors:?}");
        assert!(!text.contains("hunter2") && text.contains("not shown"), "{text}");
    }
    for file in ["[records]\nurl = [\"postgres://u:hunter2@h/db\"]", "[records]\nurl = \"hunter2\n"]
    {
        let errors = load(file, &[], Overrides::default()).expect_err(file);
        let text = format!("{errors} {errors:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
