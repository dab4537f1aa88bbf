//! The arrangements of servers that have their own ways to fail: TLS, Sentinels that name a new primary, a Cluster whose
//! slots move.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jari_conformance::clauses::subject;
use jari_line::{JoinOutcome, Settings};
use jari_ports::{LineStore, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Cluster, Kind, Server};
use jari_units::{Mark, RoomId};
use tokio::time::timeout;

/// A failover takes Sentinel a few seconds; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let stranger = RedisStore::open(options).expect("the store opens");
    let told = stranger.read(&room).await.expect_err("nobody vouches for it").to_string();
    assert!(told.contains("certificate"), "{told}");
}

/// The primary dies, the Sentinels name its replica: nodes find it by themselves, with every place and their feeds.
#[tokio::test]
async fn a_new_primary_is_found_through_the_sentinels() {
    let mut primary = Server::start(Kind::Redis);
    let of = format!("127.0.0.1 {}", primary.port());
    let replica = Server::start_with(Kind::Redis, &["--replicaof", &of]);
    replica.wait_for("sync: Finished with success");
    let sentinel = Server::start_sentinel(Kind::Redis, "shop", &primary);
    sentinel.wait_for("+slave");
    let url = format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port());
    let store = RedisStore::open(RedisOptions::new(url)).expect("the store opens");
    let room = id("moved");
    store.create(&room, Settings::default()).await.expect("created");
    store.join(&room, Mark::NONE, (1..=9).map(subject).collect()).await.expect("joined");
    let read = store.read(&room).await.expect("read");
    let mut feed = store.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    let event = tokio::spawn(async move { feed.next().await });
    assert_eq!(primary.ask("WAIT 1 10000"), ":1", "the replica has it all");
    primary.kill();
    let joined = timeout(PATIENCE, async {
        loop {
            match store.join(&room, read.mark, vec![subject(4), subject(10)]).await {
                Ok(reply) => return reply.outcome,
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    let joined = joined.await.expect("the new primary is found");
    assert_eq!(joined, [JoinOutcome::Waiting { seq: 4 }, JoinOutcome::Joined { seq: 10 }]);
    let event = timeout(PATIENCE, event).await.expect("the feed came back").expect("it ran");
    assert_eq!(event.expect("no gap").event_no, read.mark.event_no + 1);
}

/// A room's slot moves to another node while people join: nobody is lost and no number is given twice.
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
        let joined = timeout(PATIENCE, async {
            loop {
                match store.join(&room, Mark::NONE, (who..who + 10).map(subject).collect()).await {
                    Ok(reply) => return reply.outcome,
                    Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
        for outcome in joined.await.expect("it goes on") {
            match outcome {
                // A call that was repeated finds what its first try did.
                JoinOutcome::Joined { seq } | JoinOutcome::Waiting { seq } => given.push(seq),
                other => panic!("{other:?}"),
            }
        }
        who += 10;
    }
    assert_eq!(given, (1..=400).collect::<Vec<_>>());
    for event_no in 2..=41 {
        let event = timeout(PATIENCE, feed.next()).await.expect("it is told").expect("no gap");
        assert_eq!(event.event_no, event_no);
    }
}
