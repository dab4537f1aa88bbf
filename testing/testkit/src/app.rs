//! A server in this process, on free ports and a folder of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use jari::{Running, ServeOptions, SystemEntropy};
use jari_api::admin::{RoomBody, SettingsBody};
use jari_api::{Identity, Title};
use jari_config::{Config, Overrides, Sources};
use tempfile::TempDir;
use url::Url;

use crate::{Integrator, Operator, TestClock, Visitor};

/// Files the process may open, as told to the server: tests do not raise the process's limit.
const OPEN_FILES: u64 = 1_024;

/// What a test's server is started with.
#[derive(Debug)]
pub struct TestAppBuilder {
    overrides: Vec<(String, String)>,
    file: String,
    clock: TestClock,
    dir: Option<Arc<TempDir>>,
    key: Option<String>,
}

impl TestAppBuilder {
    /// Sets a key of the configuration: `.set("http.join_limit_burst", 3)`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.overrides.push((key.to_owned(), value.to_string()));
        self
    }

    /// What its configuration file says, for what no single key can.
    #[must_use]
    pub fn file(mut self, toml: &str) -> Self {
        self.file = toml.to_owned();
        self
    }

    /// Puts it before a site.
    #[must_use]
    pub fn protect(self, site: &crate::FakeSite) -> Self {
        self.set("protect.upstream", site.url().as_str().trim_end_matches('/'))
    }

    #[must_use]
    pub fn clock(mut self, clock: TestClock) -> Self {
        self.clock = clock;
        self
    }

    /// A key that is good there already: of another node's first start.
    #[must_use]
    pub fn admin_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// Where it does not start: [`TestAppBuilder::try_start`] gives the reason.
    pub async fn start(self) -> TestApp {
        self.try_start().await.expect("a server starts on a fresh folder and free ports")
    }

    /// Starts it.
    ///
    /// # Errors
    /// Why it did not start.
    pub async fn try_start(self) -> Result<TestApp, jari::ServeError> {
        let dir = self
            .dir
            .clone()
            .unwrap_or_else(|| Arc::new(TempDir::new().expect("a temporary folder can be made")));
        let mut flags = Overrides::default()
            .with("test", "http.listen", Some("127.0.0.1:0"))
            .with("test", "ops.listen", Some("127.0.0.1:0"))
            .with("test", "protect.listen", Some("127.0.0.1:0"))
            .with("test", "store.data_dir", Some(dir.path().join("data").display()));
        for (key, value) in &self.overrides {
            flags = flags.with("test", key, Some(value));
        }
        let config = Config::load(&Sources::new(Some(file(&dir, &self.file)), [], flags))
            .expect("a test sets only what is valid");
        let options = ServeOptions {
            clock: Arc::new(self.clock.clone()),
            entropy: Arc::new(SystemEntropy),
            open_files: OPEN_FILES,
            new_admin_key: false,
        };
        let running = jari::serve(&config, options).await?;
        let key = running.first_key.clone().or(self.key).expect("a first start makes a key");
        let TestAppBuilder { overrides, file, clock, .. } = self;
        Ok(TestApp { running, key, dir, overrides, file, clock })
    }
}

/// A file, mostly empty, so that no `jari.toml` of the working directory is read.
fn file(dir: &TempDir, toml: &str) -> std::path::PathBuf {
    let file = dir.path().join("test.toml");
    std::fs::write(&file, toml).expect("the folder can be written");
    file
}

/// A server at work. Ended by [`TestApp::stop`]; merely dropped, it ends with the test's runtime.
#[derive(Debug)]
pub struct TestApp {
    running: Running,
    key: String,
    dir: Arc<TempDir>,
    overrides: Vec<(String, String)>,
    file: String,
    clock: TestClock,
}

impl TestApp {
    /// Starts a server with the defaults.
    pub async fn start() -> TestApp {
        TestApp::builder().start().await
    }

