//! Every key of a room in which all kinds of people are, taken away one by one, as an eviction at `maxmemory` or a hand does:
//! it changes nothing for anybody, or it is noticed at the next tick and mended or told of.

use std::collections::BTreeSet;
use std::sync::Arc;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{
    AdmitOutcome, Change, Dump, GroupSettings, JoinOutcome, Ledger, Loss, Past, Receipt,
    RecoverOutcome, RedeemOutcome, SeenBits, SeqSet, Settings, Ticket,
};
use jari_ports::{Clock, LineStore, StoreError};
use jari_servers::{Kind, Server};
use jari_units::{Mark, Millis, PassId, Seq};

use crate::node::Node;

/// What a room of this test has, by what its name ends in.
const KEYS: [&str; 16] = [
    "allow", "block", "cl", "ev", "g", "landed", "marks", "nodes", "o", "p0", "p1", "pass", "s",
    "subj", "un", "w",
];
/// Without these the line itself is gone: the room comes back from a node.
const LINE: [&str; 7] = ["cl", "o", "pass", "s", "subj", "un", "w"];

/// Numbers of people in all kinds of standing; subjects have the same numbers.
const INSIDE: [Seq; 3] = [1, 2, 5];
const SECOND_CHANCE: Seq = 3;
const PASSED_OVER: Seq = 4;
const IN_LINE: [Seq; 3] = [6, 7, 8];
const LEFT: Seq = 9;
/// So many that every bitmap grows by them.
const LATE: std::ops::RangeInclusive<u64> = 20..=27;
const BLOCKED: u64 = 10;
const ALLOWED: u64 = 11;
/// Whose one-time token was redeemed.
const LANDED: Seq = 1;

pub(crate) fn settings() -> Settings {
    let secs = Millis::from_secs;
    Settings {
        capacity: 3,
        claim_window: secs(20),
        presence_window: secs(10),
        absence_grace: secs(3_600),
        pass_ttl: secs(3_600),
        grouped: true,
        ..Settings::default()
    }
}

pub(crate) struct Scene {
    pub(crate) node: Node,
    clock: Arc<SetClock>,
    landed: Ticket,
    /// What a node that followed the room knows.
    pub(crate) replica: Ledger,
}

impl Scene {
    async fn set_group(&self) {
        let limits = GroupSettings { capacity: 100, rate_milli: 1_000_000, burst: 500 };
        let group = "till".parse().expect("an id");
        self.node.store.set_group(&group, limits, vec![self.node.room.clone()]).await.expect("set");
    }

    pub(crate) async fn tick(&mut self) -> Result<AdmitOutcome, StoreError> {
        self.clock.advance(Millis(1_000));
        let reply = self.node.store.admit(&self.node.room, self.node.mark).await?;
        self.node.mark = reply.mark;
        Ok(reply.outcome)
    }

    async fn hear(&self, who: impl Iterator<Item = Seq>) {
        let heard: SeqSet = who.collect();
        for bits in SeenBits::pack(&heard) {
            self.node.store.seen(&self.node.room, Mark::NONE, bits).await.expect("seen");
        }
    }

    async fn change(&mut self, change: Change) -> Result<(), StoreError> {
        let reply = self.node.store.change(&self.node.room, Mark::NONE, change).await?;
        self.node.mark = reply.mark;
        Ok(())
    }

    async fn dump(&self) -> Dump {
        self.node.store.dump(&self.node.room).await.expect("dumped").outcome
    }

    fn pass(&self, seq: Seq) -> PassId {
        PassId { incarnation: self.node.mark.incarnation, seq, grant: 1 }
    }

