//! The Redis of a bench: on a free port, in a folder of its own, as an ordinary user, durable as it is run: an AOF that is
//! synced every second. Tells what it has used and done; knows nothing of what is kept in it.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::bench::setting::Setting;
use crate::bench::started::Running;
use crate::machine;

/// Debian's, which `cargo xtask test` installs.
const PROGRAM: &str = "/usr/bin/redis-server";
/// It is ready in milliseconds; a loaded machine may take seconds.
const READY_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Bytes of an answer to INFO at most: it has some ten thousand.
const INFO_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Redis {
    _process: Running,
    port: u16,
    /// Removed with the server.
    _folder: TempDir,
}

/// What a server has used and done since it started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Used {
    at: Instant,
    /// Of all its threads, user and system.
    cpu_s: f64,
    /// Every command, those inside scripts too; not the questions for this.
    commands: f64,
    /// Events of rooms, as far as they are of one room at work: one XADD each.
    events: f64,
}

/// The same between two moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spent {
    pub(super) seconds: f64,
    pub(super) cpu_s: f64,
    pub(super) commands: f64,
    pub(super) events: f64,
}

impl Spent {
    /// Milliseconds of processor time in each second.
    pub(super) fn cpu_ms_per_s(self) -> f64 {
        self.cpu_s * 1_000.0 / self.seconds
    }

    pub(super) fn commands_per_s(self) -> f64 {
        self.commands / self.seconds
    }
}

impl Redis {
    pub(super) fn start(setting: &Setting) -> Result<Redis> {
        let program = Path::new(PROGRAM);
        ensure!(program.exists(), "{PROGRAM} is not there: `cargo xtask test` installs it");
        let folder = tempfile::tempdir().context("no temporary folder")?;
        // The server is another user; the folder is ours and goes with us.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let port = free.local_addr()?.port();
        drop(free);
        let mut serve = machine::as_ordinary_user(&setting.root, program)?;
        serve
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no"])
            .args(["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = Running(serve.spawn().context("Redis cannot be started")?);
        let redis = Redis { _process: process, port, _folder: folder };
        redis.ready()?;
        Ok(redis)
    }

    fn ready(&self) -> Result<()> {
        let started = Setting::now();
        while self.info().is_err() {
            ensure!(Setting::since(started) < READY_WITHIN, "Redis does not answer");
            sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn used(&self) -> Result<Used> {
        used(&self.info()?, Setting::now())
    }

    /// What it has used since `before`.
    pub(super) fn spent_since(&self, before: Used) -> Result<Spent> {
        Ok(self.used()?.less(before))
    }

    /// What it uses in so many seconds.
    pub(super) fn watch(&self, seconds: u64) -> Result<Spent> {
        let before = self.used()?;
        sleep(Duration::from_secs(seconds));
        self.spent_since(before)
    }

    fn info(&self) -> Result<String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(READY_WITHIN))?;
        let mut reader = BufReader::new(stream);
        reader.get_mut().write_all(b"INFO cpu commandstats\r\n")?;
        let mut head = String::new();
        reader.read_line(&mut head)?;
        let Some(length) = head.trim_end().strip_prefix('$') else {
            bail!("Redis answered {:?}", head.trim_end());
        };
        let length: usize = length.parse().context("no length")?;
        ensure!(length <= INFO_MAX, "an answer of {length} bytes");
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        String::from_utf8(bytes).context("not UTF-8")
    }
}

impl Used {
    fn less(self, before: Used) -> Spent {
        Spent {
            seconds: (self.at - before.at).as_secs_f64(),
            cpu_s: self.cpu_s - before.cpu_s,
            commands: self.commands - before.commands,
            events: self.events - before.events,
        }
    }
}

fn used(info: &str, at: Instant) -> Result<Used> {
    let cpu = |name: &str| -> Result<f64> {
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let value = value.with_context(|| format!("INFO without {name}"))?;
        value.trim_end().parse().with_context(|| format!("{name} is no number"))
    };
    let (mut commands, mut events) = (0.0, 0.0);
    for line in info.lines() {
        let Some((name, rest)) =
            line.strip_prefix("cmdstat_").and_then(|line| line.split_once(":calls="))
        else {
            continue;
        };
        let calls = rest.split(',').next().and_then(|calls| calls.parse::<f64>().ok());
        let calls = calls.with_context(|| format!("{line:?} counts nothing"))?;
        match name {
            "info" => {}
            "xadd" => (commands, events) = (commands + calls, calls),
            _ => commands += calls,
        }
    }
    let cpu_s = cpu("used_cpu_user")? + cpu("used_cpu_sys")?;
    Ok(Used { at, cpu_s, commands, events })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# CPU\r\nused_cpu_sys:0.250000\r\nused_cpu_user:1.500000\r\n\
        used_cpu_sys_children:9.0\r\nused_cpu_user_main_thread:1.4\r\n# Commandstats\r\n\
        cmdstat_info:calls=7,usec=1,usec_per_call=1.00\r\n\
        cmdstat_client|setinfo:calls=2,usec=1,usec_per_call=1.00\r\n\
        cmdstat_xadd:calls=10,usec=1,usec_per_call=1.00\r\n\
        cmdstat_evalsha:calls=30,usec=1,usec_per_call=1.00\r\n";

    #[test]
    fn what_a_server_used_is_read_without_its_children_and_our_questions() {
        let used = used(INFO, Setting::now()).expect("all is there");
        assert_eq!((used.cpu_s, used.commands, used.events), (1.75, 42.0, 10.0));
        let later = Used {
            at: used.at + Duration::from_secs(2),
            cpu_s: 1.76,
            commands: 62.0,
            events: 11.0,
        };
        let spent = later.less(used);
        assert!((spent.cpu_ms_per_s() - 5.0).abs() < 1e-6, "{spent:?}");
        assert_eq!((spent.commands_per_s(), spent.events), (10.0, 1.0));
    }

    #[test]
    fn an_answer_without_numbers_is_an_error() {
        assert!(used("# CPU\r\nused_cpu_sys:0.2\r\n", Setting::now()).is_err());
        let broken = INFO.replace("calls=30", "calls=x");
        assert!(used(&broken, Setting::now()).is_err());
    }
}
