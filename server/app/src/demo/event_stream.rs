//! Reading server-sent events off an answer. Knows the frames' grammar, not what they mean.

use reqwest::Response;

/// A frame larger than this is none of ours: a place view has under 2 kB.
const FRAME_MAX_BYTES: usize = 65_536;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) event: String,
    pub(super) data: String,
}

/// An open stream and what has been read of the next frame.
pub(super) struct EventStream {
    answer: Response,
    unread: Frames,
}

impl EventStream {
    pub(super) fn new(answer: Response) -> Self {
        EventStream { answer, unread: Frames::default() }
    }

    /// The next frame; `None` once the stream has ended, broken or fallen silent. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.unread.take() {
                return Some(frame);
            }
            let chunk = self.answer.chunk().await.ok()??;
            if !self.unread.add(&chunk) {
                return None;
            }
        }
    }
}

/// Cuts bytes into frames (the HTML standard, "Parsing an event stream"; Jari ends its lines with LF only).
#[derive(Debug, Default)]
struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Whether there is still room for a whole frame.
    fn add(&mut self, chunk: &[u8]) -> bool {
        self.bytes.extend_from_slice(chunk);
        self.bytes.len() <= FRAME_MAX_BYTES
    }

    /// The next whole frame that carries data: comments are skipped.
    fn take(&mut self) -> Option<Frame> {
        loop {
            let end = self.bytes.windows(2).position(|pair| pair == b"\n\n")?;
            let rest = self.bytes.split_off(end + 2);
            let text = std::mem::replace(&mut self.bytes, rest);
            if let Some(frame) = parse(&String::from_utf8_lossy(&text)) {
                return Some(frame);
            }
        }
    }
}

fn parse(text: &str) -> Option<Frame> {
    let mut frame = Frame { event: "message".to_owned(), data: String::new() };
    let mut has_data = false;
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut frame.event),
            "data" => {
                if has_data {
                    frame.data.push('\n');
                }
                frame.data.push_str(value);
                has_data = true;
            }
            _ => {}
        }
    }
    has_data.then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(event: &str, data: &str) -> Frame {
        Frame { event: event.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn frames_are_cut_wherever_the_network_cuts_them() {
        let text = ": hello\n\nid: 7\nevent: line\ndata: {\"a\":1}\n\n:\n\ndata:x\ndata: y\n\nevent: place\nda";
        for size in [1, 2, 3, 7, text.len()] {
            let (mut frames, mut got) = (Frames::default(), Vec::new());
            for chunk in text.as_bytes().chunks(size) {
                assert!(frames.add(chunk));
                got.extend(std::iter::from_fn(|| frames.take()));
            }
            assert_eq!(got, [frame("line", "{\"a\":1}"), frame("message", "x\ny")], "{size}");
        }
    }

    #[test]
    fn a_frame_without_end_is_given_up() {
        let mut frames = Frames::default();
        assert!(frames.add(&[b'x'; FRAME_MAX_BYTES]));
        assert!(!frames.add(b"x"));
    }
}
