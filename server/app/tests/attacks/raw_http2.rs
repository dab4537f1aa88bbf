//! HTTP/2 requests written frame by frame, with any fields in any order: libraries would refuse to send most of them.

use jari_testkit::TestApp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::raw::{BYTES_MAX, site_addr};

/// What a connection begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const ACK: u8 = 1;
/// The setting of that name.
const INITIAL_WINDOW_SIZE: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A field of a request's head as it is written.
pub(crate) type Field<'a> = (&'a str, &'a str);

/// The fields of a GET, with these behind.
pub(crate) fn get<'a>(path: &'a str, more: &[Field<'a>]) -> Vec<Field<'a>> {
    let begun = [(":method", "GET"), (":scheme", "http"), (":path", path)];
    let begun = begun.into_iter().chain([(":authority", "shop.example")]);
    begun.chain([("accept", "application/json")]).chain(more.iter().copied()).collect()
}

/// Asks on a connection of its own, and takes nothing of the answer but its head: the window is none (RFC 9113, 6.9.2). The
/// connection lives on by its pings until the task is ended.
pub(crate) async fn asked_in_vain(app: &TestApp, path: &str) -> JoinHandle<()> {
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[0, INITIAL_WINDOW_SIZE, 0, 0, 0, 0]));
    let block: Vec<u8> = get(path, &[]).iter().flat_map(field).collect();
    bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block));
    let mut socket = TcpStream::connect(site_addr(app)).await.expect("it listens");
    socket.write_all(&bytes).await.expect("it is open");
    let status = timeout(BYTES_MAX, answer(&mut socket)).await.expect("an answer");
    assert_eq!(status, 200, "{path}");
    tokio::spawn(async move {
        while let Some((kind, flags, payload)) = read_frame(&mut socket).await {
            if kind == PING && flags & ACK == 0 {
                _ = socket.write_all(&frame(PING, ACK, 0, &payload)).await;
            }
        }
    })
}

/// Sends one request on a connection of its own; the status, or 0 where the stream or the connection is ended for it.
pub(crate) async fn asked(app: &TestApp, fields: &[Field<'_>], body: Option<&[u8]>) -> u16 {
    let block: Vec<u8> = fields.iter().flat_map(field).collect();
    let ends = if body.is_none() { END_STREAM } else { 0 };
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, ends | END_HEADERS, 1, &block));
    if let Some(body) = body {
        bytes.extend(frame(DATA, END_STREAM, 1, body));
    }
    let mut socket = TcpStream::connect(site_addr(app)).await.expect("it listens");
    // A server that has seen enough may close before it has read everything.
    _ = socket.write_all(&bytes).await;
    timeout(BYTES_MAX, answer(&mut socket)).await.expect("an answer or an end")
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A literal field without indexing, its texts as they are (RFC 7541, 6.2.2).
fn field((name, value): &Field<'_>) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        integer(text.len(), &mut bytes);
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// A number behind a bit that says that no Huffman code is used (RFC 7541, 5.1).
fn integer(number: usize, into: &mut Vec<u8>) {
    const PREFIX: usize = 127;
    if number < PREFIX {
        into.push(u8::try_from(number).expect("below 127"));
        return;
    }
    into.push(127);
    let mut rest = number - PREFIX;
    while rest >= 128 {
        into.push(u8::try_from(rest % 128).expect("seven bits") | 128);
        rest /= 128;
    }
    into.push(u8::try_from(rest).expect("seven bits"));
}

/// The next frame's kind, flags and payload.
async fn read_frame(socket: &mut TcpStream) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    socket.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    socket.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

async fn answer(socket: &mut TcpStream) -> u16 {
    loop {
        match read_frame(socket).await {
            Some((HEADERS, _, payload)) => return status(&payload),
            None | Some((RESET | GO_AWAY, ..)) => return 0,
            Some(_) => {}
        }
    }
}

/// The status, which comes first (RFC 9113, 8.3).
fn status(block: &[u8]) -> u16 {
    // A change of the table's size may stand before everything.
    let block = match block {
        [size, rest @ ..] if size & 0b1110_0000 == 0b0010_0000 => rest,
        block => block,
    };
    match block {
        // Of the table that everybody has (RFC 7541, appendix A).
        [indexed @ 0x88..=0x8e, ..] => {
            [200, 204, 206, 304, 400, 404, 500][usize::from(indexed - 0x88)]
        }
        [0x48 | 0x08, length, rest @ ..] => {
            let value = &rest[..usize::from(length & 127)];
            let digits = if length & 128 == 0 { value.to_vec() } else { digits(value) };
            String::from_utf8(digits).expect("ASCII").parse().expect("a status")
        }
        other => panic!("no status in {other:?}"),
    }
}

/// Three digits in Huffman's code, of which the first three have five bits and the others six (RFC 7541, appendix B).
fn digits(coded: &[u8]) -> Vec<u8> {
    let bits = coded.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    let mut left = coded.len() * 8;
    let mut take = |count: usize| {
        left -= count;
        u8::try_from(bits >> left & ((1 << count) - 1)).expect("six bits")
    };
    let mut digit = || match take(5) {
        short @ 0..=2 => b'0' + short,
        long => b'3' + ((long << 1 | take(1)) - 0b01_1001),
    };
    vec![digit(), digit(), digit()]
}

#[test]
fn a_status_is_read_in_each_way_that_it_is_written() {
    assert_eq!(status(&[0x88]), 200);
    assert_eq!(status(&[0x20, 0x8c, 1]), 400);
    assert_eq!(status(&[0x48, 3, b'4', b'2', b'8']), 428);
    // "428": 011010 00010 011110, and ones to the end of the byte.
    assert_eq!(status(&[0x48, 0x83, 0b0110_1000, 0b0100_1111, 0b0111_1111]), 428);
    assert_eq!(status(&[0x08, 0x82, 0b0001_0000, 0b0000_0001]), 200);
}
