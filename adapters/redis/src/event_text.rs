//! A room's events as its stream holds them, one field a name; every one reads back as exactly `jari_line::Event`.

use jari_line::{
    Calls, Change, ClosedNext, EndReason, Event, Flowed, Landing, PacerState, RoomEvent, SeqSet,
    Settled, Tick, Ticket, WalkedIn, Word,
};
use jari_units::{Millis, SubjectKey, Timestamp};
use redis::Value;

use crate::answer::Answer;
use crate::error::Failure;
use crate::feed::decimal;
use crate::recovery_text::{self, Named};
use crate::{flow_text, seq_text, settings_text};

/// An entry's fields by name.
struct Fields(Vec<(String, Vec<u8>)>);

/// Reads one entry of a stream: its id, then names and values in turn.
pub(crate) fn read(mut entry: Answer) -> Result<RoomEvent, Failure> {
    let id = entry.text()?;
    let mut values = entry.list()?;
    let mut fields = Vec::with_capacity(values.left() / 2);
    while !values.is_empty() {
        fields.push((values.text()?, values.bytes()?));
    }
    let fields = Fields(fields);
    let number = |text: &str| text.parse().ok();
    let read = || {
        Some(RoomEvent {
            incarnation: fields.number("in")?,
            event_no: id.split_once('-').and_then(|(number_part, _)| number(number_part))?,
            event: fields.event()?,
        })
    };
    read().ok_or_else(|| Failure::odd_answer(&format!("event {id} in a form it cannot read")))
}

/// The event in the word of it: its number, then each of an entry's names and values after its length. Nothing where the word
/// has only the number, or is none that this release knows: the stream tells.
pub(crate) fn told(word: &[u8]) -> Option<RoomEvent> {
    let (number, mut rest) = word.split_at(word.iter().position(|byte| *byte == b' ')?);
    let mut values = Vec::new();
    while let Some(value) = rest.strip_prefix(b" ") {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let length = std::str::from_utf8(&value[..colon]).ok()?.parse().ok()?;
        let (value, more) = value[colon + 1..].split_at_checked(length)?;
        values.push(Value::BulkString(value.to_vec()));
        rest = more;
    }
    let id = Value::BulkString([number, b"-0"].concat());
    let entry = Answer::of(Value::Array(vec![id, Value::Array(values)])).ok()?;
    read(entry).ok().filter(|_| rest.is_empty())
}

