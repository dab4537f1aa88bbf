//! Streams over several servers and generators on this one machine: measured and stated, held to nothing. Two cores feed
//! and read all of them.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Measured;
use super::streams::FOR_STREAMS;
use crate::bench::entry::{Entry, median, value};
use crate::bench::pictures::{self, Picture};
use crate::bench::setting::{ROOM, Setting};
use crate::bench::started::{Started, Waiting};

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let size = &setting.size;
    let all = size.servers * size.servers_streams;
    setting.say(&format!("{all} streams over {} servers", size.servers));
    let before = used_memory_mb();
    // Servers end with their handles: they are kept until all was heard.
    let (servers, mut loads) = open(setting)?;
    for (nth, load) in loads.iter_mut().enumerate() {
        load.ready()?;
        setting.say(&format!("{} of {} have opened theirs", nth + 1, size.servers));
    }
    let open = used_memory_mb();
    for load in &mut loads {
        load.go()?;
    }
    let reports = loads.into_iter().map(Waiting::end).collect::<Result<Vec<_>>>()?;
    drop(servers);
    let (mut entries, picture) = stated(&reports, size.servers)?;
    if let (Ok(before), Ok(open)) = (before, open) {
        // Servers, generators and the kernel's sockets, both ends of each stream.
        let each = (open - before).max(0.0) * 1_048_576.0 / f64::from(all);
        entries.push(Entry::stated("processes.machine_memory_each", each, "bytes"));
    }
    Ok(Measured { entries, pictures: vec![picture] })
}

/// Starts servers and generators, each with streams of its own.
fn open(setting: &Setting) -> Result<(Vec<Started>, Vec<Waiting>)> {
    let size = &setting.size;
    let (mut servers, mut loads) = (Vec::new(), Vec::new());
    for nth in 0..size.servers {
        let server = setting.server(&format!("many-{nth}"), &FOR_STREAMS)?;
        setting.room(&server, ROOM)?;
        let more = [
            ("--streams", size.servers_streams),
            ("--seconds", size.listen_s),
            ("--settle-ms", size.settle_ms),
            // 127.0.0.x and 127.0.1.x are others'.
            ("--net", nth + 2),
        ];
        let more: Vec<String> =
            more.into_iter().flat_map(|(flag, n)| [flag.to_owned(), n.to_string()]).collect();
        let name = format!("many-{nth}");
        loads.push(setting.waiting(&server, &["streams", "--room", ROOM], &more, &name)?);
        servers.push(server);
    }
    Ok((servers, loads))
}

fn stated(reports: &[Value], servers: u32) -> Result<(Vec<Entry>, Picture)> {
    let each = |pointer| reports.iter().map(move |report| value(report, pointer));
    let sum = |pointer| each(pointer).sum::<Result<f64>>();
    let most = |pointer| each(pointer).try_fold(0.0f64, |most, one| anyhow::Ok(most.max(one?)));
    let mut entries = vec![
        Entry::stated("processes.streams", sum("/streams")?, "streams"),
        Entry::stated("processes.servers", servers.into(), "servers"),
        Entry::stated("processes.failed", sum("/failed")?, "streams"),
        Entry::stated("processes.ended_early", sum("/ended")?, "streams"),
        Entry::stated("processes.line_to_all_p99", most("/all_p99_ms")?, "ms"),
        Entry::stated("processes.lines_heard_by_all", sum("/whole_lines")?, "lines"),
    ];
    if let Ok(bytes) = each("/bytes_per_stream").collect::<Result<Vec<_>>>() {
        entries.push(Entry::stated("processes.memory_each", median(bytes)?, "bytes"));
    }
    let rows = each("/all_p99_ms").enumerate();
    let rows = rows.map(|(nth, ms)| Ok((format!("server {}", nth + 1), ms?)));
    let picture = pictures::bars(
        "processes",
        "A line on its way to all streams of each of several servers",
        "ms from the first stream to the last, p99",
        None,
        &rows.collect::<Result<Vec<_>>>()?,
    );
    Ok((entries, picture))
}

/// What all processes and the kernel use, without caches.
fn used_memory_mb() -> Result<f64> {
    memory_mb(&std::fs::read_to_string("/proc/meminfo")?)
}

fn memory_mb(meminfo: &str) -> Result<f64> {
    let kb = |name: &str| -> Result<f64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_ascii_whitespace().next());
        number.context("a line that is not there")?.parse().context("no number")
    };
    Ok((kb("MemTotal:")? - kb("MemAvailable:")?) / 1_024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_memory_is_what_is_not_available() {
        let text = "MemTotal:  4096 kB\nMemFree:  10 kB\nMemAvailable:  1024 kB\n";
        assert_eq!(memory_mb(text).expect("both are there"), 3.0);
        assert!(memory_mb("").is_err());
    }
}