    #[must_use]
    pub fn builder() -> TestAppBuilder {
        TestAppBuilder {
            overrides: Vec::new(),
            file: String::new(),
            clock: TestClock::default(),
            dir: None,
            key: None,
        }
    }

    /// Where it is served.
    #[must_use]
    pub fn url(&self) -> Url {
        http(self.running.public_addr)
    }

    /// Where visitors find the site that it protects.
    ///
    /// # Panics
    /// Where it protects none.
    #[must_use]
    pub fn site_url(&self) -> Url {
        http(self.running.site.as_ref().expect("it was started with `protect`").addr)
    }

    /// Where its health and metrics are.
    #[must_use]
    pub fn ops_url(&self) -> Url {
        http(self.running.ops_addr)
    }

    /// The admin key that the first start made.
    #[must_use]
    pub fn admin_key(&self) -> &str {
        &self.key
    }

    /// The data folder.
    #[must_use]
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// A folder for whatever else a test writes; removed with the app.
    #[must_use]
    pub fn temp_dir(&self) -> &Path {
        self.dir.path()
    }

    #[must_use]
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// A new person with a browser of their own.
    #[must_use]
    pub fn visitor(&self) -> Visitor {
        Visitor::new(self.url())
    }

    /// Somebody with the admin key.
    #[must_use]
    pub fn operator(&self) -> Operator {
        Operator::new(self.url(), &self.key)
    }

    /// Makes a tenant.
    pub async fn create_tenant(&self, id: &str) {
        let path = format!("/v1/admin/tenants/{id}");
        self.operator().put(&path, &serde_json::json!({"name": id})).await.expect(200);
    }

    /// A tenant's server, with a key of the installation's own tenant.
    pub async fn integrator(&self) -> Integrator {
        let body = serde_json::json!({"name": "a test's site", "scope": "tenant"});
        let made = self.operator().post("/v1/admin/keys", &body).await.expect(201);
        let made: jari_api::admin::ApiKeyCreated = made.json();
        Integrator::new(self.url(), &made.key)
    }

    /// Makes an anonymous room, as changed by `change`, and gives its id.
    pub async fn create_room(&self, change: impl FnOnce(&mut RoomBody)) -> String {
        let mut room = RoomBody {
            room: "room".to_owned(),
            tenant: None,
            group: None,
            identity: Identity::Anonymous,
            title: Title { ko: "시험".to_owned(), en: "Test".to_owned() },
            target_url: "/target".to_owned(),
            on_store_failure: Default::default(),
            handover: Default::default(),
            challenge: Default::default(),
            challenge_difficulty: jari_ports::Challenge::default().difficulty,
            settings: SettingsBody::default(),
        };
        change(&mut room);
        let made = self.operator().post("/v1/admin/rooms", &room).await;
        made.expect(201);
        room.room
    }

    /// Drains and stops it; the folder lives as long as what is given back.
    pub async fn stop(self) -> Arc<TempDir> {
        self.running.stop().await;
        self.dir
    }

    /// Stops it and starts another on the same folder, on new ports.
    pub async fn restart(self) -> TestApp {
        let TestApp { running, key, dir, overrides, file, clock } = self;
        running.stop().await;
        let (dir, key) = (Some(dir), Some(key));
        TestAppBuilder { overrides, file, clock, dir, key }.start().await
    }

    /// Another server on the same folder, for tests of what happens then.
    ///
    /// # Errors
    /// Why it did not start.
    pub async fn try_second(&self) -> Result<TestApp, jari::ServeError> {
        let (dir, key) = (Some(self.dir.clone()), Some(self.key.clone()));
        let (overrides, clock) = (self.overrides.clone(), self.clock.clone());
        let file = self.file.clone();
        TestAppBuilder { overrides, file, clock, dir, key }.try_start().await
    }
}

fn http(addr: SocketAddr) -> Url {
    Url::parse(&format!("http://{addr}/")).expect("an address makes a URL")
}
