//! The process's own use of the machine, read from /proc at the scrape. Shows nothing where there is no /proc.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Clock ticks per second in /proc/self/stat: `USER_HZ`, 100 on every architecture Linux still supports.
const TICKS_PER_S: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |path| fs::read_to_string(path).ok();
        if let Some(seconds) = read("/proc/self/stat").as_deref().and_then(cpu_seconds) {
            let counter = ConstCounter::new(seconds);
            let help = "User and system CPU time of the process";
            let kind = counter.metric_type();
            let name = "process_cpu_seconds";
            counter.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        let resident = read("/proc/self/status").as_deref().and_then(resident_bytes);
        let limit = read("/proc/self/limits").as_deref().and_then(open_files_limit);
        let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as u64);
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory", resident),
            ("process_open_fds", "Open file descriptors", open),
            ("process_max_fds", "Most file descriptors the process may open", limit),
        ] {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                let kind = gauge.metric_type();
                gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
            }
        }
        Ok(())
    }
}

/// utime and stime are the 14th and 15th fields; the 2nd is the command in brackets and may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, after_command) = stat.rsplit_once(')')?;
    let mut fields = after_command.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some((user + system) as f64 / TICKS_PER_S)
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

fn open_files_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_read_as_the_manual_says() {
        let stat = "1 (a b) c) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(resident_bytes("Name:\tjari\nVmRSS:\t   2048 kB\n"), Some(2_097_152));
        let limits = "Max processes   1  2  processes\nMax open files            1024                 4096                 files\n";
        assert_eq!(open_files_limit(limits), Some(1_024));
        assert_eq!(cpu_seconds("garbage"), None);
    }
}
