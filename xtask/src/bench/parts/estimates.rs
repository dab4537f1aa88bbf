//! How often the truth lay inside the range that people were shown: `jari rehearse` over five curves, in virtual time.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Measured;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::pictures;
use crate::bench::setting::Setting;

const CURVES: [&str; 5] = ["burst", "ramp", "stadium", "steady", "waves"];

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    setting.say("rehearsals of five curves");
    let (people, capacity, rate) = setting.size.rehearsal;
    let (people, capacity, rate) = (people.to_string(), capacity.to_string(), rate.to_string());
    let mut within = Vec::new();
    for curve in CURVES {
        let report = setting.ask_jari(&[
            "rehearse",
            "--json",
            "--curve",
            curve,
            "--people",
            &people,
            "--capacity",
            &capacity,
            "--rate",
            &rate,
            "--burst",
            &rate,
        ])?;
        within.push((curve, share_within(&serde_json::from_str(&report)?)?));
    }
    let worst = within.iter().map(|(_, share)| *share).fold(f64::INFINITY, f64::min);
    let mut entries = vec![Entry::held("estimates.within", worst, "%", Bar::AtLeast(90.0))];
    for (curve, share) in &within {
        entries.push(Entry::stated(format!("estimates.within_{curve}"), *share, "%"));
    }
    Ok(Measured { entries, pictures: vec![pictures::estimates(&within)] })
}

/// Of all estimates that were shown, in percent.
fn share_within(report: &Value) -> Result<f64> {
    let (shown, within) = (value(report, "/estimates/shown")?, value(report, "/estimates/within")?);
    (shown > 0.0).then(|| within / shown * 100.0).context("no estimate was shown")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_needs_something_that_was_shown() {
        let of =
            |shown, within| share_within(&json!({"estimates": {"shown": shown, "within": within}}));
        assert_eq!(of(200, 190).expect("shown"), 95.0);
        assert!(of(0, 0).is_err());
    }
}
