//! Another server answers, or the same one after a crash: what it may lack, how that is found out, and that nobody gets
//! somebody else's number meanwhile. Times are set, servers and their failures are real.

use std::sync::Arc;

use jari_conformance::SetClock;
use jari_conformance::history::START;
use jari_line::{ReattachOutcome, RecoverOutcome, Settings};
use jari_ports::{FeedLost, LineStore};
use jari_servers::{Cluster, Kind, Server};
use jari_units::limits::{RECOVERY_MIN, SEQ_JUMP};
use jari_units::{Millis, Seq};

use crate::node::{Node, PATIENCE};

/// Everybody waits.
fn closed() -> Settings {
    Settings { capacity: 0, ..Settings::default() }
}

/// A primary whose replica lacks the numbers 11 to 30, which were acknowledged; the primary is gone.
struct Lagging {
    clock: Arc<SetClock>,
    first: Node,
    /// The number of everybody, 1 to 30.
    given: Vec<Seq>,
}

fn replica_of(kind: Kind, primary: &Server) -> Server {
    let of = format!("127.0.0.1 {}", primary.port());
    let replica = Server::start_with(kind, &["--replicaof", &of, "--appendonly", "no"]);
    replica.wait_for("sync: Finished with success");
    replica
}

impl Lagging {
    /// Fills the room at `url`, whose primary and replica these are.
    async fn behind(url: &str, primary: &Server, replica: &Server) -> Lagging {
        let clock = SetClock::at(START);
        let mut first = Node::new(url, "shop", &clock, 1);
        first.create(closed()).await;
        let mut given = first.join(1..=10).await;
        first.attend().await;
        primary.wait_for_replica(replica);
        primary.leave_behind(replica);
        given.extend(first.join(11..=30).await);
        assert_eq!(given, (1..=30).collect::<Vec<_>>());
        Lagging { clock, first, given }
    }

    /// Everybody has their own number, and newcomers have none of these.
    async fn everybody_is_there(&mut self, node: &mut Node) {
        assert_eq!(node.join(1..=30).await, self.given, "nobody lost a place");
        let new = node.join(101..=140).await;
        assert!(new.iter().all(|seq| *seq > 30 + SEQ_JUMP), "{new:?}");
        let replica = node.read().await;
        assert_eq!(replica.waiting(), 70);
        let unattached = self.given.iter().filter(|seq| replica.is_unattached(**seq)).count();
        assert_eq!(unattached, 0, "each of them is their owner's");
    }
}

async fn a_lagging_replica_takes_over(kind: Kind) {
    let mut primary = Server::start(kind);
    let replica = replica_of(kind, &primary);
    let url = primary.url();
    let mut lagging = Lagging::behind(&url, &primary, &replica).await;
    let known = lagging.first.read().await;
    primary.kill();
    replica.resume();
    assert_eq!(replica.ask("REPLICAOF NO ONE"), "+OK");
    // A node that has just started is behind nobody: its mark shows nothing.
    let mut fresh = Node::new(&replica.url(), "shop", &lagging.clock, 2);
    fresh.is_given_nothing().await;
    assert_eq!(fresh.recover(None).await, RecoverOutcome::Began);
    lagging.first.moves_to(&replica.url());
    lagging.first.mark = fresh.mark;
    lagging.first.tell(&known).await;
    for (who, seq) in (1..).zip(lagging.given.clone()) {
        let shown = fresh.show(who, known.mark().incarnation, seq).await;
        let kept = matches!(
            shown,
            ReattachOutcome::Waiting { .. }
                | ReattachOutcome::Restored { .. }
                | ReattachOutcome::Absent { .. }
        );
        assert!(kept, "{who}: {shown:?}");
    }
    fresh.settle().await;
    lagging.everybody_is_there(&mut fresh).await;
}

/// Q1, Q3, A2: the primary dies with places that no replica has. They are kept, and their numbers not given again.
#[tokio::test]
async fn a_replica_that_lacks_the_last_second_takes_over_and_no_place_is_lost() {
    a_lagging_replica_takes_over(Kind::Redis).await;
    a_lagging_replica_takes_over(Kind::Valkey).await;
}

/// The same where the node that gave the places died with the primary: people's receipts are all that is left.
#[tokio::test]
async fn what_only_a_dead_node_knew_of_a_dead_primary_comes_back_by_receipts() {
    let mut primary = Server::start(Kind::Redis);
    let replica = replica_of(Kind::Redis, &primary);
    let url = primary.url();
    let mut lagging = Lagging::behind(&url, &primary, &replica).await;
    let before = lagging.first.mark.incarnation;
    primary.kill();
    replica.resume();
    assert_eq!(replica.ask("REPLICAOF NO ONE"), "+OK");
    let mut fresh = Node::new(&replica.url(), "shop", &lagging.clock, 2);
    assert_eq!(fresh.recover(None).await, RecoverOutcome::Began);
    // The dead node attended within the minute: it is waited for, so people have the whole window.
    for _ in 0..10 {
        lagging.clock.advance(Millis(1_000));
        fresh.store.admit(&fresh.room, fresh.mark).await.expect("ticked");
    }
    assert!(fresh.read().await.is_recovering());
    for who in 11..=30 {
        let shown = fresh.show(who, before, who).await;
        assert_eq!(shown, ReattachOutcome::Restored { seq: who });
    }
    fresh.settle().await;
    lagging.everybody_is_there(&mut fresh).await;
}

