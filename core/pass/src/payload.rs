//! The bytes of a token before they are signed: a bounded writer and a reader that never runs past the end.

use jari_units::RoomId;

use crate::subject::{SUBJECT_MAX_BYTES, Subject};

/// `[version][kind][key id]`.
pub(crate) const HEAD_BYTES: usize = 3;
/// A whole HMAC-SHA256.
pub(crate) const TAG_BYTES: usize = 32;
/// Room id with its length byte.
const ROOM_BYTES_MAX: usize = 1 + jari_units::limits::ID_MAX_LEN;
/// The longest payload: an entry token's room, subject with its two length bytes, and two times.
const PAYLOAD_BYTES_MAX: usize = ROOM_BYTES_MAX + 2 + SUBJECT_MAX_BYTES + 16;
/// Bytes of the longest token: a multiple of three, so that its base64 has a round length (512).
pub(crate) const TOKEN_BYTES_MAX: usize = 384;

const _: () = assert!(HEAD_BYTES + PAYLOAD_BYTES_MAX + TAG_BYTES <= TOKEN_BYTES_MAX);
const _: () = assert!(jari_units::limits::ID_MAX_LEN <= u8::MAX as usize);
const _: () = assert!(SUBJECT_MAX_BYTES <= u16::MAX as usize);

/// What a token says, as bytes: big-endian numbers, texts behind their length. The layout of a version never changes.
pub trait Payload: Sized {
    fn write(&self, out: &mut Writer);
    /// `None` where the bytes are not this token's layout to the last byte.
    fn read(bytes: &mut Reader<'_>) -> Option<Self>;
}

/// Collects a token on the stack: signing allocates nothing but the answer.
#[derive(Debug)]
pub struct Writer {
    bytes: [u8; TOKEN_BYTES_MAX],
    len: usize,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Writer { bytes: [0; TOKEN_BYTES_MAX], len: 0 }
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// # Panics
    /// Past `TOKEN_BYTES_MAX`: every field's bound is in `PAYLOAD_BYTES_MAX`, so a layout that does is a bug.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.raw(&[value]);
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.raw(&value.to_be_bytes());
    }

    /// A missing room is an empty one: no room's id is empty.
    pub(crate) fn room(&mut self, room: Option<&RoomId>) {
        let text = room.map_or("", RoomId::as_str);
        self.byte(u8::try_from(text.len()).expect("ids are at most ID_MAX_LEN long"));
        self.raw(text.as_bytes());
    }

    pub(crate) fn subject(&mut self, subject: &Subject) {
        let bytes = subject.as_bytes();
        let len = u16::try_from(bytes.len()).expect("subjects are at most SUBJECT_MAX_BYTES long");
        self.raw(&len.to_be_bytes());
        self.raw(bytes);
    }
}

/// Takes fields off a payload from the front.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[value]| value)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// `Some(None)` where the token names no room.
    pub(crate) fn optional_room(&mut self) -> Option<Option<RoomId>> {
        let len = self.byte()?;
        let text = std::str::from_utf8(self.take(usize::from(len))?).ok()?;
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }

    pub(crate) fn room(&mut self) -> Option<RoomId> {
        self.optional_room()?
    }

    pub(crate) fn subject(&mut self) -> Option<Subject> {
        let len = self.array().map(u16::from_be_bytes)?;
        std::str::from_utf8(self.take(usize::from(len))?).ok()?.parse().ok()
    }
}
