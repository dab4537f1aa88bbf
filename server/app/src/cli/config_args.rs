//! Flags that set the configuration, the last of its four steps.

use std::path::PathBuf;

use clap::Args;
use jari_config::{Config, ConfigErrors, Overrides, Sources};

/// Every other key is set in the file or by its variable: see `jari check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(super) struct ConfigArgs {
    /// The configuration file (TOML). Else $JARI_CONFIG, else ./jari.toml where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where visitors, tenants and operators are served. [env: JARI__HTTP__LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<String>,
    /// What visitors type, where that is not the address listened on. [env: JARI__HTTP__PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Where health and metrics are served. [env: JARI__OPS__LISTEN] [default: 127.0.0.1:9090]
    #[arg(long, value_name = "IP:PORT")]
    ops_listen: Option<String>,
    /// What this node is for: some of web, gate and admitter. All of them, unless several nodes share the lines.
    /// [env: JARI__NODE__ROLES] [default: web,gate,admitter]
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,
    /// The data folder. [env: JARI__STORE__DATA_DIR] [default: jari-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The records' database, postgres://USER@HOST/DATABASE, where they are not in the data folder. A password here is
    /// seen by everybody on the machine: use the variable, or PGPASSWORD. [env: JARI__RECORDS__URL]
    #[arg(long, value_name = "URL")]
    records: Option<String>,
    /// Where the lines are, for several nodes: redis://, rediss://, redis+cluster:// or redis+sentinel://. A password is
    /// better set by the variable. [env: JARI__STORE__URL] [default: in the data folder]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// A site to protect, http://HOST:PORT or https://HOST: visitors reach it on http://127.0.0.1:8081 (protect.listen), by way of a
    /// waiting room. [env: JARI__PROTECT__UPSTREAM]
    #[arg(long, value_name = "URL")]
    protect: Option<String>,
    /// Certificates (PEM) that an https site is checked by, instead of the system's. [env: JARI__PROTECT__CA_FILE]
    #[arg(long, value_name = "FILE")]
    protect_ca: Option<String>,
    /// Where visitors of the site come in. [env: JARI__PROTECT__LISTEN] [default: 127.0.0.1:8081]
    #[arg(long, value_name = "IP:PORT")]
    protect_listen: Option<String>,
    /// The room that guards it; made where it is not there. [env: JARI__PROTECT__ROOM] [default: site]
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,
    /// What the room guards: a path, with * for any text. [env: JARI__PROTECT__PATH] [default: /*]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// What is logged: off, error, warn, info, debug, trace; by module too. [env: JARI__LOG__LEVEL] [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// text, json, or auto: text on a terminal, json elsewhere. [env: JARI__LOG__FORMAT] [default: auto]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl ConfigArgs {
    /// The configuration in effect.
    pub(super) fn load(&self) -> Result<Config, ConfigErrors> {
        let overrides = Overrides::default()
            .with("--listen", "http.listen", self.listen.as_ref())
            .with("--public-url", "http.public_url", self.public_url.as_ref())
            .with("--ops-listen", "ops.listen", self.ops_listen.as_ref())
            .with("--roles", "node.roles", self.roles.as_ref())
            .with("--data", "store.data_dir", self.data.as_ref())
            .with("--records", "records.url", self.records.as_ref())
            .with("--store", "store.url", self.store.as_ref())
            .with("--protect", "protect.upstream", self.protect.as_ref())
            .with("--protect-ca", "protect.ca_file", self.protect_ca.as_ref())
            .with("--protect-listen", "protect.listen", self.protect_listen.as_ref())
            .with("--room", "protect.room", self.room.as_ref())
            .with("--path", "protect.path", self.path.as_ref())
            .with("--log-level", "log.level", self.log_level.as_ref())
            .with("--log-format", "log.format", self.log_format.as_ref());
        Config::load(&Sources::from_process(self.config.clone(), overrides))
    }
}