impl Fields {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    fn millis(&self, name: &str) -> Option<Millis> {
        self.number(name).map(Millis)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.number(name).map(Timestamp)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|text| text == "1")
    }

    fn seqs(&self, name: &str) -> Option<SeqSet> {
        seq_text::read(self.get(name)?)
    }

    fn subject(&self, name: &str) -> Option<SubjectKey> {
        self.get(name)?.try_into().ok().map(SubjectKey)
    }

    fn event(&self) -> Option<Event> {
        Some(match self.text("kind")? {
            "created" => Event::Created {
                now: self.time("now")?,
                settings: Box::new(settings_text::read(self.text("settings")?)?),
            },
            "joined" => self.joined()?,
            "ended" => Event::Ended { seqs: self.seqs("seqs")?, reason: self.reason()? },
            "seen" => Event::Seen { seqs: self.seqs("seqs")? },
            "ticked" => match self.text("flow") {
                None => Event::Ticked(Box::new(self.tick()?)),
                Some(flow) => {
                    let (tick, flow) = (self.tick()?, flow_text::read(flow)?);
                    Event::Flowed(Box::new(Flowed { tick, flow }))
                }
            },
            "called" => Event::Called(self.calls()?),
            "touched" => {
                Event::Touched { seqs: self.seqs("seqs")?, deadline: self.millis("deadline")? }
            }
            "extended" => Event::Extended {
                seq: self.number("seq")?,
                deadline: self.millis("deadline")?,
                since: self.millis("since")?,
            },
            "changed" => Event::Changed {
                change: Box::new(self.change()?),
                ended: self.seqs("ended")?,
                granted: self.seqs("granted")?,
                deadline: self.millis("deadline")?,
            },
            "lulled" => Event::Lulled {
                until: self.time("until")?,
                guard_until: self.millis("guard_until")?,
            },
            "recovering" => Event::Recovering(Box::new(recovery_text::recovering(self)?)),
            "restored" => Event::Restored(Box::new(recovery_text::restored(self)?)),
            "reattached" => Event::Reattached(Box::new(recovery_text::reattached(self)?)),
            "settled" => Event::Settled(Box::new(Settled {
                tick: self.tick()?,
                ended: self.seqs("ended")?,
                used: self.seqs("used")?,
                used_until: self.millis("used_until")?,
                floor: self.millis("floor")?,
            })),
            "attended" => Event::Attended { node: self.number("node")?, at: self.time("at")? },
            "signalled" => Event::Signalled(Word {
                source: self.number("source")?,
                load: flow_text::load(self.number("load")?)?,
                until: self.time("until")?,
            }),
            "redeemed" => Event::Redeemed {
                seq: self.number("seq")?,
                landing: Landing { no: self.number("no")?, nonce: nonce(self.text("nonce")?)? },
                deadline: self.millis("deadline")?,
            },
            _ => return None,
        })
    }

    fn joined(&self) -> Option<Event> {
        let (first, people) = (self.number("first")?, subjects(self.get("people")?)?);
        let (granted, deadline) = (self.seqs("granted")?, self.millis("deadline")?);
        Some(match self.text("walked") {
            None => Event::Joined { first, people, granted, deadline },
            Some(walked) => {
                let walked = walked.parse().ok()?;
                Event::WalkedIn(Box::new(WalkedIn { first, people, granted, deadline, walked }))
            }
        })
    }

    fn reason(&self) -> Option<EndReason> {
        Some(match self.text("reason")? {
            "left" => EndReason::Left,
            "done" => EndReason::Done,
            "revoked" => EndReason::Revoked,
            _ => return None,
        })
    }

    fn calls(&self) -> Option<Calls> {
        Some(Calls {
            serving: self.number("serving")?,
            served: self.number("served")?,
            seqs: self.seqs("seqs")?,
            deadline: self.millis("deadline")?,
        })
    }

    fn tick(&self) -> Option<Tick> {
        Some(Tick {
            now: self.time("now")?,
            line_ms: self.millis("line_ms")?,
            silence_ms: self.millis("silence_ms")?,
            lull_until: self.time("lull_until")?,
            window_turned: self.flag("window_turned")?,
            bucket: self.number("bucket")?,
            pacer: PacerState {
                rate_milli: self.number("pacer_rate")?,
                due: self.millis("pacer_due")?,
            },
            expired: self.seqs("expired")?,
            second_chance: self.seqs("second_chance")?,
            // A tick that called nobody has none of their fields.
            calls: if self.get("serving").is_some() { Some(self.calls()?) } else { None },
            mass_absence: self.flag("mass_absence")?,
            swept: self.seqs("swept")?,
            sweep_cursor: self.number("sweep_cursor")?,
            grant_no: self.number("grant_no")?,
            live_quota: self.number("live_quota")?,
            unlisted: self.number("unlisted").unwrap_or(0),
        })
    }

    fn change(&self) -> Option<Change> {
        Some(match self.text("change")? {
            "settings" => Change::Settings(Box::new(settings_text::read(self.text("a")?)?)),
            "pause" => Change::Pause,
            "resume" => Change::Resume,
            "open" => Change::Open,
            "close" => Change::Close(ClosedNext {
                reopens_at: self.maybe("a")?.map(Timestamp),
                message: self.text("b")?.to_owned(),
            }),
            "announce" => Change::Announce(self.text("a")?.to_owned()),
            "block" => Change::Block(self.subject("a")?),
            "unblock" => Change::Unblock(self.subject("a")?),
            "allow" => Change::Allow(self.subject("a")?),
            "disallow" => Change::Disallow(self.subject("a")?),
            "admit_total" => Change::AdmitTotal(self.maybe("a")?),
            "sold_out" => Change::SoldOut(self.flag("a")?),
            _ => return None,
        })
    }
}

