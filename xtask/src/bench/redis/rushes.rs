//! Register, subscribe, allow over both nodes: nobody is bound to one, and the tenant's calls go to each in turn.

use anyhow::Result;

use super::site::Site;
use crate::bench::parts::Measured;
use crate::bench::parts::rushes::{Held, Rushes};
use crate::bench::parts::streams::FOR_STREAMS;
use crate::bench::setting::Setting;

/// The replaced service had 74, 103 and 250 ms.
const BASE: Held = Held { notice_ms: 60.0, allow_ms: Some(90.0), first_byte_ms: Some(200.0) };
const STRESS: Held = Held { notice_ms: 90.0, allow_ms: Some(120.0), first_byte_ms: Some(350.0) };

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let site = Site::start(setting, "rushes", &FOR_STREAMS)?;
    let rushes = Rushes { servers: &site.nodes(), pictures: "redis_", base: BASE, stress: STRESS };
    rushes.measure(setting, |room| site.room(setting, room, &[]))
}
