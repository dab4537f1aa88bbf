//! What the ring must refuse and what it must go on reading: attacks, rotation, golden tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jari_units::{PassId, RoomId, SubjectKey, Timestamp};
use proptest::prelude::*;

use crate::{
    EntryToken, KeyRing, PassToken, PlaceToken, RingError, RingKey, StreamKey, TOKEN_MAX_LEN,
    Token, TokenError, VisitorToken,
};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const LATER: Timestamp = Timestamp(NOW.0 + 60_000);

fn key(id: u8, signs: bool) -> RingKey {
    RingKey { id, secret: [id; 32], signs }
}

fn ring() -> KeyRing {
    KeyRing::new(vec![key(1, true)], [9; 32]).expect("one key that signs")
}

fn shop() -> RoomId {
    "shop".parse().expect("a room id")
}

fn place() -> PlaceToken {
    PlaceToken {
        room: shop(),
        incarnation: 7,
        seq: 1_201,
        subject: SubjectKey([3; 16]),
        issued_at: NOW,
        as_of: LATER,
    }
}

fn visitor(room: Option<RoomId>) -> VisitorToken {
    VisitorToken { id: [5; 16], room, issued_at: NOW, expires_at: LATER }
}

fn entry(room: RoomId, subject: &str) -> EntryToken {
    let subject = subject.parse().expect("a subject");
    EntryToken { room, subject, issued_at: NOW, expires_at: LATER }
}

fn pass() -> PassToken {
    PassToken {
        room: shop(),
        pass: PassId { incarnation: 7, seq: 1_201, grant: 2 },
        subject: SubjectKey([3; 16]),
        issued_at: NOW,
        expires_at: LATER,
    }
}

fn stream() -> StreamKey {
    StreamKey {
        room: shop(),
        incarnation: 7,
        seq: 1_201,
        subject: SubjectKey([3; 16]),
        expires_at: LATER,
        nonce: 0xfeed,
    }
}

fn opens_again<T: Token + PartialEq + std::fmt::Debug>(token: &T, golden: &str) {
    assert_eq!(ring().sign(token), golden, "a token's layout never changes within a version");
    assert_eq!(ring().open::<T>(golden, NOW).as_ref(), Ok(token));
}

/// Tokens written by a node of an earlier release stay readable: these texts were made once and are never made anew.
#[test]
fn golden_tokens_stay_readable() {
    opens_again(
        &place(),
        "AQEBBHNob3AAAAAAAAAABwAAAAAAAASxAwMDAwMDAwMDAwMDAwMDAwAAAaMYXFAAAAABoxhdOmA\
         5mEjiRXM5_qdwoE7hI9Z4pn75qFOb0lR4T8SRAUUBag",
    );
    opens_again(
        &visitor(None),
        "AQIBBQUFBQUFBQUFBQUFBQUFBQAAAAGjGFxQAAAAAaMYXTpg9Eh6QT7HZDHxqwxF3T6GgdoGb3D\
         l_xbNQ5b8LNlpY-s",
    );
    opens_again(
        &visitor(Some(shop())),
        "AQIBBQUFBQUFBQUFBQUFBQUFBQRzaG9wAAABoxhcUAAAAAGjGF06YPVAUXGOO6TYUt8249LLFPe\
         U5KRiCKXBMthM91RfUzAr",
    );
    opens_again(
        &entry(shop(), "user-123"),
        "AQMBBHNob3AACHVzZXItMTIzAAABoxhcUAAAAAGjGF06YBOoFzlICPa3AE7BSS26smkbOpFPlj8\
         Ba1OSjIdcY2IO",
    );
    opens_again(
        &pass(),
        "AQQBBHNob3AAAAAAAAAABwAAAAAAAASxAgMDAwMDAwMDAwMDAwMDAwMAAAGjGFxQAAAAAaMYXTp\
         gL1ai9reGKOWy2mSJEdlGWuy8EA4m_RZJ8QwUhBZUgEk",
    );
    opens_again(
        &stream(),
        "AQUBBHNob3AAAAAAAAAABwAAAAAAAASxAwMDAwMDAwMDAwMDAwMDAwAAAaMYXTpgAAAAAAAA_u2\
         GSInx___-RPgIfV5D-AEmthVeo6HNF2KXjgVPZzkE2g",
    );
    let subject = ring().subject_key(&shop(), b"user-123");
    assert_eq!(u128::from_be_bytes(subject.0), 0x1029dad68651e2a67e9dc04bdc40509a);
}

