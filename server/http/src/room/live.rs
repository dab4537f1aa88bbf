//! A room as it is now: the replica, and what everybody is told of it, made once for all who ask. Answers no one person.

use std::sync::Arc;

use jari_api::{LineState, LineView, Moved, NoticeView, Utc};
use jari_line::{Event, Ledger, OutOfOrder, Phase, Replica, RoomEvent};

/// The replica with its line view. The two always tell the same moment: clients subtract one from the other.
#[derive(Debug)]
pub struct Live {
    replica: Replica,
    line: Arc<LineView>,
}

impl Live {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        let replica = Replica::new(ledger);
        let line = Arc::new(line_view(&replica));
        Live { replica, line }
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
            self.line = Arc::new(line_view(&self.replica));
        }
        Ok(())
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
