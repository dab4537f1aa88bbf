//! Challenges made and solved without a server: what opens, what does not and why, and what checking costs.

use altcha::{Solution, SolveChallengeOptions, solve_challenge};
use jari_pass::RingKey;

use super::*;
use crate::jitter::tests::Fixed;

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const VISITOR: SubjectKey = SubjectKey([0xab; 16]);

fn ring(keys: &[(u8, bool)]) -> KeyRing {
    let key = |(id, signs): &(u8, bool)| RingKey { id: *id, secret: [*id; 32], signs: *signs };
    KeyRing::new(keys.iter().map(key).collect(), [9; 32]).expect("one signs")
}

fn shop() -> RoomId {
    "shop".parse().expect("an id")
}

/// A challenge that 128 tries solve: the entropy says half of the difficulty.
fn challenge(ring: &KeyRing) -> Made {
    let room = shop();
    let about = About { room: &room, visitor: VISITOR, difficulty: 254, expires_at: NOW + TTL };
    made(ring, &Fixed(0x80), &about)
}

/// As another client of the format does it.
fn solution(challenge: &Made) -> Solution {
    let found = solve_challenge(SolveChallengeOptions::new(challenge)).expect("it can be read");
    found.expect("a few tries are done in time")
}

fn text(challenge: &Made, solution: &Solution) -> String {
    let payload = Payload { challenge: challenge.clone(), solution: solution.clone() };
    STANDARD.encode(serde_json::to_vec(&payload).expect("it is plain JSON"))
}

#[test]
fn an_altcha_client_s_solution_says_what_its_challenge_was_made_for() {
    let ring = ring(&[(1, true)]);
    let challenge = challenge(&ring);
    let solution = solution(&challenge);
    assert_eq!(solution.counter, 128, "the counter that was picked, and no smaller one");
    let want = Solved {
        room: "shop".to_owned(),
        visitor: VISITOR,
        difficulty: 254,
        expires_at: NOW + TTL,
    };
    let text = text(&challenge, &solution);
    assert!(text.len() < SOLUTION_MAX_LEN / 2, "{} characters", text.len());
    assert_eq!(solved(&ring, &text), Ok(want));
}

#[test]
fn what_was_changed_or_not_solved_opens_nothing() {
    let ring = ring(&[(1, true)]);
    let challenge = challenge(&ring);
    let good = solution(&challenge);
    let changed = |change: &dyn Fn(&mut ChallengeParameters)| {
        let mut other = challenge.clone();
        change(&mut other.parameters);
        solved(&ring, &text(&other, &good))
    };
    let data = |name: &'static str, value: Value| {
        move |parameters: &mut ChallengeParameters| {
            let data = parameters.data.as_mut().expect("it was made with some");
            data.insert(name.to_owned(), value.clone());
        }
    };
    for (what, judged) in [
        ("a later end", changed(&|p| p.expires_at = Some(i64::MAX))),
        ("no end", changed(&|p| p.expires_at = None)),
        ("no work", changed(&|p| p.cost = 1)),
        ("another prefix", changed(&|p| p.key_prefix = "00".to_owned())),
        ("another nonce", changed(&|p| p.nonce = "00".repeat(16))),
        ("no data", changed(&|p| p.data = None)),
        ("another room", changed(&data(ROOM, "show".into()))),
        ("another visitor", changed(&data(super::VISITOR, "00".repeat(16).into()))),
        ("another difficulty", changed(&data(DIFFICULTY, 1_000_000.into()))),
        ("a key that is none", changed(&data(KEY_ID, 7.into()))),
        ("a key of another size", changed(&data(KEY_ID, 257.into()))),
    ] {
        assert_eq!(judged, Err(Unsolved::Forged), "{what}");
    }
    let unsigned = Made { signature: None, ..challenge.clone() };
    assert_eq!(solved(&ring, &text(&unsigned, &good)), Err(Unsolved::Forged));
    let elsewhere = self::ring(&[(2, true)]);
    assert_eq!(solved(&elsewhere, &text(&challenge, &good)), Err(Unsolved::Forged));
    let near = format!("{}00", challenge.parameters.key_prefix.repeat(2));
    for key in ["", "zz", "00", &challenge.parameters.key_prefix, &near, &"00".repeat(32)] {
        let wrong = Solution { derived_key: key.to_owned(), ..good.clone() };
        assert_eq!(solved(&ring, &text(&challenge, &wrong)), Err(Unsolved::Wrong), "{key}");
    }
}

