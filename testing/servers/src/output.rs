//! What a server writes: read to the end so that it never waits, and searched for the line that says it is ready.

use std::io::{BufRead, BufReader, Read};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A server that says nothing for so long will not start any more; a busy machine is slow.
const SILENCE_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Output(Mutex<Receiver<String>>);

impl Output {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Output {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // Nobody waits for a line any more: the stream is still read.
                let _ = sender.send(line);
            }
        });
        Output(Mutex::new(lines))
    }

    /// Waits for a line that holds `text`; otherwise the lines before, for the message.
    pub(crate) fn wait_for(&self, text: &str) -> Result<(), String> {
        let mut said = Vec::new();
        let lines = self.0.lock().expect("nobody panics with it");
        loop {
            match lines.recv_timeout(SILENCE_MAX) {
                Ok(line) if line.contains(text) => return Ok(()),
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Timeout) => said.push("(then nothing)".to_owned()),
                Err(RecvTimeoutError::Disconnected) => said.push("(then it ended)".to_owned()),
            }
            if said.last().is_some_and(|line| line.starts_with("(then ")) {
                return Err(said.join("\n"));
            }
        }
    }
}
