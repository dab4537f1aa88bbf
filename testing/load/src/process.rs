//! What a process on this machine has used: CPU and memory from /proc. Linux only; elsewhere nothing is reported.

use serde::Serialize;

/// Ticks a second of the times in /proc/PID/stat: `USER_HZ`, which Linux keeps at 100 for programs on every platform.
const TICKS_PER_S: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Usage {
    pub(crate) cpu_s: f64,
    pub(crate) rss_mb: f64,
}

impl Usage {
    /// Of two processes.
    pub(crate) fn with(self, other: Usage) -> Usage {
        Usage { cpu_s: self.cpu_s + other.cpu_s, rss_mb: self.rss_mb + other.rss_mb }
    }
}

/// The process's use so far; `None` where it or /proc is not there.
pub(crate) fn usage(pid: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(Usage { cpu_s: cpu_s(&stat)?, rss_mb: rss_mb(&status)? })
}

/// User and system time: fields 14 and 15. The second field is the program's name and may hold spaces, so count from
/// its closing bracket.
fn cpu_s(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_S)
}

fn rss_mb(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kb: f64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kb / 1_024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read_even_with_odd_names() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 99 0 0 0 250 150 0 0 20 0 4 0 100 1 2";
        assert_eq!(cpu_s(stat), Some(4.0));
        assert_eq!(rss_mb("Name:\tx\nVmRSS:\t    2048 kB\nThreads: 4"), Some(2.0));
        assert_eq!(cpu_s("nonsense"), None);
        assert!(usage(std::process::id()).is_some_and(|used| used.rss_mb > 0.5));
        assert_eq!(usage(u32::MAX), None);
        let of = |cpu_s, rss_mb| Usage { cpu_s, rss_mb };
        assert_eq!(of(1.0, 10.0).with(of(0.5, 2.0)), of(1.5, 12.0));
    }
}
