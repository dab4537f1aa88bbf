//! A room as it is now: the replica, and what everybody is told of it, made once for all who ask. Answers no one person.

use std::sync::Arc;

use jari_api::{LineState, LineView, Moved, NoticeView, Utc};
use jari_line::{Event, Ledger, OutOfOrder, Phase, Replica, RoomEvent};

/// The replica with its line view. The two always tell the same moment: clients subtract one from the other.
#[derive(Debug)]
pub struct Live {
    replica: Replica,
    line: Arc<LineView>,
    /// It has been another one since streams were told of it last, though it may be the same again: who opened a stream in
    /// between was told the other.
    untold: bool,
}

impl Live {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        let replica = Replica::new(ledger);
        let line = Arc::new(line_view(&replica));
        Live { replica, line, untold: false }
    }

    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.replica.ledger()
    }

    #[must_use]
    pub fn line(&self) -> &Arc<LineView> {
        &self.line
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// [`OutOfOrder`]: read the room again.
    pub(crate) fn apply(&mut self, event: &RoomEvent) -> Result<(), OutOfOrder> {
        self.replica.apply(event)?;
        if moves_the_line(&event.event) {
            let line = line_view(&self.replica);
            if line != *self.line {
                self.line = Arc::new(line);
                self.untold = true;
            }
        }
        Ok(())
    }

    /// Whether streams have to be told of the line. Call it for each frame that is due, and tell them where it is so.
    pub(crate) fn take_untold(&mut self) -> bool {
        std::mem::take(&mut self.untold)
    }
}

/// Presence and the use of passes are nothing the line shows. Joins are, and come in batches.
fn moves_the_line(event: &Event) -> bool {
    match event {
        Event::Seen { .. }
        | Event::Touched { .. }
        | Event::Extended { .. }
        | Event::Attended { .. }
        | Event::Signalled(_)
        | Event::Redeemed { .. } => false,
        Event::Created { .. }
        | Event::Joined { .. }
        | Event::Ended { .. }
        | Event::Ticked(_)
        | Event::Called(_)
        | Event::Changed { .. }
        | Event::Lulled { .. }
        | Event::Recovering(_)
        | Event::Restored(_)
        | Event::Reattached(_)
        | Event::Settled(_)
        | Event::WalkedIn(_)
        | Event::Flowed(_) => true,
    }
}

fn line_view(replica: &Replica) -> LineView {
    let ledger = replica.ledger();
    let control = ledger.control();
    let (mut opens_at, mut reopens_at, mut message) = (None, None, String::new());
    let phase = ledger.phase();
    let state = match phase {
        _ if ledger.is_recovering() => LineState::Recovering,
        Phase::NotOpen { opens_at: at, .. } => {
            opens_at = Some(Utc(at));
            LineState::NotOpen
        }
        Phase::Open => LineState::Open,
        Phase::Paused => LineState::Paused,
        Phase::SoldOut => LineState::SoldOut,
        Phase::Off => LineState::Off,
        Phase::Closed(next) => {
            reopens_at = next.reopens_at.map(Utc);
            message = next.message;
            LineState::Closed
        }
    };
    LineView {
        state,
        serving: ledger.serving(),
        served: ledger.served(),
        waiting: ledger.waiting(),
        rate_per_s: ledger.rate_milli() as f64 / 1_000.0,
        notice: control
            .notice
            .as_ref()
            .map(|notice| NoticeView { text: notice.text.clone(), at: notice.at.into() }),
        moved: replica.moved().map(|moved| match moved {
            jari_line::Moved::Slowed => Moved::Slowed,
            jari_line::Moved::SpedUp => Moved::SpedUp,
            jari_line::Moved::Resumed => Moved::Resumed,
            jari_line::Moved::Lull => Moved::Lull,
        }),
        opens_at,
        reopens_at,
        message,
    }
}

#[cfg(test)]
mod tests {
    use jari_line::{Change, Done, LostHistory, Room, Settings};
    use jari_units::{Mark, SubjectKey, Timestamp};

    use super::*;

    /// A room where nobody is let in, and its replica.
    fn still() -> (Room, Live) {
        let settings = Settings { capacity: 0, ..Settings::default() };
        let room = Room::create(settings, Timestamp(1_000), 0).outcome;
        let live = Live::new(room.read());
        (room, live)
    }

    fn take<T>(live: &mut Live, done: Result<Done<T>, LostHistory>) {
        let event = done.expect("no mark").event.expect("something happened");
        live.apply(&event).expect("in order");
    }

    #[test]
    fn a_line_that_stands_is_told_once_and_one_that_moved_and_is_back_again_is_told_too() {
        let (mut room, mut live) = still();
        assert!(!live.take_untold(), "whoever comes is told it anyway");
        let people = [SubjectKey([1; 16]), SubjectKey([2; 16])];
        take(&mut live, room.join(Mark::NONE, &people));
        assert!(live.take_untold());
        for second in 2..5 {
            take(&mut live, room.admit(Mark::NONE, Timestamp(second * 1_000), None));
            assert!(!live.take_untold(), "nothing is new but the time");
        }
        take(&mut live, room.change(Mark::NONE, Change::Pause));
        take(&mut live, room.change(Mark::NONE, Change::Resume));
        assert!(live.take_untold(), "a stream that was opened in between saw it paused");
    }
}