/// The signed key is in the challenge's signature, so another one of its own choice helps nobody.
#[test]
fn a_key_signature_of_one_s_own_is_forged() {
    let ring = ring(&[(1, true)]);
    let challenge = challenge(&ring);
    let mut other = challenge.clone();
    other.parameters.key_signature = None;
    let wrong = Solution { counter: 0, derived_key: "00".repeat(32), time: None };
    assert_eq!(solved(&ring, &text(&other, &wrong)), Err(Unsolved::Forged));
}

#[test]
fn noise_is_malformed() {
    let ring = ring(&[(1, true)]);
    let json = |json: &str| STANDARD.encode(json);
    let deep = format!("{}1{}", "[".repeat(900), "]".repeat(900));
    for text in [
        String::new(),
        "!".to_owned(),
        json("{}"),
        json("[]"),
        json(&deep),
        json(r#"{"challenge": {"parameters": {}}, "solution": {"counter": -1}}"#),
        "A".repeat(SOLUTION_MAX_LEN + 4),
    ] {
        assert_eq!(solved(&ring, &text), Err(Unsolved::Malformed), "{text}");
    }
}

/// What is longer is not even read, though it would be good.
#[test]
fn a_solution_has_its_length() {
    let ring = ring(&[(1, true)]);
    let challenge = challenge(&ring);
    let text = text(&challenge, &solution(&challenge));
    let long = |bytes: usize| {
        let mut json = STANDARD.decode(&text).expect("base64");
        json.resize(bytes, b' ');
        STANDARD.encode(json)
    };
    let most = SOLUTION_MAX_LEN / 4 * 3;
    assert!(solved(&ring, &long(most)).is_ok());
    assert_eq!(solved(&ring, &long(most + 1)), Err(Unsolved::Malformed));
}

/// While a key rotates, nodes of before and after it take each other's.
#[test]
fn a_challenge_outlives_the_rotation_of_its_key() {
    let challenge = challenge(&ring(&[(1, true)]));
    let text = text(&challenge, &solution(&challenge));
    assert!(solved(&ring(&[(1, false), (2, true)]), &text).is_ok());
}

#[test]
fn counters_are_within_the_difficulty() {
    for difficulty in [1, 100, 10_000, u32::MAX - 1] {
        assert_eq!(counter(&Fixed(0), difficulty), 1);
        assert_eq!(counter(&Fixed(0xff), difficulty), difficulty);
    }
}

/// What it costs is printed, not held to: a machine under test is no measure.
#[test]
fn checking_does_no_work_however_much_is_asked_for() {
    let ring = ring(&[(1, true)]);
    let room = shop();
    let about = About {
        room: &room,
        visitor: VISITOR,
        difficulty: jari_pass::DIFFICULTY_MAX,
        expires_at: NOW + TTL,
    };
    // The largest counter there is: solved by trying, this test would not end in time.
    let hard = made(&ring, &Fixed(0xff), &about);
    let wrong = text(&hard, &Solution { counter: 1, derived_key: "00".repeat(32), time: None });
    let easy = challenge(&ring);
    let good = text(&easy, &solution(&easy));
    let micros = |what: &str, work: &dyn Fn()| {
        let began = tokio::time::Instant::now();
        (0..1_000).for_each(|_| work());
        eprintln!("{what}: {} us", began.elapsed().as_micros() / 1_000);
    };
    micros("a challenge made", &|| assert!(made(&ring, &Fixed(1), &about).signature.is_some()));
    micros("a good solution checked", &|| assert!(solved(&ring, &good).is_ok()));
    micros("a wrong one", &|| assert_eq!(solved(&ring, &wrong), Err(Unsolved::Wrong)));
    micros("noise", &|| assert!(solved(&ring, "AAAA").is_err()));
}
