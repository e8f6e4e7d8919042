//! Starting a server, and looking at the machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sandbox_protocol::bootstrap::{Announcement, RunPayload};
use sandbox_protocol::client::{Client, Error, Hooks, Transport};
use sandbox_protocol::exec::{ExecStatus, StartExec};
use sandbox_protocol::{ErrorCode, Secret, runtime_token};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_cog-sandboxd");
pub(crate) const GENERATION: i64 = 5;

/// A server with a workspace of its own. Killed when it is dropped.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) at: Announcement,
    pub(crate) instance: Uuid,
    pub(crate) token: Secret,
    pub(crate) transport: Transport,
    pub(crate) folder: TempDir,
    /// The user that commands run as, where it is not ours.
    pub(crate) uid: Option<u32>,
}

pub(crate) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// Waits for a fact.
pub(crate) async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while !fact() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

/// The processes whose command line holds a text that no other test uses.
pub(crate) fn running(marker: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(marker)).count()
}

/// A part of a command line that no other test uses: `sleep` takes it as a fraction of a second.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("0{}{:05}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A command whose server is not started yet, and where it says that it listens.
pub(crate) fn prepare(folder: &Path, settings: &[(&str, &str)]) -> (Command, PathBuf, Option<u32>) {
    static NEXT_UID: AtomicU32 = AtomicU32::new(0);
    let ready = folder.join("ready.json");
    let mut command = Command::new(BIN);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("COG_BIND", "127.0.0.1")
        .env("PORT", "0")
        .env("COG_HOOK_PORT", "0")
        .env("COG_READY_FILE", &ready)
        .env("COGNITION_WORKSPACE_ROOT", folder.join("workspace"))
        .env("AWS_SECRET_ACCESS_KEY", "canary-secret")
        .env("COG_PARENT_DEATH", std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("log")).unwrap());
    let root = std::fs::metadata("/proc/self").is_ok_and(|us| {
        use std::os::unix::fs::MetadataExt as _;
        us.uid() == 0
    });
    // A user that nobody else is, so that its process limit is the test's own.
    let uid = root.then(|| 61_000 + NEXT_UID.fetch_add(1, Ordering::Relaxed));
    if let Some(uid) = uid {
        command.env("COG_WORKLOAD_UID", uid.to_string());
    }
    command.envs(settings.iter().copied());
    (command, ready, uid)
}

/// Opens a folder that others may pass through, as the workload's user must.
pub(crate) fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    folder
}

pub(crate) async fn announced(ready: &Path) -> Announcement {
    until("the server listens", || ready.exists()).await;
    serde_json::from_slice(&std::fs::read(ready).unwrap()).unwrap()
}

impl Server {
    /// A server that belongs to nobody yet.
    pub(crate) async fn launch(settings: &[(&str, &str)]) -> Self {
        Self::launch_with(settings, Stdio::null()).await
    }

    pub(crate) async fn launch_with(settings: &[(&str, &str)], stdin: Stdio) -> Self {
        let folder = folder();
        let (mut command, ready, uid) = prepare(folder.path(), settings);
        let process = command.stdin(stdin).spawn().unwrap();
        // Which holds the standard input, too.
        drop(command);
        let at = announced(&ready).await;
        let instance = id(77);
        let token = runtime_token(b"test key", instance);
        let transport = Transport::new().unwrap();
        Self { process, at, instance, token, transport, folder, uid }
    }

    /// A server that is ours, with generation 5.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        let server = Self::launch(settings).await;
        server.hooks().run(&server.payload()).await.unwrap();
        server
    }

    pub(crate) fn payload(&self) -> RunPayload {
        RunPayload::new(self.instance, GENERATION, self.token.clone())
    }

    pub(crate) fn control_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.at.port)
    }

    pub(crate) fn hook_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.at.hook_port)
    }

    pub(crate) fn hooks(&self) -> Hooks {
        Hooks::new(&self.transport, &self.hook_url())
    }

    /// A client without a generation.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(&self.transport, &self.control_url(), self.token.clone())
    }

    pub(crate) fn client(&self) -> Client {
        self.stranger().with_generation(GENERATION)
    }

    /// A request with the bearer and the generation, for what the client would not send.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.request_of(GENERATION, method, path)
    }

    /// The same with a generation of its own.
    pub(crate) fn request_of(
        &self,
        generation: i64,
        method: &str,
        path: &str,
    ) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.control_url());
        http()
            .request(method.parse().unwrap(), url)
            .bearer_auth(self.token.expose())
            .header("x-cog-generation", generation)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, number: u128, exec: &StartExec) -> ExecStatus {
        let client = self.client();
        client.exec_start(id(number), exec).await.unwrap();
        finished(&client, number).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) async fn finished(client: &Client, number: u128) -> ExecStatus {
    loop {
        let status = client.exec_wait(id(number), Duration::from_secs(20)).await.unwrap();
        if status.is_over() {
            return status;
        }
    }
}

/// A client that does not read the environment.
pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) fn stdout(status: &ExecStatus) -> &str {
    &status.stdout.as_ref().unwrap().text
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    let error = result.unwrap_err();
    error.code().unwrap_or_else(|| panic!("no answer of the server's: {error:?}"))
}

/// What a raw request was answered with: status and code.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> (u16, String) {
    let reply = request.send().await.unwrap();
    let status = reply.status().as_u16();
    let body: serde_json::Value =
        serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap_or_default();
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}
