//! `jari demo`: a room that opens in seconds, a page behind its gate, and a simulated crowd. All of it over HTTP, as
//! in life; nothing here reaches into the line.

mod cast;
mod ear;
mod event_stream;
mod line_client;
mod operator;
mod person;
mod progress;
mod shop;
mod shop_page;
mod stage;
mod tally;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use jari_crowd::{Arrivals, Crowd, Curve, Habits};
use jari_units::Millis;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::cast::{Cast, STREAMS_MAX};
use self::line_client::LineClient;
use self::progress::{Screen, totals};
use self::stage::{ROOM, Stage};
use crate::serve::Signals;

/// An hour's habits in a fifth of the time.
const HURRY: f64 = 0.2;
/// From the first arrival to the last: half of the people are there before the room opens.
const ARRIVALS: Millis = Millis::from_secs(30);
/// The first people come this long before the opening.
const EARLY: Millis = Millis::from_secs(4);

const EXAMPLES: &str = "\
Examples:
  jari demo
  jari demo --crowd 500 --rate 10
  jari demo --crowd 10000 --rate 100 --capacity 4000

Ctrl-C stops the crowd first, then the server, and prints what became of everybody.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArgs {
    /// People in the simulated crowd; 0 leaves the room to you.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(0..=50_000))]
    crowd: u32,
    /// Admissions per second, 1 to 200; change it while the demo runs with `jari room set demo --rate N`.
    #[arg(long, value_name = "PER_SECOND", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    rate: u32,
    /// How many people may be inside at once.
    #[arg(long, value_name = "N", default_value_t = 800)]
    capacity: u64,
    /// The room opens this many seconds after the start.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(0..=600))]
    opens_in: u64,
    /// Draws another crowd; the same seed draws the same people.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to serve; a free port is taken where this one is in use.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Keep the data in this folder [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The admin key of a data folder that was used before.
    #[arg(long, value_name = "KEY", env = "JARI_ADMIN_KEY", hide_env_values = true)]
    key: Option<String>,
}

/// Runs the demo until it is told to stop.
///
/// # Errors
/// Where the server or the room cannot be set up.
pub fn run(args: &DemoArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let played = runtime.block_on(play(args));
    // What a second signal interrupted is not waited for.
    runtime.shutdown_background();
    played
}

async fn play(args: &DemoArgs) -> Result<()> {
    let mut screen = Screen::new();
    // From the first moment on, so that a hasty Ctrl-C is clean too.
    let mut signals = Signals::new();
    let stage = tokio::select! {
        stage = Stage::build(args, &mut screen) => stage?,
        () = signals.next() => return Ok(()),
    };
    screen.say(stage.greeting());
    let cast = Cast::new(LineClient::new(&stage.server, ROOM)?, stage.opens);
    screen.say(about(args));
    let crowd = crowd(args)?;
    tokio::select! {
        () = watch(&stage, &cast, crowd, args.crowd == 0, &mut screen) => {}
        () = signals.next() => {}
    }
    let last = stage.operator.stats().await;
    screen.say("Stopping. A second Ctrl-C stops at once.");
    if args.crowd > 0 {
        screen.say(format_args!("\nWhat became of the crowd:\n{}", cast.tally));
    }
    if let Ok(stats) = last {
        screen.say(totals(&stats));
    }
    tokio::select! {
        () = stage.close() => {}
        () = signals.next() => {}
    }
    Ok(())
}

fn crowd(args: &DemoArgs) -> Result<Crowd> {
    let arrivals = Arrivals { shape: Curve::Burst.shape(), window: ARRIVALS };
    Ok(Crowd::new(args.seed, args.crowd, arrivals, Habits::default().hurried(HURRY))?)
}

fn about(args: &DemoArgs) -> String {
    if args.crowd == 0 {
        return "No crowd comes: the room is yours. Ctrl-C stops.\n".to_owned();
    }
    format!(
        "A crowd of {} comes (seed {}): up to {STREAMS_MAX} of them by stream, the others poll. They idle, leave, come\n\
         back, fail to show up. Spans of an hour's sale are cut to a fifth, passes and absences to about a minute.\n\
         The join limit per address is off: the whole crowd comes from this machine.\n",
        args.crowd, args.seed
    )
}

/// Lets the crowd play and shows the line; never ends by itself, since the room stays open when the crowd has gone.
async fn watch(stage: &Stage, cast: &Arc<Cast>, crowd: Crowd, nobody: bool, screen: &mut Screen) {
    let starts = stage.opens.checked_sub(std::time::Duration::from_millis(EARLY.0));
    let starts = starts.unwrap_or_else(Instant::now).max(Instant::now());
    let mut crowd = std::pin::pin!(cast::play(cast.clone(), crowd, starts));
    let mut tick = interval(screen.every());
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut gone, mut shown) = (nobody, None);
    loop {
        tokio::select! {
            () = &mut crowd, if !gone => {
                gone = true;
                screen.say("The crowd has gone. The room stays open for you; Ctrl-C stops.");
            }
            _ = tick.tick() => {
                let Ok(stats) = stage.operator.stats().await else { continue };
                // Once the crowd has gone, only news are worth a line.
                let still = (stats.waiting, stats.live, stats.absent, stats.admitted_total);
                if !gone || shown != Some(still) {
                    screen.show(&stats);
                }
                shown = Some(still);
            }
        }
    }
}
