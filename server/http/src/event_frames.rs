//! Frames of a `text/event-stream` (WHATWG HTML, 9.2). Who gets which is the stream's business.

use bytes::{BufMut, Bytes, BytesMut};
use jari_api::{Empty, Reconnect};
use jari_units::Mark;
use serde::Serialize;

use crate::room::Live;

/// A comment line: keeps proxies from closing a quiet stream.
pub(crate) const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// Where in a room's history a frame stands: what `id:` and `Last-Event-ID` carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId(pub(crate) Mark);

impl EventId {
    /// Reads a `Last-Event-ID`; anything else than ours is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (incarnation, event_no) = text.split_once('-')?;
        let (incarnation, event_no) = (incarnation.parse().ok()?, event_no.parse().ok()?);
        Some(EventId(Mark { incarnation, event_no, next_seq: 0 }))
    }
}

/// One frame. Compact JSON has no line breaks, so `data:` is one line.
pub(crate) fn frame(event: &str, at: Mark, data: &impl Serialize) -> Bytes {
    let id = format!("id: {}-{}\n", at.incarnation, at.event_no);
    written(&id, event, data)
}

/// One frame of a stream that nobody resumes: it has no id.
pub(crate) fn passing_frame(event: &str, data: &impl Serialize) -> Bytes {
    written("", event, data)
}

fn written(id: &str, event: &str, data: &impl Serialize) -> Bytes {
    let mut out = BytesMut::with_capacity(512);
    out.put_slice(format!("{id}event: {event}\ndata: ").as_bytes());
    let mut writer = (&mut out).writer();
    serde_json::to_writer(&mut writer, data).expect("views hold only text and numbers");
    out.put_slice(b"\n\n");
    out.freeze()
}

/// The room's line, the same bytes for everybody.
pub(crate) fn line_frame(live: &Live) -> Bytes {
    frame("line", live.ledger().mark(), &**live.line())
}

pub(crate) fn admitted_frame(at: Mark) -> Bytes {
    frame("admitted", at, &Empty {})
}

pub(crate) fn ended_frame(at: Mark) -> Bytes {
    frame("ended", at, &Empty {})
}

pub(crate) fn reconnect_frame(at: Mark, after_ms: u64) -> Bytes {
    frame("reconnect", at, &Reconnect { after_ms })
}

#[cfg(test)]
mod tests {
    use jari_line::{Change, Room, Settings};
    use jari_units::{SubjectKey, Timestamp};

    use super::*;

    #[test]
    fn frames_are_as_documented() {
        let mut room = Room::create(Settings::default(), Timestamp(1_796_029_200_000), 0).outcome;
        let live = |room: &Room| Live::new(room.read());
        room.join(Mark::NONE, &[SubjectKey([1; 16]), SubjectKey([2; 16])]).expect("no mark");
        let notice = "줄이 \"천천히\"\n움직입니다".to_owned();
        room.change(Mark::NONE, Change::Announce(notice)).expect("no mark");
        let at = room.mark();
        let frames = [
            line_frame(&live(&room)),
            admitted_frame(at),
            ended_frame(at),
            reconnect_frame(at, 1_830),
            HEARTBEAT,
        ];
        let text: String = frames.iter().map(|f| std::str::from_utf8(f).expect("UTF-8")).collect();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn last_event_ids_are_read_back_and_foreign_ones_ignored() {
        let at = Mark { incarnation: 7, event_no: 12, next_seq: 0 };
        let frame = ended_frame(at);
        let text = std::str::from_utf8(&frame).expect("UTF-8");
        let id = text.lines().next().and_then(|line| line.strip_prefix("id: ")).expect("first");
        assert_eq!(EventId::parse(id), Some(EventId(at)));
        for foreign in ["", "7", "7-", "a-b", "-7-12", "99999999999999999999-1"] {
            assert_eq!(EventId::parse(foreign), None, "{foreign}");
        }
    }
}
