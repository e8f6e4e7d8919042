//! `cognition-local serve` as a process of its own.

use std::fs::File;
use std::process::Stdio;

use cloud::s3::S3Settings;
use testkit::program;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::PATIENCE;
use super::home::{Home, PUSH_KEYS, RUNTIME_KEY, SCOPE_KEY, WEBHOOKS};

/// What every life of the system has in common.
#[derive(Debug)]
pub(crate) struct Deployment<'a> {
    pub(crate) home: &'a Home,
    pub(crate) database: &'a str,
    pub(crate) s3: S3Settings,
    /// How much it logs, in the form of `COGNITION_LOG`.
    pub(crate) log: &'a str,
}

/// A running system. It is killed with this value.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) url: String,
    /// What it has said at its start.
    pub(crate) said: String,
    process: Child,
}

impl Deployment<'_> {
    /// Starts the system, and returns when it says where it serves.
    pub(crate) async fn begin(&self) -> Life {
        self.begin_with(&[]).await
    }

    /// The same, with more settings.
    pub(crate) async fn begin_with(&self, settings: &[(&str, &str)]) -> Life {
        let credentials = self.s3.credentials.as_ref().unwrap();
        let log = File::options().create(true).append(true).open(self.home.log()).unwrap();
        let mut process = Command::new(program("cognition-local", "cognition-local"))
            .args(["serve", "--port", "0", "--database-url", self.database])
            .arg("--data")
            .arg(self.home.path().join("data"))
            .arg("--agents")
            .arg(self.home.agents())
            .arg("--scenarios")
            .arg(self.home.scenarios())
            .env("COGNITION_LOG", self.log)
            .env("COGNITION_S3_BUCKET", &self.s3.bucket)
            .env("COGNITION_S3_ENDPOINT_URL", self.s3.endpoint_url.as_ref().unwrap())
            .env("COGNITION_S3_REGION", self.s3.region.as_ref().unwrap())
            .env("COGNITION_S3_FORCE_PATH_STYLE", "true")
            .env("AWS_ACCESS_KEY_ID", &credentials.access_key)
            .env("AWS_SECRET_ACCESS_KEY", credentials.secret_key.expose())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("COGNITION_SANDBOX_RUNTIME_KEY", RUNTIME_KEY)
            .env("COGNITION_S3_SCOPE_HMAC_KEY", SCOPE_KEY)
            .env("COGNITION_PUSH_KEYS", PUSH_KEYS)
            .env("COGNITION_PUSH_ALLOW", WEBHOOKS)
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut said = String::new();
        loop {
            let line = timeout(PATIENCE, lines.next_line()).await.expect("it starts").unwrap();
            let line = line.expect("it says where it serves");
            said.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("A2A ") {
                let url = url.trim().to_owned();
                return Life { url, said, process };
            }
        }
    }
}

impl Life {
    /// `None` once it has ended.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// With SIGKILL.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }
}
