//! A PostgreSQL server: a cluster of its own, made and started in about two seconds.
//!
//! Users may come without a password but for [`Postgres::GUARDED`], who needs one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::process::{
    Heard, as_ordinary, finish, free_port, give, is_root, open_folder, sign_itself, signal,
};

/// Where Debian puts each major version's programs: `15/bin/initdb`.
const VERSIONS: &str = "/usr/lib/postgresql";

const READY: &str = "database system is ready to accept connections";

/// Tries for a free port that nobody else takes meanwhile.
const STARTS_MAX: u32 = 5;

/// Who may come and how, first match first.
const RULES: &str = "local all all trust\n\
    host all guarded 127.0.0.1/32 scram-sha-256\n\
    host all all 127.0.0.1/32 trust\n";

/// How a server is made.
#[derive(Debug, Default)]
pub struct PostgresBuilder {
    settings: Vec<String>,
    tls: bool,
}

impl PostgresBuilder {
    /// A setting as on the server's command line: `max_connections=5`.
    #[must_use]
    pub fn set(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// With a certificate for 127.0.0.1 that it signed itself: [`Postgres::certificate`].
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start(self) -> Postgres {
        let folder = open_folder();
        let root = is_root(folder.path());
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("the folder is ours");
        give(&data);
        let bin = newest_bin();
        let mut initdb = as_ordinary(&bin.join("initdb"), root);
        initdb.arg("-D").arg(&data);
        initdb.args(["-U", "jari", "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync"]);
        finish(&mut initdb);
        std::fs::write(data.join("pg_hba.conf"), RULES).expect("the folder can be written");
        let mut settings = self.settings;
        if self.tls {
            settings.extend(certificate(folder.path(), root));
        }
        let databases = AtomicU32::new(0);
        let (port, running, frozen) = (0, None, Vec::new());
        let mut server =
            Postgres { bin, data, settings, root, port, running, frozen, databases, folder };
        server.start_anywhere();
        server.sql("postgres", "CREATE ROLE guarded LOGIN PASSWORD 'open sesame'");
        server
    }
}

/// A server at work; ended when it is dropped.
#[derive(Debug)]
pub struct Postgres {
    bin: PathBuf,
    data: PathBuf,
    settings: Vec<String>,
    root: bool,
    port: u16,
    running: Option<Heard>,
    /// Its processes while they are frozen.
    frozen: Vec<String>,
    /// Databases made so far.
    databases: AtomicU32,
    folder: TempDir,
}

impl Postgres {
    /// The user who needs [`Postgres::PASSWORD`].
    pub const GUARDED: &str = "guarded";
    pub const PASSWORD: &str = "open sesame";

    /// A server with its defaults.
    #[must_use]
    pub fn start() -> Postgres {
        Postgres::builder().start()
    }

    #[must_use]
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// A new, empty database's address, for the user who owns it and needs no password.
    pub fn database(&self) -> String {
        let name = format!("jari_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        self.address("jari", &name)
    }

    /// A new database that holds what `pg_dump` and `pg_restore` carry over from another.
    pub fn restored(&self, from: &str) -> String {
        let (to, dump) = (self.database(), self.data.join("dump"));
        let run = |program: &str, arguments: &[&str]| {
            finish(as_ordinary(&self.bin.join(program), self.root).args(arguments).arg(&dump))
        };
        run("pg_dump", &["--format", "custom", from, "--file"]);
        run("pg_restore", &["--no-owner", "--exit-on-error", "--dbname", &to]);
        to
    }

    /// A database's address for a user, who may be followed by `:password`.
    #[must_use]
    pub fn address(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// The certificate that clients can trust, where it has one.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// What a statement gives, a line a row; `database` is a name or an address.
    ///
    /// # Panics
    /// Where the server refuses it.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let address = if database.contains("://") {
            database.to_owned()
        } else {
            self.address("jari", database)
        };
        let mut psql = as_ordinary(&self.bin.join("psql"), self.root);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, &address]);
        finish(&mut psql)
    }

    /// Makes it fall silent, as behind a broken network: connections stay and nothing answers.
    pub fn freeze(&mut self) {
        let clients = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()";
        self.frozen = self.sql("postgres", clients).lines().map(str::to_owned).collect();
        self.frozen.extend(self.running.as_ref().map(|running| running.id().to_string()));
        signal("STOP", &self.frozen);
    }

    /// Lets it go on.
    pub fn thaw(&mut self) {
        signal("CONT", &std::mem::take(&mut self.frozen));
    }

    /// Ends it at once, as a crash does; what it was told stays.
    pub fn stop(&mut self) {
        self.thaw();
        if let Some(mut running) = self.running.take() {
            running.end("QUIT");
        }
    }

    /// Starts it again, on the same port and data.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn resume(&mut self) {
        let tried = self.try_start(self.port);
        self.running = Some(tried.unwrap_or_else(|log| panic!("it does not start again:\n{log}")));
    }

    fn start_anywhere(&mut self) {
        let mut log = String::new();
        for _ in 0..STARTS_MAX {
            let port = free_port();
            match self.try_start(port) {
                Ok(running) => {
                    (self.port, self.running) = (port, Some(running));
                    return;
                }
                Err(said) => log = said,
            }
        }
        panic!("PostgreSQL does not start:\n{log}");
    }

    fn try_start(&self, port: u16) -> Result<Heard, String> {
        let mut command = as_ordinary(&self.bin.join("postgres"), self.root);
        command.arg("-D").arg(&self.data).args(["-p", &port.to_string()]);
        let sockets = format!("unix_socket_directories={}", self.data.display());
        for setting in ["listen_addresses=127.0.0.1", &sockets, "fsync=off"] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let running = Heard::start(command);
        if running.says(READY) { Ok(running) } else { Err(running.log()) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The newest installed version's programs.
fn newest_bin() -> PathBuf {
    let installed = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let versions = installed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let bins =
        versions.map(|version| (version, Path::new(VERSIONS).join(format!("{version}/bin"))));
    let newest = bins.filter(|(_, bin)| bin.join("initdb").is_file()).max();
    let (_, bin) = newest.unwrap_or_else(|| {
        panic!("no PostgreSQL in {VERSIONS}: `cargo xtask test --only tools` installs it")
    });
    bin
}

/// Makes key and certificate, and the settings that name them.
fn certificate(folder: &Path, root: bool) -> Vec<String> {
    let (key, certificate) = (folder.join("data/key.pem"), folder.join("certificate.pem"));
    let made = folder.join("data/certificate.pem");
    sign_itself(&key, &made, root);
    std::fs::copy(&made, &certificate).expect("both folders are ours");
    vec![
        "ssl=on".to_owned(),
        format!("ssl_key_file={}", key.display()),
        format!("ssl_cert_file={}", made.display()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_what_it_was_told_and_ends_with_its_test() {
        let mut server = Postgres::start();
        let database = server.database();
        server.sql(&database, "CREATE TABLE t (a INT); INSERT INTO t VALUES (7)");
        server.stop();
        server.resume();
        assert_eq!(server.sql(&database, "SELECT a FROM t"), "7");
        let id = server.running.as_ref().expect("it runs").id();
        drop(server);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
