//! The process's own use of the machine, read from /proc at the scrape. Shows nothing where there is no /proc.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::cgroup;
use super::families::{Families, Labels};

/// Clock ticks per second in /proc/self/stat: `USER_HZ`, 100 on every architecture Linux still supports.
const TICKS_PER_S: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let stat = read("/proc/self/stat");
        let cpu = plain(cpu_seconds(&stat));
        families.counters_f64(
            ("process_cpu_seconds", "User and system CPU time of the process"),
            cpu,
        )?;
        let limits = read("/proc/self/limits");
        let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Resident memory",
                resident_bytes(&read("/proc/self/status")),
            ),
            ("process_open_fds", "Open file descriptors", open),
            (
                "process_max_fds",
                "Most file descriptors the process may open",
                open_files_limit(&limits),
            ),
            ("process_threads", "Threads", field(&stat, THREADS)),
            (
                "process_start_time_seconds",
                "When the process started, Unix time",
                started_at(&stat, &read("/proc/stat")),
            ),
        ] {
            families.gauges((name, help), plain(value))?;
        }
        throttling(&mut families)
    }
}

fn throttling(families: &mut Families<'_>) -> fmt::Result {
    let Some(throttling) = cgroup::throttling() else { return Ok(()) };
    for (name, help, value) in [
        (
            "jari_cgroup_cpu_periods",
            "Periods of the CPU limit in which the control group ran",
            throttling.periods as f64,
        ),
        (
            "jari_cgroup_cpu_throttled_periods",
            "Periods in which the CPU limit held the control group back",
            throttling.throttled_periods as f64,
        ),
        (
            "jari_cgroup_cpu_throttled_seconds",
            "Time for which the CPU limit held the control group back",
            throttling.throttled_s,
        ),
    ] {
        families.counters_f64((name, help), plain(Some(value)))?;
    }
    Ok(())
}

/// A sample without labels, where there is a value.
fn plain(value: Option<f64>) -> Option<(Labels, f64)> {
    value.map(|value| (Labels::new(), value))
}

/// Fields of /proc/self/stat, counted from the first behind the command, which is in brackets and may hold anything.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const THREADS: usize = 17;
const START_TICKS: usize = 19;

fn field(stat: &str, nth: usize) -> Option<f64> {
    let (_, after_command) = stat.rsplit_once(')')?;
    after_command.split_ascii_whitespace().nth(nth)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, USER_TICKS)? + field(stat, SYSTEM_TICKS)?) / TICKS_PER_S)
}

fn started_at(stat: &str, machine: &str) -> Option<f64> {
    let booted = machine.lines().find_map(|line| line.strip_prefix("btime "))?;
    let booted: f64 = booted.trim().parse().ok()?;
    Some(booted + field(stat, START_TICKS)? / TICKS_PER_S)
}

fn resident_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024.0)
}

fn open_files_limit(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_read_as_the_manual_says() {
        let stat = "1 (a b) c) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 1234";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(field(stat, THREADS), Some(9.0));
        assert_eq!(started_at(stat, "cpu 1\nbtime 1000\n"), Some(1_012.34));
        assert_eq!(resident_bytes("Name:\tjari\nVmRSS:\t   2048 kB\n"), Some(2_097_152.0));
        let limits = "Max processes   1  2  processes\nMax open files            1024                 4096                 files\n";
        assert_eq!(open_files_limit(limits), Some(1_024.0));
        assert_eq!(cpu_seconds("garbage"), None);
    }
}