/// A Sentinel finds the primary dead and promotes a replica that lags.
#[tokio::test]
async fn a_lagging_replica_that_the_sentinels_name_recovers_the_line() {
    let mut primary = Server::start(Kind::Redis);
    let replica = replica_of(Kind::Redis, &primary);
    let sentinel = Server::start_sentinel(Kind::Redis, "shop", &primary);
    sentinel.wait_for("+slave");
    let url = format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port());
    let mut lagging = Lagging::behind(&url, &primary, &replica).await;
    let known = lagging.first.read().await;
    let first = &lagging.first;
    let mut feed = first.store.subscribe(&first.room, first.mark.event_no).await.expect("heard");
    let told = tokio::spawn(async move { feed.next().await.map(|_| ()) });
    primary.kill();
    replica.resume();
    let mut fresh = Node::new(&url, "shop", &lagging.clock, 2);
    fresh.is_given_nothing().await;
    let told = tokio::time::timeout(PATIENCE, told).await.expect("the feed finds it too");
    assert_eq!(told.expect("it ran"), Err(FeedLost));
    // Whoever has seen more, and whoever has not: either way it is one recovery.
    assert_eq!(fresh.recover(None).await, RecoverOutcome::Began);
    lagging.first.mark = fresh.mark;
    lagging.first.tell(&known).await;
    for who in 11..=30 {
        fresh.show(who, known.mark().incarnation, who).await;
    }
    fresh.settle().await;
    lagging.everybody_is_there(&mut fresh).await;
}

/// In a Cluster one shard fails over; rooms of the others notice nothing.
#[tokio::test]
async fn a_lagging_replica_of_one_shard_recovers_that_shards_rooms_alone() {
    let mut cluster = Cluster::start(Kind::Redis);
    let (url, key) = (cluster.url(), "jari:{shop}:s");
    let replica = cluster.add_replica_of(Kind::Redis, key);
    let mut lagging = Lagging::behind(&url, cluster.primary_of(key), &replica).await;
    let known = lagging.first.read().await;
    let mut other = Node::new(&url, "elsewhere", &lagging.clock, 1);
    let slots = [key, "jari:{elsewhere}:s"].map(|key| cluster.primary_of(key).port());
    assert_ne!(slots[0], slots[1], "the rooms are on two shards");
    other.create(closed()).await;
    assert_eq!(other.join(1..=3).await, [1, 2, 3]);
    cluster.primary_of(key).kill();
    replica.resume();
    assert_eq!(replica.ask("CLUSTER FAILOVER TAKEOVER"), "+OK");
    let mut fresh = Node::new(&url, "shop", &lagging.clock, 2);
    fresh.is_given_nothing().await;
    assert_eq!(fresh.recover(None).await, RecoverOutcome::Began);
    lagging.first.moves_to(&url);
    lagging.first.mark = fresh.mark;
    lagging.first.tell(&known).await;
    for who in 11..=30 {
        fresh.show(who, known.mark().incarnation, who).await;
    }
    fresh.settle().await;
    lagging.everybody_is_there(&mut fresh).await;
    assert_eq!(other.join(4..=4).await, [4]);
}

fn with_a_disk(fsync: &str) -> Server {
    Server::start_with(Kind::Redis, &["--appendonly", "yes", "--appendfsync", fsync])
}

/// Two nodes serve a room; both have attended.
async fn two_nodes(server: &Server) -> (Arc<SetClock>, Node, Node) {
    let clock = SetClock::at(START);
    let mut one = Node::new(&server.url(), "shop", &clock, 1);
    let mut two = Node::new(&server.url(), "shop", &clock, 2);
    one.create(closed()).await;
    one.join(1..=10).await;
    one.attend().await;
    two.attend().await;
    (clock, one, two)
}

/// A server that was killed and has lost nothing goes on where it was, once every node has said so: the same numbers, the
/// same incarnation, no window.
#[tokio::test]
async fn a_restart_that_lost_nothing_is_found_out_by_asking_every_node() {
    let mut server = with_a_disk("always");
    let (clock, mut one, mut two) = two_nodes(&server).await;
    let before = one.join(11..=20).await;
    let mark = one.mark;
    server.kill_and_restart();
    one.is_given_nothing().await;
    assert_eq!(one.recover(None).await, RecoverOutcome::Asking);
    clock.advance(RECOVERY_MIN);
    assert_eq!(one.recover(None).await, RecoverOutcome::Asking, "the other node is not heard yet");
    two.is_given_nothing().await;
    assert_eq!(two.recover(None).await, RecoverOutcome::NothingLost);
    assert_eq!(one.recover(None).await, RecoverOutcome::NothingLost);
    assert_eq!(one.mark, mark);
    assert_eq!(one.join(11..=20).await, before);
    assert_eq!(two.join(21..=22).await, [21, 22]);
}