    /// A room with somebody in every standing.
    pub(crate) async fn begin(server: &Server, room: &str) -> Scene {
        let clock = SetClock::at(START);
        let mut node = Node::new(&server.url(), room, &clock, 1);
        node.create(settings()).await;
        let landed =
            Ticket { pass: PassId { incarnation: 0, seq: 0, grant: 0 }, no: 0, nonce: [7; 16] };
        let replica = node.read().await;
        let mut scene = Scene { node, clock, landed, replica };
        scene.set_group().await;
        assert_eq!(scene.node.join(1..=9).await, (1..=9).collect::<Vec<_>>());
        assert_eq!(scene.tick().await.expect("ticked").called, 3);
        let claimed = vec![scene.pass(1), scene.pass(2)];
        scene.node.store.claim(&scene.node.room, Mark::NONE, claimed).await.expect("claimed");
        let no = scene.node.read().await.next_ticket_no(LANDED, 1).expect("it is inside");
        scene.landed = Ticket { pass: scene.pass(LANDED), no, nonce: [7; 16] };
        let landed = scene.node.store.redeem(&scene.node.room, Mark::NONE, scene.landed).await;
        assert!(matches!(landed.expect("redeemed").outcome, RedeemOutcome::Redeemed(_)));
        // Number 3 does not come, number 4 is away when its turn is.
        for _ in 0..21 {
            scene.hear(5..=9).await;
            scene.tick().await.expect("ticked");
        }
        let gone = vec![subject(LEFT)];
        scene.node.store.leave(&scene.node.room, Mark::NONE, gone).await.expect("left");
        scene.change(Change::Block(subject(BLOCKED))).await.expect("changed");
        scene.change(Change::Allow(subject(ALLOWED))).await.expect("changed");
        scene.node.attend().await;
        scene.replica = scene.node.read().await;
        scene
    }

    /// Everybody is where they were.
    pub(crate) async fn is_whole(&self, name: &str) {
        let dump = self.dump().await;
        let waiting: Vec<Seq> = dump.w.iter().collect();
        assert_eq!(waiting, [&[SECOND_CHANCE, PASSED_OVER][..], &IN_LINE].concat(), "{name}");
        let inside: Vec<Seq> = dump.passes.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(inside, INSIDE, "{name}");
        assert_eq!(dump.once.iter().collect::<Vec<_>>(), [SECOND_CHANCE], "{name}");
        let owners: BTreeSet<_> = dump.subjects.into_iter().collect();
        let people = INSIDE.iter().chain(&IN_LINE).chain(&[SECOND_CHANCE, PASSED_OVER]);
        assert_eq!(owners, people.map(|seq| (subject(*seq), *seq)).collect(), "{name}");
    }

    /// The room is put together from what this node knows, and people show what they hold.
    pub(crate) async fn recover(&mut self, name: &str) {
        let loss = Loss::Seen(Past { mark: self.node.mark, origin: None });
        let (store, room) = (&self.node.store, &self.node.room);
        let begun = store.recover(room, settings(), loss, 1).await.expect("answered");
        assert_eq!(begun.outcome, RecoverOutcome::Began, "{name}");
        self.node.mark = begun.mark;
        let replica = self.replica.clone();
        self.node.tell(&replica).await;
        self.show(&replica).await;
        self.node.settle().await;
    }

    pub(crate) async fn show(&mut self, replica: &Ledger) {
        let people = INSIDE.iter().chain(&IN_LINE).chain(&[SECOND_CHANCE, PASSED_OVER]);
        let receipts = people.map(|seq| Receipt {
            subject: subject(*seq),
            incarnation: replica.mark().incarnation,
            seq: *seq,
            as_of: self.clock.now(),
            pass: INSIDE.contains(seq).then_some(1),
        });
        let (room, mark) = (&self.node.room, self.node.mark);
        let shown = self.node.store.reattach(room, mark, receipts.collect()).await;
        self.node.mark = shown.expect("shown").mark;
    }

    /// What each of them is told when they come again.
    async fn tells_everybody_the_same(&mut self, name: &str, forgotten: &str) {
        let mut told = Vec::new();
        for who in (1..=LEFT).chain([BLOCKED, ALLOWED]) {
            let (room, people) = (&self.node.room, vec![subject(who)]);
            let answer = self.node.store.join(room, Mark::NONE, people).await;
            told.push(match answer.expect("joined").outcome[..] {
                [JoinOutcome::Admitted(grant)] => ("inside", grant.id.seq),
                [JoinOutcome::Waiting { seq }] => ("waiting", seq),
                [JoinOutcome::Absent { seq }] => ("absent", seq),
                [JoinOutcome::Joined { seq }] if seq > LEFT => ("new", 0),
                [JoinOutcome::Blocked] => ("blocked", 0),
                [JoinOutcome::Allowed(_)] => ("allowed", 0),
                ref other => panic!("{name}: {who} is told {other:?}"),
            });
        }
        let by_list = |list, word| if forgotten == list { ("new", 0) } else { (word, 0) };
        let mut wanted = vec![("inside", 1), ("inside", 2), ("absent", 3), ("absent", 4)];
        wanted.push(("inside", 5));
        wanted.extend(IN_LINE.map(|seq| ("waiting", seq)));
        wanted.extend([("new", 0), by_list("block", "blocked"), by_list("allow", "allowed")]);
        assert_eq!(told, wanted, "{name}");
    }