#[test]
fn the_longest_token_fits_and_one_more_character_is_refused() {
    let long = entry("r".repeat(64).parse().expect("64 letters"), &"s".repeat(256));
    let text = ring().sign(&long);
    assert!(text.len() <= TOKEN_MAX_LEN, "{}", text.len());
    assert_eq!(ring().open::<EntryToken>(&text, NOW), Ok(long));
    for len in [TOKEN_MAX_LEN, TOKEN_MAX_LEN + 1, 1 << 20] {
        let refused = ring().open::<EntryToken>(&"A".repeat(len), NOW).expect_err("not a token");
        let too_long = len > TOKEN_MAX_LEN;
        assert_eq!(refused == TokenError::Malformed, too_long, "{len}: {refused}");
    }
}

/// Signs any bytes as if they were a token's, so that the checks behind the signature can be reached.
fn forged(head: [u8; 3], payload: &[u8], secret: [u8; 32]) -> String {
    use aws_lc_rs::hmac;
    let mut bytes = [head.as_slice(), payload].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    bytes.extend_from_slice(hmac::sign(&key, &bytes).as_ref());
    BASE64.encode(bytes)
}

/// Each error where everything that comes later in the order is wrong too.
#[test]
fn errors_come_in_their_order() {
    let old = VisitorToken { expires_at: NOW, ..visitor(None) };
    let expired = ring().sign(&old);
    let payload = BASE64.decode(&expired).expect("base64")[3..36].to_vec();
    let longer = [payload.as_slice(), &[0]].concat();
    for (text, want) in [
        (String::new(), TokenError::Malformed),
        ("!".repeat(80), TokenError::Malformed),
        (BASE64.encode([1; 34]), TokenError::Malformed),
        (format!("{expired}="), TokenError::Malformed),
        (forged([2, 9, 9], &payload, [0; 32]), TokenError::UnknownVersion),
        (forged([0, 9, 9], &payload, [0; 32]), TokenError::UnknownVersion),
        (forged([1, 9, 9], &payload, [0; 32]), TokenError::WrongKind),
        (forged([1, 2, 9], &payload, [0; 32]), TokenError::UnknownKey),
        (forged([1, 2, 0], &payload, [9; 32]), TokenError::UnknownKey),
        (forged([1, 2, 1], &payload, [0; 32]), TokenError::BadSignature),
        (forged([1, 2, 1], &[], [1; 32]), TokenError::Malformed),
        (forged([1, 2, 1], &longer, [1; 32]), TokenError::Malformed),
        (forged([1, 2, 1], &payload, [1; 32]), TokenError::Expired),
    ] {
        assert_eq!(ring().open::<VisitorToken>(&text, NOW), Err(want), "{text}");
    }
}

/// A signature by a leaked or careless signer still does not make an empty room, an empty subject or a bad id.
#[test]
fn signed_fields_are_still_checked() {
    let times = [0xff; 16];
    let of = |parts: &[&[u8]]| forged([1, 3, 1], &parts.concat(), [1; 32]);
    for (text, good) in [
        (of(&[b"\x04shop", b"\x00\x01u", &times]), true),
        (of(&[b"\x00", b"\x00\x01u", &times]), false),
        (of(&[b"\x04Shop", b"\x00\x01u", &times]), false),
        (of(&[b"\x04sh\xff\xfe", b"\x00\x01u", &times]), false),
        (of(&[b"\x04shop", b"\x00\x00", &times]), false),
        (of(&[b"\x04shop", b"\x00\x01\xff", &times]), false),
        (of(&[b"\x04shop", b"\xff\xffu", &times]), false),
    ] {
        let opened = ring().open::<EntryToken>(&text, NOW);
        assert_eq!(opened.is_ok(), good, "{opened:?}");
        assert!(good || opened == Err(TokenError::Malformed), "{opened:?}");
    }
}

#[test]
fn a_token_is_expired_from_its_end_on() {
    let text = ring().sign(&pass());
    let open = |now| ring().open::<PassToken>(&text, Timestamp(now)).err();
    assert_eq!(open(LATER.0 - 1), None);
    assert_eq!(open(LATER.0), Some(TokenError::Expired));
    assert_eq!(open(u64::MAX), Some(TokenError::Expired));
    assert_eq!(ring().open(&ring().sign(&place()), Timestamp(u64::MAX)), Ok(place()));
}

