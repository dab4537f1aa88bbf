//! The flags that describe the crowd of a rehearsal, and the crowd they make.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jari_crowd::{Arrivals, Crowd, Curve, Habits, PEOPLE_MAX, Spread};
use jari_units::Millis;

use super::arrivals_file;
use super::wording::{count, span};
use crate::cli::Failure;
use crate::cli::span::{share, span_ms};

/// People of a named curve where the command line names no number.
const PEOPLE: u32 = 10_000;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CurveName {
    /// Everybody waited for the opening: half come in the first twelfth of the window.
    Burst,
    /// Word spreads: more each minute, from nobody to twice the mean.
    Ramp,
    /// People gather early, most come around the opening, stragglers follow.
    Stadium,
    /// As many each minute.
    Steady,
    /// Three waves, each smaller than the one before.
    Waves,
}

impl CurveName {
    fn curve(self) -> Curve {
        match self {
            CurveName::Burst => Curve::Burst,
            CurveName::Ramp => Curve::Ramp,
            CurveName::Stadium => Curve::Stadium,
            CurveName::Steady => Curve::Steady,
            CurveName::Waves => Curve::Waves,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Crowd")]
pub(super) struct CrowdArgs {
    /// How many people come, 1 to 2000000. [default: 10000; with --arrivals what the file adds up to]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PEOPLE_MAX)))]
    people: Option<u32>,
    /// How they spread over the window.
    #[arg(long, value_enum, default_value_t = CurveName::Burst)]
    curve: CurveName,
    /// From the first arrival to the last.
    #[arg(long, value_name = "SPAN", value_parser = some_span, default_value = "10m")]
    window: Millis,
    /// Arrivals from a CSV file instead of a named curve.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["curve", "window"])]
    arrivals: Option<PathBuf>,
    /// Draws another crowd; the same seed draws the same people.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Half of the people stay inside at most this long. [default: 2m30s]
    #[arg(long, value_name = "SPAN", value_parser = some_span)]
    dwell: Option<Millis>,
    /// People who are called and never go in. [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    no_shows: Option<f64>,
    /// People who give up if it takes too long. [default: 25%]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    give_up: Option<f64>,
    /// How long those wait on the mean. [default: 12m]
    #[arg(long, value_name = "SPAN", value_parser = some_span)]
    patience: Option<Millis>,
}

fn some_span(text: &str) -> Result<Millis, String> {
    let span = span_ms(text)?;
    if span > 0 { Ok(Millis(span)) } else { Err("a span longer than nothing".to_owned()) }
}

/// How the crowd comes, as a person and a script are told.
#[derive(Debug)]
pub(super) struct Coming {
    /// The curve's name; else it comes as a file says.
    pub(super) curve: Option<String>,
    pub(super) file: Option<String>,
    pub(super) seed: u64,
    /// Such as "10,000 people, curve burst over 10 min, seed 1".
    pub(super) text: String,
}

impl CrowdArgs {
    /// The crowd, all of which comes before `horizon`.
    pub(super) fn crowd(&self, horizon: Millis) -> Result<(Crowd, Coming), Failure> {
        let (arrivals, people) = self.arrivals()?;
        if arrivals.window > horizon {
            return Err(Failure::failed(format!(
                "people come for {}, and the rehearsal ends after {}; give a --horizon that lies behind the last arrival",
                span(arrivals.window),
                span(horizon),
            )));
        }
        let coming = self.coming(people, arrivals.window);
        let crowd = Crowd::new(self.seed, people, arrivals, self.habits());
        let crowd = crowd.map_err(|error| Failure::failed(error.to_string()))?;
        Ok((crowd, coming))
    }

    fn arrivals(&self) -> Result<(Arrivals, u32), Failure> {
        let Some(path) = &self.arrivals else {
            let shape = self.curve.curve().shape();
            let arrivals = Arrivals { shape, window: self.window };
            return Ok((arrivals, self.people.unwrap_or(PEOPLE)));
        };
        let told = |what: String| Failure::failed(format!("{}: {what}", path.display()));
        let file = arrivals_file::read(path).map_err(|error| told(error.to_string()))?;
        let people = match self.people {
            Some(people) => people,
            None if (0.5..=f64::from(PEOPLE_MAX)).contains(&file.people) => {
                file.people.round() as u32
            }
            None => {
                let (sum, most) = (file.people, count(u64::from(PEOPLE_MAX)));
                let text = format!(
                    "it adds up to {sum:.1} people; from 1 to {most} can come: say how many with --people"
                );
                return Err(told(text));
            }
        };
        Ok((file.arrivals, people))
    }

    fn coming(&self, people: u32, window: Millis) -> Coming {
        let (people, over, seed) = (count(u64::from(people)), span(window), self.seed);
        let file = self.arrivals.as_ref().map(|path| {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        });
        let curve = file.is_none().then(|| self.curve.curve().to_string());
        let how = match (&file, &curve) {
            (Some(file), _) => format!("as {file} says"),
            (None, curve) => format!("curve {}", curve.as_deref().unwrap_or_default()),
        };
        Coming {
            text: format!("{people} people, {how} over {over}, seed {seed}"),
            curve,
            file,
            seed,
        }
    }

    fn habits(&self) -> Habits {
        let usual = Habits::default();
        let median = self.dwell.unwrap_or(usual.dwell.median);
        Habits {
            dwell: Spread { median, ..usual.dwell },
            no_shows: self.no_shows.unwrap_or(usual.no_shows),
            impatient: self.give_up.unwrap_or(usual.impatient),
            patience_mean: self.patience.unwrap_or(usual.patience_mean),
            ..usual
        }
    }
}
