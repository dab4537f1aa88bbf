//! One node: the real program as a process of its own, on an address that it keeps over a restart, as an ordinary user.

use std::path::PathBuf;

use jari_servers::free_port;
use jari_testkit::Process;
use tokio::process::Command;
use url::Url;

/// `nobody` on Debian: what a run as root starts nodes as.
pub(crate) const ORDINARY: u32 = 65_534;

/// What a node is started with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) records: String,
    pub(crate) store: String,
    pub(crate) environment: Vec<(String, String)>,
    /// Whether this run is root's and the node is not to be.
    pub(crate) as_nobody: bool,
}

#[derive(Debug)]
pub(crate) struct Node {
    setup: Setup,
    ports: (u16, u16),
    /// `None` while it is dead.
    process: Option<Process>,
}

impl Node {
    /// Starts it and waits until it serves.
    ///
    /// # Panics
    /// Where it does not start, with what it said.
    pub(crate) async fn start(setup: Setup) -> Node {
        let ports = (free_port(), free_port());
        let mut node = Node { setup, ports, process: None };
        node.start_again().await;
        node
    }

    /// As [`Node::start`], on the address it had.
    pub(crate) async fn start_again(&mut self) {
        let Setup { program, data, records, store, environment, as_nobody } = &self.setup;
        let program = program.display().to_string();
        let mut builder = if *as_nobody {
            let (user, group) = (format!("--reuid={ORDINARY}"), format!("--regid={ORDINARY}"));
            let whom = [user.as_str(), &group, "--clear-groups", "--pdeathsig", "KILL", "--"];
            Process::command("setpriv", &whom).arg("env")
        } else {
            Process::command("env", &[])
        };
        // By `env`, so that a library that is to be loaded first is loaded into the node alone.
        for (name, value) in environment {
            builder = builder.arg(format!("{name}={value}"));
        }
        let listen = |port: u16| format!("127.0.0.1:{port}");
        let started = builder
            .arg(&program)
            .arg("serve")
            .arg("--config=/dev/null")
            .arg(format!("--listen={}", listen(self.ports.0)))
            .arg(format!("--ops-listen={}", listen(self.ports.1)))
            .arg(format!("--data={}", data.display()))
            .arg(format!("--records={records}"))
            .arg(format!("--store={store}"))
            .env("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "0")
            .start()
            .await;
        self.process = Some(started);
    }

    pub(crate) fn url(&self) -> Url {
        http(self.ports.0)
    }

    pub(crate) fn ops_url(&self) -> Url {
        http(self.ports.1)
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.process.is_none()
    }

    /// The admin key, which the first node of an installation prints.
    pub(crate) async fn key(&self) -> String {
        self.process.as_ref().expect("it was started").wait_for_key().await
    }

    /// Kills it as a power cut does.
    pub(crate) async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Tells it to stop, and waits until it has drained.
    pub(crate) async fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.terminate().await;
            process.wait().await;
        }
    }

    /// Stops it where it stands, as a machine that hangs, or lets it go on.
    pub(crate) async fn freeze(&self, frozen: bool) {
        let Some(process) = &self.process else { return };
        let (signal, id) = (if frozen { "-STOP" } else { "-CONT" }, process.id().to_string());
        let sent = Command::new("kill").args([signal, &id]).status().await;
        assert!(sent.is_ok_and(|sent| sent.success()), "the node can be signalled");
    }

    /// Lines of its log that a person should act on.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let said = self.process.as_ref().map(Process::stderr).unwrap_or_default();
        said.lines().filter(|line| line.contains("ERROR")).map(str::to_owned).collect()
    }
}

fn http(port: u16) -> Url {
    format!("http://127.0.0.1:{port}/").parse().expect("an address makes a URL")
}
