//! `jari room stats`: counts of rooms, once or again and again.

use std::time::Duration;

use clap::Args;
use jari_api::LineState;
use jari_api::admin::{QueueReason, QueueingView, RoomStats, StatsList};

use super::admin_client::{AdminClient, Call};
use super::table::table;
use super::{Failure, print};

/// Takes the cursor home and clears what is below: the table is drawn over the last one.
const REDRAW: &str = "\x1b[H\x1b[J";

#[derive(Debug, Args)]
pub(super) struct StatsArgs {
    /// Left out: all rooms.
    id: Option<String>,
    /// Show it again every so many seconds, until interrupted.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,
}

pub(super) async fn run(client: &AdminClient, args: &StatsArgs) -> Result<(), Failure> {
    let Some(seconds) = args.watch else {
        return once(client, args.id.as_deref()).await;
    };
    let mut every = tokio::time::interval(Duration::from_secs(seconds));
    loop {
        tokio::select! {
            _ = every.tick() => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            print(REDRAW)?;
        }
        once(client, args.id.as_deref()).await?;
    }
}

async fn once(client: &AdminClient, id: Option<&str>) -> Result<(), Failure> {
    match id {
        Some(id) => {
            let answer = client.call(Call::get(&["rooms", id, "stats"])).await?;
            client.show(answer, |stats: RoomStats| stats_table(vec![stats]))
        }
        None => {
            let answer = client.call(Call::get(&["stats"])).await?;
            client.show(answer, |list: StatsList| stats_table(list.rooms))
        }
    }
}

fn stats_table(rooms: Vec<RoomStats>) -> String {
    let head = [
        "ROOM", "STATE", "WAITING", "INSIDE", "USED", "ABSENT", "SERVING", "ADMITTED", "NO-SHOWS",
        "LEFT", "RATE/S", "DWELL", "LULL",
    ];
    let rows = rooms.into_iter().map(|room| {
        let dwell = room.dwell_mean_ms.map_or("-".to_owned(), |ms| format!("{}s", ms / 1_000));
        let state = match room.state {
            LineState::Open => "open",
            LineState::Paused => "paused",
            LineState::NotOpen => "not open",
            LineState::Closed => "closed",
            LineState::SoldOut => "sold out",
            LineState::Recovering => "recovering",
            LineState::Off => "off",
        };
        let state = match room.queueing {
            Some(QueueingView { why, .. }) if room.state == LineState::Open => match why {
                QueueReason::Live => "queues: enough inside",
                QueueReason::Arrivals => "queues: many come",
                QueueReason::Line => "queues: a line",
            },
            _ => state,
        };
        [
            room.room,
            state.to_owned(),
            room.waiting.to_string(),
            room.live.to_string(),
            room.claimed.to_string(),
            room.absent.to_string(),
            room.serving.to_string(),
            room.admitted_total.to_string(),
            room.no_shows_total.to_string(),
            room.left_total.to_string(),
            room.rate_per_s.to_string(),
            dwell,
            if room.lull { "lull" } else { "" }.to_owned(),
        ]
    });
    table(head, &rows.collect::<Vec<_>>())
}
