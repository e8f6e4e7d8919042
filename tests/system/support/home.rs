//! A data folder of a story's own, and what runs below it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cognition_local::s3::LocalS3;
use cognition_local::{Keys, Options};
use domain::SystemClock;
use lambda_kit::env::Secret;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::sandboxd;
use tokio::net::TcpListener;

/// The keys of every story's deployment.
pub(crate) const RUNTIME_KEY: &str = "runtime key of the stories, 32 and more";
pub(crate) const SCOPE_KEY: &str = "scope key of the stories";
pub(crate) const PUSH_KEYS: &str = "stories:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
/// Where webhooks may be although it is no part of the public internet.
pub(crate) const WEBHOOKS: &str = "127.0.0.1";

/// Agents, scenarios, and a place for everything else. Begins with the demo's agent, `analyst`.
#[derive(Debug)]
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(TempDir::with_prefix("cognition-story-").unwrap());
        for folder in ["agents", "scenarios"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        let analyst = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/local/agents");
        fs::copy(analyst.join("analyst.json"), home.agents().join("analyst.json")).unwrap();
        home
    }

    /// With an agent that says what its scenario tells it to.
    pub(crate) fn with_script(self, name: &str, turns: &Value) -> Self {
        self.with_agent(name, &json!({"exposed": true}), turns)
    }

    /// The same, with settings of what it shows to A2A clients.
    pub(crate) fn with_agent(self, name: &str, a2a: &Value, turns: &Value) -> Self {
        let agent = json!({
            "name": name,
            "display_name": name,
            "model": {"provider": "scripted", "model": name},
            "a2a": a2a,
        });
        let file = format!("{name}.json");
        fs::write(self.agents().join(&file), agent.to_string()).unwrap();
        let scenario = json!({"turns": turns}).to_string();
        fs::write(self.scenarios().join(&file), scenario).unwrap();
        self
    }

    /// The folder, which nobody removes any more.
    pub(crate) fn keep(self) -> PathBuf {
        self.0.keep()
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn agents(&self) -> PathBuf {
        self.path().join("agents")
    }

    pub(crate) fn scenarios(&self) -> PathBuf {
        self.path().join("scenarios")
    }

    /// What processes of the system log.
    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// An S3 endpoint of this home's own, for stories with several systems.
    pub(crate) async fn objects(&self) -> LocalS3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        LocalS3::start(&self.path().join("objects"), listener, Arc::new(SystemClock)).unwrap()
    }

    /// A system on any free port, which sweeps often.
    pub(crate) fn options(&self) -> Options {
        Options {
            data: self.path().join("data"),
            port: 0,
            agents: self.agents(),
            scenarios: Some(self.scenarios()),
            sweep_every: Duration::from_millis(200),
            sandboxd: Some(sandboxd()),
            allow_webhooks: vec![WEBHOOKS.to_owned()],
            push_keys: Some(Secret::new(PUSH_KEYS)),
            keys: Some(Keys { runtime: Secret::new(RUNTIME_KEY), scope: Secret::new(SCOPE_KEY) }),
            ..Options::default()
        }
    }

    /// The processes that live in or around the sandboxes of this folder: each has the lock of its
    /// instance as its standard input, the workspace among its mounts, or its path in its
    /// environment.
    pub(crate) fn sandboxed(&self) -> Vec<u32> {
        let path = self.path().to_str().unwrap();
        let ours = |process: &PathBuf| {
            let says = |file: &str| {
                let text = fs::read(process.join(file)).unwrap_or_default();
                String::from_utf8_lossy(&text).contains(path)
            };
            let input = fs::read_link(process.join("fd/0"));
            input.is_ok_and(|file| file.starts_with(path)) || says("mountinfo") || says("environ")
        };
        processes().filter(ours).map(|process| number(&process)).collect()
    }
}

/// The processes whose command line holds `mark`.
pub(crate) fn commands(mark: &str) -> Vec<u32> {
    let line = |process: &PathBuf| fs::read(process.join("cmdline")).unwrap_or_default();
    let marked = |process: &PathBuf| String::from_utf8_lossy(&line(process)).contains(mark);
    processes().filter(marked).map(|process| number(&process)).collect()
}

/// The folders of all processes that this one may see.
fn processes() -> impl Iterator<Item = PathBuf> {
    let folders = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    folders.filter(|folder| folder.file_name().is_some_and(is_number))
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

fn number(process: &Path) -> u32 {
    process.file_name().unwrap().to_str().unwrap().parse().unwrap()
}