impl Named for Fields {
    fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.get(name)
    }

    fn set(&self, name: &str) -> Option<SeqSet> {
        self.seqs(name)
    }
}

fn subjects(bytes: &[u8]) -> Option<Vec<SubjectKey>> {
    let (keys, rest) = bytes.as_chunks::<16>();
    rest.is_empty().then(|| keys.iter().map(|key| SubjectKey(*key)).collect())
}

/// A change as the script takes it: its kind and what goes with it.
pub(crate) fn change_words(change: &Change) -> (&'static str, Vec<u8>, Vec<u8>) {
    let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
    let flag = |set: bool| if set { b"1".to_vec() } else { Vec::new() };
    let none = Vec::new;
    match change {
        Change::Settings(settings) => {
            ("settings", settings_text::write(settings).into_bytes(), none())
        }
        Change::Pause => ("pause", none(), none()),
        Change::Resume => ("resume", none(), none()),
        Change::Open => ("open", none(), none()),
        Change::Close(next) => {
            let reopens_at = number(next.reopens_at.map(|at| at.0));
            ("close", reopens_at.into_bytes(), next.message.clone().into_bytes())
        }
        Change::Announce(text) => ("announce", text.clone().into_bytes(), none()),
        Change::Block(key) => ("block", key.0.to_vec(), none()),
        Change::Unblock(key) => ("unblock", key.0.to_vec(), none()),
        Change::Allow(key) => ("allow", key.0.to_vec(), none()),
        Change::Disallow(key) => ("disallow", key.0.to_vec(), none()),
        Change::AdmitTotal(total) => ("admit_total", number(*total).into_bytes(), none()),
        Change::SoldOut(sold_out) => ("sold_out", flag(*sold_out), none()),
    }
}

/// The site's call that redeemed a token, as a stream and the room's keys hold it.
pub(crate) fn nonce(hex: &str) -> Option<[u8; 16]> {
    let digits = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(hex, 16).ok().filter(|_| digits)?;
    Some(number.to_be_bytes())
}

/// A one-time token as the script takes it.
pub(crate) fn ticket_words(ticket: &Ticket) -> Vec<Vec<u8>> {
    let Ticket { pass, no, nonce } = ticket;
    let numbers = [pass.incarnation, pass.seq, u64::from(pass.grant), *no].map(decimal);
    let nonce = format!("{:032x}", u128::from_be_bytes(*nonce)).into_bytes();
    numbers.into_iter().chain([nonce]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_tells_an_event_whatever_bytes_it_has() {
        let word = b"7 4:kind 6:joined 2:in 13:1700000000000 5:first 1:3 6:people 16:a b:9: \n\0\xffxyz123 7:granted 0: 8:deadline 2:90";
        let event = told(word).expect("an event");
        assert_eq!((event.event_no, event.incarnation), (7, 1_700_000_000_000));
        let people = vec![SubjectKey(*b"a b:9: \n\0\xffxyz123")];
        let (granted, deadline) = (SeqSet::default(), Millis(90));
        assert_eq!(event.event, Event::Joined { first: 3, people, granted, deadline });
        for cut in 0..word.len() {
            assert_eq!(told(&word[..cut]), None, "{cut} bytes of it");
        }
        for other in [
            &b"7"[..],
            b"deleted",
            b"room-1",
            b"7 4:kind 6:unheard",
            b"7 x",
            b"7 9999999999999999999999:a",
        ] {
            assert_eq!(told(other), None, "{other:?}");
        }
    }
}
