//! The arrangements of servers that have their own ways to fail: TLS, a Cluster whose slots move. Who takes over from whom
//! is in `failover`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jari_conformance::clauses::subject;
use jari_line::{JoinOutcome, Loss, Past, RecoverOutcome, Settings};
use jari_ports::{FeedLost, LineStore, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Cluster, Kind, Server};
use jari_units::{Mark, RoomId, SubjectKey};
use tokio::time::{sleep, timeout};

/// A busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

fn id(text: &str) -> RoomId {
    text.parse().expect("an id")
}

/// A certificate for 127.0.0.1 that vouches for itself, and its key.
fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2"])
        .args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("openssl is there").success(), "openssl makes a certificate");
    // The server runs as somebody else where the test runs as root.
    for (file, mode) in [(".", 0o755), ("key.pem", 0o644), ("cert.pem", 0o644)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.join(file), mode).expect("they are ours");
    }
}

/// Commands and the word of new events both go over TLS; a certificate that nobody trusts is refused.
#[tokio::test]
async fn over_tls_with_a_certificate_of_ones_own() {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path());
    let tls_port = jari_servers::free_port().to_string();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let arguments = ["--tls-port", &tls_port, "--tls-auth-clients", "no", "--tls-cert-file"];
    let files = [certificate.as_str(), "--tls-key-file", &key, "--appendonly", "no"];
    let _server = Server::start_with(Kind::Redis, &[&arguments[..], &files].concat());
    let options = RedisOptions::new(format!("rediss://127.0.0.1:{tls_port}"));
    let pem = std::fs::read(&certificate).expect("it was made");
    let store = RedisStore::open(options.clone().trust(pem)).expect("the store opens");
    let room = id("secret");
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let event = tokio::spawn(async move { feed.next().await });
    store.join(&room, Mark::NONE, vec![subject(1)]).await.expect("joined");
    let event = timeout(PATIENCE, event).await.expect("it is told").expect("it ran");
    assert_eq!(event.expect("no gap").event_no, 2);
    assert_eq!(store.greet().await.expect("it is trusted"), None);
    let stranger = RedisStore::open(options).expect("the store opens");
    let told = stranger.read(&room).await.expect_err("nobody vouches for it").to_string();
    assert!(told.contains("certificate"), "{told}");
    // No waiting makes it another certificate, nor one of that name.
    let by_name = RedisOptions::new(format!("rediss://localhost:{tls_port}"));
    let pem = std::fs::read(&certificate).expect("it was made");
    let by_name = RedisStore::open(by_name.trust(pem)).expect("the store opens");
    for store in [stranger, by_name] {
        let refused = refused_for_good(&store).await;
        assert!(refused.contains("certificate"), "{refused}");
    }
}

/// Why it is of no use to wait for the servers.
async fn refused_for_good(store: &RedisStore) -> String {
    let mut last = None;
    let refused = async {
        loop {
            match store.greet().await {
                Err(error) => return error.to_string(),
                Ok(Some(error)) => last = Some(error),
                Ok(None) => panic!("it should be refused"),
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let told = timeout(PATIENCE, refused).await;
    told.unwrap_or_else(|_| panic!("it is not told, but {last:?}"))
}

/// A wrong password or none is told from a server that is not there, on one server and on a Cluster.
#[tokio::test]
async fn what_waiting_mends_is_told_from_what_it_does_not() {
    let server = Server::start_with(Kind::Redis, &["--requirepass", "s3cret"]);
    let open = |url: String| RedisStore::open(RedisOptions::new(url)).expect("the store opens");
    let at = |user: &str, port: u16| open(format!("redis://{user}127.0.0.1:{port}"));
    assert_eq!(at(":s3cret@", server.port()).greet().await.expect("that is it"), None);
    for user in [":wrong@", ""] {
        let refused = refused_for_good(&at(user, server.port())).await;
        assert!(refused.contains("password") && !refused.contains("wrong@"), "{refused}");
    }
    let nobody = at("", jari_servers::free_port()).greet().await;
    assert!(matches!(nobody, Ok(Some(StoreError::Unavailable(_)))), "{nobody:?}");
    let cluster = Cluster::start(Kind::Redis);
    cluster.tell_all("CONFIG SET requirepass s3cret");
    let refused = refused_for_good(&open(cluster.url().replace("//", "//:wrong@"))).await;
    assert!(refused.contains("password"), "{refused}");
}

/// A room's slot moves to another node while people join: nobody is lost and no number is given twice. What another server
/// hands over looks like what a disk kept, so nodes are asked, and joins pause for that.
#[tokio::test]
async fn a_slot_moves_during_joins() {
    let cluster = Cluster::start(Kind::Redis);
    let store = RedisStore::open(RedisOptions::new(cluster.url())).expect("the store opens");
    let room = id("travels");
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let mut given = Vec::new();
    let mut who = 0;
    for step in 0..40 {
        if step == 20 {
            cluster.move_slot_of(&format!("jari:{{{room}}}:s"));
        }
        let ten = (who..who + 10).map(subject).collect();
        for outcome in joined(&store, &room, ten).await {
            match outcome {
                // A call that was repeated finds what its first try did.
                JoinOutcome::Joined { seq } | JoinOutcome::Waiting { seq } => given.push(seq),
                other => panic!("{other:?}"),
            }
        }
        who += 10;
    }
    assert_eq!(given, (1..=400).collect::<Vec<_>>());
    let mut heard = mark.event_no;
    while heard < 41 {
        match timeout(PATIENCE, feed.next()).await.expect("it is told") {
            Ok(event) => {
                heard += 1;
                assert_eq!(event.event_no, heard, "no gap");
            }
            Err(FeedLost) => feed = store.subscribe(&room, heard).await.expect("subscribed"),
        }
    }
}

/// Joins; where the room may be a copy, this node says that it misses nothing until it is believed.
async fn joined(store: &RedisStore, room: &RoomId, people: Vec<SubjectKey>) -> Vec<JoinOutcome> {
    let joined = async {
        loop {
            match store.join(room, Mark::NONE, people.clone()).await {
                Ok(reply) => return reply.outcome,
                Err(StoreError::LostHistory(_)) => {
                    let loss = Loss::Seen(Past::default());
                    let told = store.recover(room, Settings::default(), loss, 1).await;
                    let outcome = told.expect("answered").outcome;
                    assert_ne!(outcome, RecoverOutcome::Began, "nothing was lost");
                }
                Err(error) => assert!(error.is_away(), "{error:?}"),
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, joined).await.expect("it goes on")
}