fn refused_elsewhere<T: Token + std::fmt::Debug>(texts: &[(u8, String)]) {
    for (kind, text) in texts.iter().filter(|(kind, _)| *kind != T::KIND) {
        let opened = ring().open::<T>(text, NOW).expect_err("another kind");
        assert_eq!(opened, TokenError::WrongKind, "{kind} opened as {}", T::KIND);
    }
}

/// Q5: a place, identity or stream key is never taken for a pass, nor any kind for another.
#[test]
fn no_kind_opens_as_another() {
    let texts = [
        (1, ring().sign(&place())),
        (2, ring().sign(&visitor(None))),
        (3, ring().sign(&entry(shop(), "u"))),
        (4, ring().sign(&pass())),
        (5, ring().sign(&stream())),
    ];
    refused_elsewhere::<PlaceToken>(&texts);
    refused_elsewhere::<VisitorToken>(&texts);
    refused_elsewhere::<EntryToken>(&texts);
    refused_elsewhere::<PassToken>(&texts);
    refused_elsewhere::<StreamKey>(&texts);
}

/// The kind and the room stand under the signature: changing either is not a mix-up but a forgery.
#[test]
fn kind_and_room_cannot_be_rewritten() {
    let mut bytes = BASE64.decode(ring().sign(&place())).expect("base64");
    bytes[1] = StreamKey::KIND;
    assert_eq!(
        ring().open::<StreamKey>(&BASE64.encode(&bytes), NOW),
        Err(TokenError::BadSignature)
    );
    let mut bytes = BASE64.decode(ring().sign(&pass())).expect("base64");
    bytes[4..8].copy_from_slice(b"spot");
    assert_eq!(
        ring().open::<PassToken>(&BASE64.encode(&bytes), NOW),
        Err(TokenError::BadSignature)
    );
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let text = ring().sign(&place());
    let bytes = BASE64.decode(&text).expect("base64");
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(ring().open::<PlaceToken>(&BASE64.encode(flipped), NOW).is_err(), "bit {bit}");
    }
    for len in 0..text.len() {
        assert!(ring().open::<PlaceToken>(&text[..len], NOW).is_err(), "first {len}");
        assert!(ring().open::<PlaceToken>(&text[text.len() - len..], NOW).is_err(), "last {len}");
    }
    for len in 0..bytes.len() {
        assert!(ring().open::<PlaceToken>(&BASE64.encode(&bytes[..len]), NOW).is_err(), "{len}");
    }
}

