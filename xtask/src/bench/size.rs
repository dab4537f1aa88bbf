//! How much a run measures: the whole, or a rough answer in under a minute. Runs nothing.

/// The amounts of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Size {
    /// Runs of each kind, in turn; the results are medians.
    pub(super) rounds: u32,
    /// Seconds of each closed loop.
    pub(super) seconds: f64,
    /// People prepared for each loop of joins; one that uses them up ends early.
    pub(super) joiners: u32,
    /// People who poll in turn. Each may ask eight times a second at the shortest interval, so this bounds the rate.
    pub(super) pollers: u32,
    /// The large crowd.
    pub(super) crowd: u32,
    /// Joins of each run on the small and the large crowd.
    pub(super) crowd_joins: u32,
    /// Streams of one server; a process opens at most 20,000 files.
    pub(super) streams: u32,
    pub(super) listen_s: u32,
    /// Pause before memory is read.
    pub(super) settle_ms: u32,
    /// Servers, each with as many streams.
    pub(super) servers: u32,
    pub(super) servers_streams: u32,
    /// Of a rush's time, people and calls.
    pub(super) rush_scale: f64,
    /// People of each rehearsal, with capacity and rate.
    pub(super) rehearsal: (u32, u32, u32),
    /// Two nodes on Redis: people prepared for each loop of joins.
    pub(super) nodes_joiners: u32,
    /// The crowds whose cost is compared.
    pub(super) nodes_crowds: [u32; 2],
    /// Seconds until everybody in a crowd has asked, and seconds of watching Redis after them.
    pub(super) nodes_watch: (u64, u64),
    /// The gate: people with a pass who ask in turn.
    pub(super) inside: u32,
    /// And who come at once to a quiet site.
    pub(super) burst: u32,
}

impl Size {
    pub(super) fn full() -> Size {
        Size {
            rounds: 3,
            seconds: 8.0,
            joiners: 500_000,
            pollers: 16_000,
            crowd: 1_000_000,
            crowd_joins: 100_000,
            streams: 19_000,
            listen_s: 20,
            settle_ms: 3_000,
            servers: 10,
            servers_streams: 19_000,
            rush_scale: 1.0,
            rehearsal: (10_000, 1_500, 20),
            nodes_joiners: 300_000,
            nodes_crowds: [1_000, 100_000],
            nodes_watch: (15, 30),
            inside: 400,
            burst: 5_000,
        }
    }

    pub(super) fn quick() -> Size {
        Size {
            rounds: 1,
            seconds: 1.0,
            joiners: 60_000,
            pollers: 8_000,
            crowd: 80_000,
            crowd_joins: 10_000,
            streams: 8_000,
            listen_s: 3,
            settle_ms: 1_000,
            servers: 2,
            servers_streams: 1_000,
            rush_scale: 0.015,
            rehearsal: (2_000, 300, 20),
            nodes_joiners: 40_000,
            nodes_crowds: [500, 5_000],
            nodes_watch: (2, 4),
            inside: 100,
            burst: 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place may be polled every 125 ms, and five times more at once (the room's shortest interval, 250 ms).
    #[test]
    fn there_are_enough_pollers_for_any_rate_this_machine_can_have() {
        for size in [Size::full(), Size::quick()] {
            let allowed = f64::from(size.pollers) * (8.0 + 5.0 / size.seconds);
            assert!(allowed >= 100_000.0, "{allowed} polls a second");
            assert!(size.crowd > size.pollers);
        }
    }

    #[test]
    fn no_process_needs_more_files_than_it_may_open() {
        for size in [Size::full(), Size::quick()] {
            assert!(size.streams.max(size.servers_streams) <= 19_500);
        }
    }
}
