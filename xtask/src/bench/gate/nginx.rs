//! nginx before the same site: what the reverse proxy is measured against. Checks no pass.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::numbers::free_port;
use crate::bench::setting::Setting;
use crate::bench::started::Running;
use crate::machine;

/// Debian's, which `cargo xtask test` installs.
const PROGRAM: &str = "/usr/sbin/nginx";
/// It is ready in milliseconds; a loaded machine may take seconds.
const READY_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Nginx {
    process: Running,
    pub(super) url: String,
    /// Removed with it.
    _folder: TempDir,
}

impl Nginx {
    /// Before this upstream (`ADDRESS:PORT`), with as many workers as this machine has cores: as many threads as Jari's
    /// own runtime takes.
    pub(super) fn start(setting: &Setting, upstream: &str) -> Result<Nginx> {
        let program = Path::new(PROGRAM);
        ensure!(program.exists(), "{PROGRAM} is not there: `cargo xtask test` installs it");
        let folder = tempfile::tempdir().context("no temporary folder")?;
        // The server is another user; the folder is ours and goes with us.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
        let (port, cores) = (free_port()?, std::thread::available_parallelism()?.get());
        let file = folder.path().join("nginx.conf");
        fs::write(&file, config(folder.path(), port, cores, upstream))?;
        let mut serve = machine::as_ordinary_user(&setting.root, program)?;
        serve.arg("-p").arg(folder.path()).arg("-c").arg(&file);
        serve.args(["-e", "stderr", "-g", "daemon off;"]);
        let process =
            serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = Running(process.context("nginx cannot be started")?);
        let url = format!("http://127.0.0.1:{port}");
        let nginx = Nginx { process, url, _folder: folder };
        let started = Setting::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(Setting::since(started) < READY_WITHIN, "nginx does not listen");
            sleep(LOOK_AGAIN);
        }
        Ok(nginx)
    }

    /// Of the workers: the master does nothing.
    pub(super) fn pids(&self) -> Result<Vec<u32>> {
        let master = self.process.0.id();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))
            .context("Linux tells children in /proc")?;
        let pids = children.split_ascii_whitespace().map(str::parse);
        pids.collect::<Result<_, _>>().context("no number of a process")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its workers where it is told to end, not where it is killed.
        let told = std::process::Command::new("kill")
            .args(["-TERM", &self.process.0.id().to_string()])
            .status();
        if told.is_ok_and(|status| status.success()) {
            let _ended = self.process.0.wait();
        }
    }
}

fn config(folder: &Path, port: u16, workers: usize, upstream: &str) -> String {
    let mut paths = String::new();
    for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let path = folder.join(name);
        // Writing to a string does not fail.
        let _ = writeln!(paths, "    {name}_temp_path {};", path.display());
    }
    format!(
        "worker_processes {workers};\n\
         pid {folder}/pid;\n\
         error_log stderr crit;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n{paths}    access_log off;\n    tcp_nodelay on;\n    \
         upstream site {{ server {upstream}; keepalive 256; keepalive_requests 1000000; }}\n    \
         server {{\n        listen 127.0.0.1:{port} backlog=4096;\n        keepalive_requests 1000000;\n        \
         location / {{\n            proxy_pass http://site;\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_set_header Host $host;\n            \
         proxy_set_header X-Forwarded-For $remote_addr;\n            \
         proxy_set_header X-Forwarded-Proto $scheme;\n        }}\n    }}\n}}\n",
        folder = folder.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_connections_on_both_sides() {
        let text = config(Path::new("/tmp/x"), 81, 2, "127.0.0.1:82");
        for part in [
            "worker_processes 2;",
            "listen 127.0.0.1:81 ",
            "server 127.0.0.1:82; keepalive 256;",
            "proxy_http_version 1.1;",
            "proxy_temp_path /tmp/x/proxy;",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
    }
}
