//! Reads the events of one stream as its bytes come. What they mean is the load's business.

use tokio::net::TcpStream;
use tokio::time::Instant;

const READ_BYTES: usize = 4_096;

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) data: &'a str,
}

/// One stream's bytes, read for its events. Bodies sent in chunks are understood as far as that needs.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    head: String,
    /// A frame that has not come whole.
    part: Vec<u8>,
    frames: u64,
}

impl Reader {
    /// Takes in bytes and tells each whole event.
    pub(crate) fn read(&mut self, bytes: &[u8], mut tell: impl FnMut(Event<'_>)) {
        self.part.extend_from_slice(bytes);
        if self.head.is_empty() {
            let Some(end) = find(&self.part, b"\r\n\r\n") else { return };
            let head: Vec<u8> = self.part.drain(..end + 4).collect();
            self.head = String::from_utf8_lossy(&head).into_owned();
        }
        let mut from = 0;
        while let Some(end) = find(&self.part[from..], b"\n\n") {
            let frame = String::from_utf8_lossy(&self.part[from..from + end]);
            if let Some(event) = event(&frame) {
                self.frames += 1;
                tell(event);
            }
            from += end + 2;
        }
        self.part.drain(..from);
        self.part.shrink_to(0);
    }

    /// The answer's head; empty until it has come.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Whether the first event has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.frames > 0
    }
}

/// What a frame says; `None` for a comment.
fn event(frame: &str) -> Option<Event<'_>> {
    let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
    let id = field("id: ")?;
    Some(Event { id, name: field("event: ").unwrap_or(""), data: field("data: ").unwrap_or("") })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Listens until `tell` answers false or the stream ends; whether it is still open.
pub(crate) async fn listen(
    socket: &TcpStream,
    reader: &mut Reader,
    mut tell: impl FnMut(Event<'_>, Instant) -> bool,
) -> bool {
    loop {
        // The buffer is not kept while waiting: it would be most of this process's memory.
        if socket.readable().await.is_err() {
            return false;
        }
        let mut bytes = [0; READ_BYTES];
        match socket.try_read(&mut bytes) {
            Ok(0) => return false,
            Ok(count) => {
                let (now, mut go_on) = (Instant::now(), true);
                reader.read(&bytes[..count], |event| go_on &= tell(event, now));
                if !go_on {
                    return true;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_from_any_pieces_chunked_or_not() {
        let text = "HTTP/1.1 200 OK\r\na: b\r\n\r\n1f\r\nid: 1-1\nevent: place\ndata: {}\n\n\r\n\
                    :\n\nid: 1-2\nevent: line\ndata: {}\n\nid: 1-3\nevent: line\ndata: {}\n\n";
        for size in [1, 2, 7, 1_000] {
            let (mut reader, mut ids) = (Reader::default(), Vec::new());
            for bytes in text.as_bytes().chunks(size) {
                reader.read(bytes, |event| ids.push(format!("{} {}", event.name, event.id)));
            }
            assert_eq!(ids, ["place 1-1", "line 1-2", "line 1-3"], "{size}");
            assert!(reader.head().starts_with("HTTP/1.1 200") && reader.has_begun());
        }
    }
}
