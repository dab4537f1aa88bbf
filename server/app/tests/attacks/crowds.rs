//! One client that pretends to be a crowd, over HTTP and mostly at the default limits: how much of the line it gets, and that everybody
//! else joins meanwhile as ever. And that a crowd behind one address is none of that.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use jari_api::admin::{ChallengeKind, PacerBody, RoomBody};
use jari_testkit::{TestApp, Visitor};
use reqwest::{Method, StatusCode};
use tokio::time::Instant;

/// Requests under way at once, of whoever attacks.
const AT_ONCE: usize = 64;
/// What an address may bring at once, and in each second after it: the defaults.
const BURST: u64 = 1_000;
const PER_S: u64 = 10;

const ATTACKER: &str = "198.51.100.7";
const SOMEBODY: &str = "203.0.113.9";

/// A server that takes the tests' word on where a client is.
async fn server() -> TestApp {
    TestApp::builder().set("http.trusted_proxies", "127.0.0.0/8").start().await
}

fn still(room: &mut RoomBody) {
    room.settings.pacer = PacerBody::Manual;
}

/// Somebody's visitor token, asked for from `address`.
async fn identity(visitor: &Visitor, address: &str) -> String {
    let request = visitor.request(Method::POST, "/v1/visitors").header("x-forwarded-for", address);
    let made: jari_api::VisitorCreated =
        request.send().await.expect("the server answers").json().await.expect("an identity");
    made.visitor_token
}

async fn join(visitor: &Visitor, room: &str, address: &str, token: &str) -> StatusCode {
    let request = visitor.request(Method::POST, &format!("/v1/rooms/{room}/places"));
    let request = request.header("x-forwarded-for", address).bearer_auth(token);
    let response = request.send().await.expect("the server answers");
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS {
        assert!(response.headers().contains_key("retry-after"), "{response:?}");
    }
    status
}

