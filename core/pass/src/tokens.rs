//! The five tokens and their layouts, version 1. Signing and checking is the ring's.

use std::fmt;

use jari_units::{Incarnation, PassId, RoomId, Seq, SubjectKey, Timestamp};

use crate::payload::{Payload, Reader, Writer};
use crate::ring::Token;
use crate::subject::Subject;

/// The receipt of a place. Does not expire: whether the place still stands, the room knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceToken {
    pub room: RoomId,
    pub incarnation: Incarnation,
    pub seq: Seq,
    pub subject: SubjectKey,
    pub issued_at: Timestamp,
    /// When a store last confirmed this place; renewed with each poll.
    pub as_of: Timestamp,
}

/// An anonymous identity that Jari issued; with a room, the identity that an entry token proved there.
#[derive(Clone, PartialEq, Eq)]
pub struct VisitorToken {
    pub id: [u8; 16],
    pub room: Option<RoomId>,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The tenant's word on who this is, for one room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryToken {
    pub room: RoomId,
    pub subject: Subject,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The pass as a cookie: it never outlives the last expiry that the store acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassToken {
    pub room: RoomId,
    pub pass: PassId,
    pub subject: SubjectKey,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Opens one stream where cookies and headers cannot travel. That it is used once, the node remembers by `nonce`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamKey {
    pub room: RoomId,
    pub incarnation: Incarnation,
    pub seq: Seq,
    pub subject: SubjectKey,
    pub expires_at: Timestamp,
    pub nonce: u64,
}

impl fmt::Debug for VisitorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id is the whole identity: who reads it in a log could not sign it, but could follow the person.
        f.debug_struct("VisitorToken")
            .field("room", &self.room)
            .field("issued_at", &self.issued_at)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl Token for PlaceToken {
    const KIND: u8 = 1;
    fn expires_at(&self) -> Option<Timestamp> {
        None
    }
}

impl Payload for PlaceToken {
    fn write(&self, out: &mut Writer) {
        out.room(Some(&self.room));
        out.number(self.incarnation);
        out.number(self.seq);
        out.raw(&self.subject.0);
        out.number(self.issued_at.0);
        out.number(self.as_of.0);
    }

    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(PlaceToken {
            room: bytes.room()?,
            incarnation: bytes.number()?,
            seq: bytes.number()?,
            subject: SubjectKey(bytes.array()?),
            issued_at: Timestamp(bytes.number()?),
            as_of: Timestamp(bytes.number()?),
        })
    }
}

impl Token for VisitorToken {
    const KIND: u8 = 2;
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl Payload for VisitorToken {
    fn write(&self, out: &mut Writer) {
        out.raw(&self.id);
        out.room(self.room.as_ref());
        out.number(self.issued_at.0);
        out.number(self.expires_at.0);
    }

    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(VisitorToken {
            id: bytes.array()?,
            room: bytes.optional_room()?,
            issued_at: Timestamp(bytes.number()?),
            expires_at: Timestamp(bytes.number()?),
        })
    }
}

impl Token for EntryToken {
    const KIND: u8 = 3;
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl Payload for EntryToken {
    fn write(&self, out: &mut Writer) {
        out.room(Some(&self.room));
        out.subject(&self.subject);
        out.number(self.issued_at.0);
        out.number(self.expires_at.0);
    }

    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(EntryToken {
            room: bytes.room()?,
            subject: bytes.subject()?,
            issued_at: Timestamp(bytes.number()?),
            expires_at: Timestamp(bytes.number()?),
        })
    }
}

impl Token for PassToken {
    const KIND: u8 = 4;
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl Payload for PassToken {
    fn write(&self, out: &mut Writer) {
        out.room(Some(&self.room));
        out.number(self.pass.incarnation);
        out.number(self.pass.seq);
        out.byte(self.pass.grant);
        out.raw(&self.subject.0);
        out.number(self.issued_at.0);
        out.number(self.expires_at.0);
    }

    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(PassToken {
            room: bytes.room()?,
            pass: PassId {
                incarnation: bytes.number()?,
                seq: bytes.number()?,
                grant: bytes.byte()?,
            },
            subject: SubjectKey(bytes.array()?),
            issued_at: Timestamp(bytes.number()?),
            expires_at: Timestamp(bytes.number()?),
        })
    }
}

impl Token for StreamKey {
    const KIND: u8 = 5;
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl Payload for StreamKey {
    fn write(&self, out: &mut Writer) {
        out.room(Some(&self.room));
        out.number(self.incarnation);
        out.number(self.seq);
        out.raw(&self.subject.0);
        out.number(self.expires_at.0);
        out.number(self.nonce);
    }

    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(StreamKey {
            room: bytes.room()?,
            incarnation: bytes.number()?,
            seq: bytes.number()?,
            subject: SubjectKey(bytes.array()?),
            expires_at: Timestamp(bytes.number()?),
            nonce: bytes.number()?,
        })
    }
}