/// Nobody is asked longer than it takes a node that lives to connect: who stays silent may know more, so the room recovers.
#[tokio::test]
async fn a_restart_is_a_loss_where_a_node_that_served_the_room_stays_silent() {
    let mut server = with_a_disk("always");
    let (clock, mut one, _dead) = two_nodes(&server).await;
    server.kill_and_restart();
    assert_eq!(one.recover(None).await, RecoverOutcome::Asking);
    clock.advance(Millis(2 * RECOVERY_MIN.0 - 1));
    assert_eq!(one.recover(None).await, RecoverOutcome::Asking);
    clock.advance(Millis(1));
    assert_eq!(one.recover(None).await, RecoverOutcome::Began);
}

/// The last second was not on the disk yet. A node that knows less is kept waiting until the one that knows more calls.
#[tokio::test]
async fn a_restart_that_lost_the_last_second_is_a_loss_whoever_calls_first() {
    let mut server = with_a_disk("everysec");
    let (_clock, mut one, mut two) = two_nodes(&server).await;
    let journal = server.folder().join("appendonlydir/appendonly.aof.1.incr.aof");
    let kept = std::fs::metadata(&journal).expect("the server's journal").len();
    assert_eq!(one.join(11..=20).await, (11..=20).collect::<Vec<_>>());
    let known = one.read().await;
    server.kill();
    let file = std::fs::File::options().write(true).open(&journal).expect("root's or ours");
    file.set_len(kept).expect("it is cut");
    server.start_again();
    two.is_given_nothing().await;
    assert_eq!(two.recover(None).await, RecoverOutcome::Asking);
    assert_eq!(one.recover(None).await, RecoverOutcome::Began);
    assert_eq!(two.recover(None).await, RecoverOutcome::UnderWay);
    one.tell(&known).await;
    let incarnation = known.mark().incarnation;
    for who in 11..=20 {
        let shown = two.show(who, incarnation, who).await;
        assert_eq!(shown, ReattachOutcome::Restored { seq: who });
    }
    two.settle().await;
    assert_eq!(two.join(11..=20).await, (11..=20).collect::<Vec<_>>());
    assert!(two.join(21..=21).await[0] > 20 + SEQ_JUMP);
}

/// A primary whose last replica is long gone draws a new replication id. It lost nothing, and nobody notices.
#[tokio::test]
async fn a_primary_that_forgets_its_replicas_goes_on() {
    let primary = Server::start(Kind::Redis);
    assert_eq!(primary.ask("CONFIG SET repl-backlog-ttl 1"), "+OK");
    let clock = SetClock::at(START);
    let mut one = Node::new(&primary.url(), "shop", &clock, 1);
    let id = || {
        let info = primary.ask("INFO replication");
        let line = info.lines().find(|line| line.starts_with("master_replid:"));
        line.expect("every server has one").to_owned()
    };
    {
        let _replica = replica_of(Kind::Redis, &primary);
        one.create(closed()).await;
        one.join(1..=3).await;
    }
    let before = id();
    let changed = async {
        while id() == before {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, changed).await.expect("it draws a new one");
    assert_eq!(one.join(4..=5).await, [4, 5]);
    assert_eq!(one.join(6..=6).await, [6]);
}

/// A room in which nobody is costs nothing when the server changes, and is asked about when somebody comes.
#[tokio::test]
async fn an_empty_room_waits_with_its_questions_until_somebody_comes() {
    let mut server = with_a_disk("always");
    let clock = SetClock::at(START);
    let mut one = Node::new(&server.url(), "shop", &clock, 1);
    one.create(closed()).await;
    one.attend().await;
    let feed = one.store.subscribe(&one.room, one.mark.event_no).await;
    let mut feed = feed.expect("subscribed");
    let waiting = tokio::spawn(async move { feed.next().await });
    // Long since: who attended then may be gone, and nobody is waited for.
    clock.advance(Millis::from_mins(30));
    server.kill_and_restart();
    one.is_given_nothing().await;
    assert!(!waiting.is_finished(), "its feed goes on");
    assert_eq!(one.recover(None).await, RecoverOutcome::Asking);
    clock.advance(RECOVERY_MIN);
    let mut fresh = Node::new(&server.url(), "shop", &clock, 7);
    assert_eq!(fresh.recover(None).await, RecoverOutcome::NothingLost);
    assert_eq!(fresh.join(1..=1).await, [1]);
    let event = tokio::time::timeout(PATIENCE, waiting).await.expect("it is told");
    assert!(event.expect("it ran").is_ok(), "without a gap");
}