/// Somebody else joins while `flood` goes on, again and again; how many did.
async fn joined_beside(app: &TestApp, room: &str, flood: impl Future<Output = ()>) -> u64 {
    let visitor = app.visitor();
    let mut joined = 0;
    tokio::pin!(flood);
    loop {
        let token = identity(&visitor, SOMEBODY).await;
        let status = join(&visitor, room, SOMEBODY, &token).await;
        assert_eq!(status, 201, "after {joined} others");
        joined += 1;
        // Not as fast as it goes: they are people.
        let pause = tokio::time::sleep(Duration::from_millis(50));
        tokio::select! {
            () = &mut flood => return joined,
            () = pause => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_attack_1000_joins_a_second_from_one_client_get_one_place_and_hold_nobody_up() {
    const JOINS: usize = 3_000;
    // A fifth of the default, so that a slow machine's flood is above it too.
    let app = TestApp::builder()
        .set("http.trusted_proxies", "127.0.0.0/8")
        .set("http.join_limit_burst", 1_000)
        .set("http.join_limit_per_minute", 1_200)
        .start()
        .await;
    let room = app.create_room(still).await;
    let attacker = app.visitor();
    let token = identity(&attacker, ATTACKER).await;
    let (mut taken, mut refused) = (0_u64, 0_u64);
    let began = Instant::now();
    let flood = async {
        let joins = (0..JOINS).map(|_| join(&attacker, &room, ATTACKER, &token));
        let mut joins = stream::iter(joins).buffer_unordered(AT_ONCE);
        while let Some(status) = joins.next().await {
            match status.as_u16() {
                200 | 201 => taken += 1,
                429 => refused += 1,
                other => panic!("{other}"),
            }
        }
    };
    let others = joined_beside(&app, &room, flood).await;
    let allowed = 1_000 + (began.elapsed().as_secs() + 1) * 20;
    assert!(taken <= allowed && refused > 0, "{taken} taken of {allowed}, {refused} refused");
    let stats = app.operator().stats(&room).await;
    assert_eq!(stats.waiting, 1 + others, "one client is one place");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_attack_thousands_of_anonymous_identities_from_one_client_get_what_an_address_may()
{
    const IDENTITIES: usize = 3_000;
    let app = server().await;
    let room = app.create_room(still).await;
    let attacker = app.visitor();
    let (mut places, mut refused) = (0_u64, 0_u64);
    let began = Instant::now();
    let flood = async {
        let joins = (0..IDENTITIES).map(|_| async {
            let token = identity(&attacker, ATTACKER).await;
            join(&attacker, &room, ATTACKER, &token).await
        });
        let mut joins = stream::iter(joins).buffer_unordered(AT_ONCE);
        while let Some(status) = joins.next().await {
            match status.as_u16() {
                201 => places += 1,
                429 => refused += 1,
                other => panic!("{other}"),
            }
        }
    };
    let others = joined_beside(&app, &room, flood).await;
    let allowed = BURST + (began.elapsed().as_secs() + 1) * PER_S;
    assert!((BURST..=allowed).contains(&places), "{places} places, {allowed} allowed");
    assert_eq!(places + refused, IDENTITIES as u64);
    let stats = app.operator().stats(&room).await;
    assert_eq!(stats.waiting, places + others, "nobody has a place who was refused");
    // One more may come each tenth of a second: the next refusal says why.
    let problem = loop {
        let token = identity(&attacker, ATTACKER).await;
        let request = attacker.request(Method::POST, &format!("/v1/rooms/{room}/places"));
        let request = request.header("x-forwarded-for", ATTACKER).bearer_auth(token);
        let response = request.send().await.expect("the server answers");
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            break response.json::<jari_api::Problem>().await.expect("a problem");
        }
        assert!(began.elapsed() < Duration::from_secs(120), "nothing refuses it any more");
    };
    let limit = &problem.fields["limit"];
    assert_eq!((&*problem.code, limit), ("too_many_newcomers", &"address".into()));
}

/// Where the room asks for work, identities alone are worth nothing, and one solution is one place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_attack_thousands_of_anonymous_identities_without_the_work_get_no_place() {
    const IDENTITIES: usize = 2_000;
    let app = server().await;
    let room = app
        .create_room(|room| {
            still(room);
            room.challenge = ChallengeKind::ProofOfWork;
            room.challenge_difficulty = 100;
        })
        .await;
    let attacker = app.visitor();
    let joins = (0..IDENTITIES).map(|_| async {
        let token = identity(&attacker, ATTACKER).await;
        join(&attacker, &room, ATTACKER, &token).await
    });
    let answers: Vec<_> = stream::iter(joins).buffer_unordered(AT_ONCE).collect().await;
    assert!(answers.iter().all(|status| *status == 403), "{answers:?}");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
}

/// Addresses are cheap where a client has a whole network of them.
#[tokio::test]
async fn issue_5_attack_identities_from_a_whole_network_get_what_a_network_may() {
    let app = TestApp::builder()
        .set("http.trusted_proxies", "127.0.0.0/8")
        .set("http.newcomer_limit_burst", 10)
        .set("http.newcomer_limit_per_minute", 1)
        .set("http.network_limit_burst", 25)
        .set("http.network_limit_per_minute", 1)
        .start()
        .await;
    let room = app.create_room(still).await;
    let attacker = app.visitor();
    for network in [
        (0..8).map(|host| format!("198.51.100.{host}")).collect::<Vec<_>>(),
        (0..8).map(|net| format!("2001:db8:7:{net:x}::1")).collect(),
    ] {
        let mut places = 0;
        for address in &network {
            for _ in 0..12 {
                let token = identity(&attacker, address).await;
                places += u64::from(join(&attacker, &room, address, &token).await == 201);
            }
        }
        // Once a minute one more may come: the machine may be slow.
        assert!((25..=30).contains(&places), "{places} of {network:?}");
    }
    let token = identity(&attacker, SOMEBODY).await;
    assert_eq!(join(&attacker, &room, SOMEBODY, &token).await, 201);
}

/// An office behind one address opens the room in the same moment, looks, reloads and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_an_office_of_300_people_behind_one_address_trips_nothing_by_default() {
    const PEOPLE: usize = 300;
    let app = server().await;
    let room = app.create_room(still).await;
    let browser = app.visitor();
    let people = (0..PEOPLE).map(|_| async {
        let page = browser.request(Method::GET, &format!("/rooms/{room}"));
        let page = page.header("x-forwarded-for", ATTACKER).send().await;
        assert_eq!(page.expect("the server answers").status(), 200);
        let token = identity(&browser, ATTACKER).await;
        assert_eq!(join(&browser, &room, ATTACKER, &token).await, 201);
        // A reload, a second tab, and a browser that lost the place's receipt.
        for _ in 0..3 {
            assert_eq!(join(&browser, &room, ATTACKER, &token).await, 200);
        }
    });
    stream::iter(people).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    assert_eq!(app.operator().stats(&room).await.waiting, PEOPLE as u64);
}