    /// A token that was redeemed is good for nobody else, and a new one is good.
    async fn tokens_land_once(&mut self, name: &str) {
        let other = Ticket { nonce: [8; 16], ..self.landed };
        let redeem = async |ticket| {
            let (room, mark) = (&self.node.room, Mark::NONE);
            self.node.store.redeem(room, mark, ticket).await.expect("answered").outcome
        };
        let again = redeem(other).await;
        assert!(!matches!(again, RedeemOutcome::Redeemed(_)), "{name}: {again:?}");
        self.tick().await.expect("ticked");
        let no = self.node.read().await.next_ticket_no(LANDED, 2).expect("it is inside");
        let new = Ticket { pass: self.pass(LANDED), no, nonce: [9; 16] };
        let landed = self.node.store.redeem(&self.node.room, Mark::NONE, new).await;
        let landed = landed.expect("answered").outcome;
        assert!(matches!(landed, RedeemOutcome::Redeemed(_)), "{name}: {landed:?}");
    }
}

fn keys_of(server: &Server, room: &str) -> BTreeSet<String> {
    let all = server.ask_list(&format!("KEYS jari:{{{room}}}:*"));
    all.iter().map(|key| key.rsplit(':').next().unwrap_or_default().to_owned()).collect()
}

/// `meanwhile`: something else is done to the room between the deletion and the tick.
async fn without(server: &Server, key: &str, meanwhile: bool) {
    let room = format!("shop-{key}-{meanwhile}");
    let name = &format!("without {key}, meanwhile {meanwhile}");
    let mut scene = Scene::begin(server, &room).await;
    assert_eq!(keys_of(server, &room), KEYS.iter().map(|key| (*key).to_owned()).collect());
    scene.is_whole("before").await;
    assert_eq!(server.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1", "{name}");
    if meanwhile {
        // More people and more names: what is written makes the room's keys anew, as large as they should be. Where people
        // are missing nothing is written, and nobody answered.
        let answers = !["o", "pass", "s", "subj", "w"].contains(&key);
        let people = LATE.map(subject).collect();
        let joined = scene.node.store.join(&scene.node.room, Mark::NONE, people).await;
        assert_eq!(joined.is_ok(), answers, "{name}: {joined:?}");
        for change in [Change::Block(subject(30)), Change::Allow(subject(31))] {
            let changed = scene.change(change).await;
            assert_eq!(changed.is_ok(), answers, "{name}: {changed:?}");
        }
    }
    let ticked = scene.tick().await;
    if LINE.contains(&key) {
        assert!(matches!(ticked, Err(StoreError::UnknownRoom(_))), "{name}: {ticked:?}");
        scene.recover(name).await;
    } else {
        let outcome = ticked.unwrap_or_else(|error| panic!("{name}: {error}"));
        let lists = u64::from(key == "block" || key == "allow");
        assert_eq!((outcome.unlisted, outcome.without_group), (lists, key == "g"), "{name}");
        assert_eq!(outcome.lull_began, key.starts_with('p'), "{name}");
    }
    if key == "g" {
        scene.set_group().await;
    }
    if meanwhile {
        // They are gone with a recovery, unless they show what they hold.
        let people = LATE.map(subject).collect();
        scene.node.store.leave(&scene.node.room, Mark::NONE, people).await.expect("left");
    }
    let after = scene.tick().await.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((after.unlisted, after.without_group), (0, false), "{name}: told once");
    scene.node.attend().await;
    scene.is_whole(name).await;
    let mended: BTreeSet<String> = keys_of(server, &room);
    let ends = |key: &str| mended.contains(key);
    assert!(["marks", "nodes", "p0", "p1", "g"].into_iter().all(ends), "{name}: {mended:?}");
    scene.tokens_land_once(name).await;
    scene.tells_everybody_the_same(name, key).await;
}

#[tokio::test]
async fn issue_4_no_key_of_a_living_room_is_missed_in_silence() {
    let server = Server::start(Kind::Redis);
    for key in KEYS {
        without(&server, key, false).await;
    }
}

/// What is written between the loss and the tick makes some keys anew, and hides nothing.
#[tokio::test]
async fn issue_4_what_is_done_before_the_tick_hides_no_missing_key() {
    let server = Server::start(Kind::Redis);
    for key in KEYS {
        without(&server, key, true).await;
    }
}

/// An operation on one person, and whether the store answered it.
async fn asked_of(scene: &Scene, call: &str) -> Result<(), StoreError> {
    let (store, room, mark) = (&scene.node.store, &scene.node.room, Mark::NONE);
    let (inside, waiting) = (scene.pass(2), vec![subject(6)]);
    match call {
        "join" => store.join(room, mark, waiting).await.map(drop),
        "leave" => store.leave(room, mark, waiting).await.map(drop),
        "revoke" => store.revoke(room, mark, vec![subject(2)]).await.map(drop),
        "block" => store.change(room, mark, Change::Block(subject(6))).await.map(drop),
        "claim" => store.claim(room, mark, vec![inside]).await.map(drop),
        "touch" => store.touch(room, mark, vec![inside]).await.map(drop),
        "extend" => store.extend_for_payment(room, mark, inside, Millis(1_000)).await.map(drop),
        "redeem" => store.redeem(room, mark, scene.landed).await.map(drop),
        "end" => store.end_pass(room, mark, vec![inside]).await.map(drop),
        other => panic!("there is no {other}"),
    }
}

/// Before the tick finds it: a room that lacks people would call them gone, and acknowledge what their recovery undoes.
#[tokio::test]
async fn issue_4_a_room_that_lacks_people_answers_nobody() {
    const CALLS: [&str; 9] =
        ["join", "leave", "revoke", "block", "claim", "touch", "extend", "redeem", "end"];
    let server = Server::start(Kind::Redis);
    for key in ["o", "pass", "subj", "w"] {
        for call in CALLS {
            let (room, name) = (format!("shop-{key}-{call}"), format!("{call} without {key}"));
            let mut scene = Scene::begin(&server, &room).await;
            assert_eq!(server.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1", "{name}");
            let answered = asked_of(&scene, call).await;
            assert!(matches!(answered, Err(StoreError::UnknownRoom(_))), "{name}: {answered:?}");
            scene.recover(&name).await;
            scene.is_whole(&name).await;
        }
    }
}

/// All that tells of passes at once: each of these keys agrees with the others that nobody is inside.
#[tokio::test]
async fn issue_4_passes_that_are_all_gone_are_missed() {
    let server = Server::start(Kind::Redis);
    let mut scene = Scene::begin(&server, "shop").await;
    server.ask("DEL jari:{shop}:pass jari:{shop}:un jari:{shop}:cl");
    let ticked = scene.tick().await;
    assert!(matches!(ticked, Err(StoreError::UnknownRoom(_))), "{ticked:?}");
    scene.recover("without passes").await;
    scene.is_whole("without passes").await;
}

/// A recovery that loses what it was told begins anew, and so does a room with places whose owners have not come back yet.
#[tokio::test]
async fn issue_4_a_recovery_that_loses_what_it_was_told_begins_anew() {
    let server = Server::start(Kind::Redis);
    for key in ["free", "held", "known", "receipts", "shown"] {
        let room = format!("shop-{key}");
        let mut scene = Scene::begin(&server, &room).await;
        server.ask(&format!("DEL jari:{{{room}}}:s"));
        let loss = Loss::Seen(Past { mark: scene.node.mark, origin: None });
        let begun = scene.node.store.recover(&scene.node.room, settings(), loss, 1).await;
        scene.node.mark = begun.expect("answered").mark;
        let replica = scene.replica.clone();
        scene.node.tell(&replica).await;
        // Somebody inside and somebody in line; the others have not come back yet.
        for (seq, pass) in [(1, Some(1)), (6, None)] {
            let (subject, as_of) = (subject(seq), scene.clock.now());
            let incarnation = replica.mark().incarnation;
            let receipt = Receipt { subject, incarnation, seq, as_of, pass };
            let shown = scene.node.store.reattach(&scene.node.room, scene.node.mark, vec![receipt]);
            scene.node.mark = shown.await.expect("shown").mark;
        }
        assert_eq!(server.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1", "{key}");
        let ticked = scene.tick().await;
        assert!(matches!(ticked, Err(StoreError::UnknownRoom(_))), "{key}: {ticked:?}");
        scene.recover(key).await;
        scene.is_whole(key).await;
    }
}