#[test]
fn tokens_of_other_makers_are_refused() {
    let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let hs256 = BASE64.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let claims = BASE64.encode(r#"{"sub":"user-123","room":"shop","exp":99999999999}"#);
    for text in [
        format!("{none}.{claims}."),
        format!("{none}.{claims}"),
        format!("{none}{claims}"),
        format!("{hs256}.{claims}.{}", BASE64.encode([1; 32])),
        none.clone(),
        r#"{"alg":"none"}"#.to_owned(),
        "null".to_owned(),
        "undefined".to_owned(),
        "Bearer x".to_owned(),
        "자리".repeat(20),
        "\0".repeat(60),
    ] {
        assert!(ring().open::<VisitorToken>(&text, NOW).is_err(), "{text}");
        assert!(ring().open::<PassToken>(&text, NOW).is_err(), "{text}");
    }
}

/// Rotation overlaps: the newest key that may sign signs, retiring ones still open, removed ones no longer.
#[test]
fn keys_rotate_with_overlap() {
    let of = |keys: &[RingKey]| KeyRing::new(keys.to_vec(), [9; 32]).expect("a ring");
    let before = of(&[key(1, true)]);
    let both = of(&[key(2, true), key(1, true)]);
    let retiring = of(&[key(1, false), key(2, true)]);
    let after = of(&[key(2, true)]);
    let announced = of(&[key(1, true), key(2, false)]);
    let (old, new) = (before.sign(&pass()), both.sign(&pass()));
    assert_ne!(old, new);
    assert_eq!(announced.sign(&pass()), old, "a key is read everywhere before it signs anywhere");
    assert_eq!(retiring.sign(&pass()), new);
    for (ring, reads_old, reads_new) in [
        (&before, true, false),
        (&announced, true, true),
        (&both, true, true),
        (&retiring, true, true),
        (&after, false, true),
    ] {
        assert_eq!(ring.open::<PassToken>(&old, NOW).is_ok(), reads_old, "{ring:?}");
        assert_eq!(ring.open::<PassToken>(&new, NOW).is_ok(), reads_new, "{ring:?}");
    }
    assert_eq!(after.open::<PassToken>(&old, NOW), Err(TokenError::UnknownKey));
    let subject = |ring: &KeyRing| ring.subject_key(&shop(), b"u");
    assert_eq!(subject(&before), subject(&after), "rotation must not turn people into others");
}

#[test]
fn rings_are_checked_and_redacted() {
    let made = |keys: &[RingKey]| KeyRing::new(keys.to_vec(), [9; 32]).err();
    assert_eq!(made(&[]), Some(RingError::NoSigner));
    assert_eq!(made(&[key(1, false)]), Some(RingError::NoSigner));
    assert_eq!(made(&[key(0, true), key(1, true)]), Some(RingError::ReservedId));
    assert_eq!(made(&[key(3, true), key(1, true), key(3, false)]), Some(RingError::DuplicateId(3)));
    assert_eq!(made(&[key(255, true)]), None);
    let secret = RingKey { id: 77, secret: [0xab; 32], signs: true };
    let shown = format!("{secret:?} {:?}", KeyRing::new(vec![secret.clone()], [0xab; 32]));
    assert!(shown.contains("77") && !shown.contains("171") && !shown.contains("ab,"), "{shown}");
}

/// A subject key tells people, rooms and installations apart, and does not tell who they are.
#[test]
fn subject_keys_are_apart() {
    let elsewhere = KeyRing::new(vec![key(1, true)], [8; 32]).expect("a ring");
    let hall = "hall".parse::<RoomId>().expect("a room id");
    let sho = "sho".parse::<RoomId>().expect("a room id");
    let keys = [
        ring().subject_key(&shop(), b"u"),
        ring().subject_key(&shop(), b"v"),
        ring().subject_key(&shop(), b""),
        ring().subject_key(&hall, b"u"),
        ring().subject_key(&sho, b"pu"),
        ring().subject_key(&sho, b"p\0u"),
        elsewhere.subject_key(&shop(), b"u"),
    ];
    for (i, a) in keys.iter().enumerate() {
        assert!(keys[i + 1..].iter().all(|b| a != b), "key {i} is there twice");
    }
    assert_eq!(ring().subject_key(&shop(), b"u"), keys[0]);
}

proptest! {
    /// Whatever a stranger sends, the ring answers an error and does not panic.
    #[test]
    fn noise_is_refused(text in "[A-Za-z0-9_-]{0,520}", raw in any::<String>()) {
        prop_assert!(ring().open::<PlaceToken>(&text, NOW).is_err());
        prop_assert!(ring().open::<EntryToken>(&raw, NOW).is_err());
    }

    #[test]
    fn any_entry_token_opens_and_any_changed_one_does_not(
        room in "[a-z0-9-]{1,64}",
        subject in "\\PC{1,60}",
        at in any::<proptest::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let token = entry(room.parse().expect("a room id"), &subject);
        let text = ring().sign(&token);
        prop_assert_eq!(ring().open::<EntryToken>(&text, NOW), Ok(token));
        let mut bytes = BASE64.decode(&text).expect("base64");
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(ring().open::<EntryToken>(&BASE64.encode(bytes), NOW).is_err());
    }
}

/// What another format signs with rotates with the key, and says nothing of it or of another purpose's.
#[test]
fn secrets_are_of_one_key_and_one_purpose() {
    let both = KeyRing::new(vec![key(1, true), key(2, true)], [9; 32]).expect("a ring");
    let retired = KeyRing::new(vec![key(1, false), key(2, true)], [9; 32]).expect("a ring");
    let (id, secret) = both.secret_for("a");
    assert_eq!((id, both.secret_of(2, "a")), (2, Some(secret)));
    assert_eq!(retired.secret_of(1, "a"), both.secret_of(1, "a"), "old ones verify");
    assert_eq!(both.secret_of(3, "a"), None);
    assert_eq!(both.secret_of(0, "a"), None, "the subject key makes none");
    let others = [
        both.secret_of(1, "a"),
        both.secret_of(2, "b"),
        both.secret_of(2, ""),
        Some(key(2, true).secret),
    ];
    assert!(others.iter().all(|other| other.is_some() && *other != Some(secret)));
}
