//! Sandboxes as processes of this machine: the real server, started on a folder per workspace.
//!
//! ```text
//! <data>/workspaces/<workspace key>/   the files; they stay when the process ends
//! <data>/instances/<instance>/         lock · log · exchange/ready.json · tmp/
//! <data>/runners/<runner>              lock of a running controller
//! ```
//!
//! **A server is ended only by the controller that started it, and counts as gone only when the
//! kernel has given its lock free.** A server and those who look after its commands hold the lock of
//! the instance for as long as they live, a controller that of its runner: neither a dead controller
//! nor a recycled process number or port is ever mistaken for a living one.
//!
//! Servers listen on the loopback device, on ports that the kernel chooses, with an environment of
//! our making, in a process group of their own, and end when their controller does.

mod bubblewrap;
mod children;
mod locks;
mod place;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use domain::{Ids, InstanceId};
use lambda_kit::env::Secret;
use sandbox_protocol::bootstrap::{Announcement, RunPayload};
use sandbox_protocol::client::{self, Client, Hooks, Transport};
use sandbox_protocol::runtime_token;
use sha2::{Digest as _, Sha256};
use store::sandboxes::Instance;
use tokio::time::{Instant, sleep, timeout};

use crate::backend::{End, Fate, LaunchError};
use bubblewrap::Bubblewrap;
use children::{Children, Spawned};
pub(crate) use locks::Lock;
use place::Place;

/// Between two looks at what a process has done.
const LOOK: Duration = Duration::from_millis(10);
/// How long a server may take to end its commands before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// How long the kernel may take to end a killed process.
const KILLED: Duration = Duration::from_secs(5);

/// What the backend needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's binary, `cog-sandboxd`.
    pub server: PathBuf,
    /// The folder that holds everything.
    pub data: PathBuf,
    /// Of it the bearers of the servers are derived.
    pub runtime_key: Secret,
    /// Whether commands are put behind bubblewrap where that works.
    pub bubblewrap: bool,
    /// How long a server may take until it listens and knows whose it is.
    pub start_timeout: Duration,
}

/// Why the backend cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "there is no sandbox server at {0}: build it with `cargo build -p sandbox-runtime`, or \
         name its binary with COGNITION_SANDBOX_SERVER"
    )]
    NoServer(String),
    #[error("make the data folder of the sandboxes")]
    Folder(#[source] io::Error),
    #[error("start the thread that starts sandboxes")]
    Thread(#[source] io::Error),
    #[error("make the client of the sandboxes")]
    Client(#[source] client::Error),
}

/// The backend. When it is dropped, its servers are killed.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    runner: String,
    config_digest: String,
    transport: Transport,
    children: Children,
    bubblewrap: Option<Bubblewrap>,
    /// Tells other controllers that this one lives.
    _lock: Lock,
}

impl Process {
    pub const NAME: &str = "process";

    /// Prepares the data folder, and finds out whether commands can be kept apart from this
    /// machine.
    pub async fn start(settings: Settings, ids: &Ids) -> Result<Self, StartError> {
        let settings = absolute(settings).map_err(StartError::Folder)?;
        if !settings.server.is_file() {
            return Err(StartError::NoServer(settings.server.display().to_string()));
        }
        for folder in ["workspaces", "instances", "runners"] {
            // What is in there is nobody else's business.
            let mut private = DirBuilder::new();
            let made = private.recursive(true).mode(0o700).create(settings.data.join(folder));
            made.map_err(StartError::Folder)?;
        }
        let runner = ids.uuid().to_string();
        let lock =
            Lock::take(&settings.data.join("runners").join(&runner)).map_err(StartError::Folder)?;
        let bubblewrap =
            if settings.bubblewrap { Bubblewrap::that_works(&settings.data).await } else { None };
        tell(bubblewrap.is_some());
        let isolation = if bubblewrap.is_some() { "bubblewrap" } else { "none" };
        Ok(Self {
            config_digest: hex::encode(Sha256::digest(format!("process1 {isolation}"))),
            transport: Transport::new().map_err(StartError::Client)?,
            children: Children::new().map_err(StartError::Thread)?,
            runner,
            bubblewrap,
            settings,
            _lock: lock,
        })
    }

    /// Names this process, and no other one that was or will be.
    pub fn runner(&self) -> &str {
        &self.runner
    }

    pub fn config_digest(&self) -> &str {
        &self.config_digest
    }

    /// Whether commands are kept apart from this machine.
    pub fn is_isolated(&self) -> bool {
        self.bubblewrap.is_some()
    }

    /// The servers that run now, with their process numbers.
    pub fn running(&self) -> Vec<(InstanceId, u32)> {
        self.children.running()
    }

    pub(crate) async fn launch(&self, instance: &Instance) -> Result<String, LaunchError> {
        if instance.runner.as_deref() != Some(self.runner()) {
            return Err(LaunchError::NotOurs);
        }
        let until = Instant::now() + self.settings.start_timeout;
        let place = self.place(instance);
        match self.children.spawn(instance.id, || self.command(instance, &place))? {
            Spawned::New => tracing::info!(instance.id = %instance.id, "started a sandbox"),
            Spawned::Already => {}
        }
        let announced = self.announced(instance.id, &place, until).await?;
        let hooks = Hooks::new(&self.transport, &local(announced.hook_port));
        let token = runtime_token(self.settings.runtime_key.expose().as_bytes(), uuid(instance));
        let payload = RunPayload::new(uuid(instance), instance.generation_at_launch, token);
        let left = until.saturating_duration_since(Instant::now());
        match timeout(left, hooks.run(&payload)).await {
            Ok(Ok(())) => Ok(local(announced.port)),
            Ok(Err(error)) => Err(LaunchError::Bootstrap(error)),
            Err(_) => Err(LaunchError::Silent(self.settings.start_timeout)),
        }
    }

    /// Waits until the server has said where it listens.
    async fn announced(
        &self,
        instance: InstanceId,
        place: &Place,
        until: Instant,
    ) -> Result<Announcement, LaunchError> {
        loop {
            if let Some(announcement) = self.children.announced(instance) {
                return Ok(announcement);
            }
            if let Some(announcement) = read(&place.ready_file()) {
                self.children.announce(instance, announcement);
                continue;
            }
            if !self.children.is_running(instance) {
                return Err(LaunchError::Exited(place.last_words()));
            }
            if Instant::now() >= until {
                return Err(LaunchError::Silent(self.settings.start_timeout));
            }
            sleep(LOOK).await;
        }
    }

    pub(crate) async fn fate(&self, instance: &Instance) -> Fate {
        if instance.runner.as_deref() == Some(self.runner()) {
            return if self.runs(instance.id, &self.place(instance)) {
                Fate::Alive
            } else {
                Fate::Gone
            };
        }
        let server = Lock::is_free(&self.place(instance).lock_file());
        let runner = self.runner_file(instance).and_then(|file| Lock::is_free(&file));
        match (runner, server) {
            (_, Some(false)) => Fate::Alive,
            // The runner is gone: its lock is free, or removed after it was. Nor does the server run.
            (Some(true), None) | (Some(true) | None, Some(true)) => Fate::Gone,
            // Nothing is known here: another data folder's, perhaps another machine's. Silence for
            // long enough is all that can be had.
            (None, None) if instance.lease_expired && !self.answers(instance).await => Fate::Gone,
            // A runner that lives may be about to start it.
            (Some(false), _) | (None, None) => Fate::Unsure,
        }
    }

    /// Whether the instance's own server answers at its endpoint.
    async fn answers(&self, instance: &Instance) -> bool {
        let Some(endpoint) = &instance.endpoint else { return false };
        let token = runtime_token(self.settings.runtime_key.expose().as_bytes(), uuid(instance));
        match Client::new(&self.transport, endpoint, token).health().await {
            Ok(health) => health.instance_id == Some(uuid(instance)),
            Err(error) => !matches!(error, client::Error::Unreachable(_)),
        }
    }

    pub(crate) async fn terminate(&self, instance: &Instance) -> End {
        if instance.runner.as_deref() != Some(self.runner()) {
            return match self.fate(instance).await {
                Fate::Gone => {
                    self.clear(instance);
                    End::Confirmed
                }
                Fate::Alive | Fate::Unsure => End::Pending,
            };
        }
        // From here on it cannot be started any more.
        self.children.condemn(instance.id);
        let place = self.place(instance);
        self.children.let_go(instance.id);
        let patience = Instant::now() + GRACE;
        while self.runs(instance.id, &place) && Instant::now() < patience {
            sleep(LOOK).await;
        }
        self.children.kill(instance.id);
        let until = Instant::now() + KILLED;
        while self.runs(instance.id, &place) {
            if Instant::now() >= until {
                return End::Pending;
            }
            sleep(LOOK).await;
        }
        self.children.forget(instance.id);
        self.clear(instance);
        End::Confirmed
    }

    /// Removes the folder of an instance that has ended. The workspace stays.
    fn clear(&self, instance: &Instance) {
        match std::fs::remove_dir_all(self.place(instance).folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(instance.id = %instance.id, "a sandbox's folder stays: {error}");
            }
            _ => {}
        }
    }

    /// Removes the lock files of runners that are gone.
    pub(crate) fn tidy(&self) {
        let runners = std::fs::read_dir(self.settings.data.join("runners"));
        for runner in runners.into_iter().flatten().flatten() {
            if Lock::is_free(&runner.path()) == Some(true) {
                // What cannot be removed is in nobody's way.
                let _ = std::fs::remove_file(runner.path());
            }
        }
    }

    /// Whether the instance's server runs. Behind bubblewrap it is not the process that we have
    /// started, and may outlive that by a moment: its lock tells.
    fn runs(&self, instance: InstanceId, place: &Place) -> bool {
        self.children.is_running(instance) || Lock::is_free(&place.lock_file()) == Some(false)
    }

    fn place(&self, instance: &Instance) -> Place {
        let data = &self.settings.data;
        Place {
            workspace: data.join("workspaces").join(instance.workspace.as_str()),
            folder: data.join("instances").join(uuid(instance).to_string()),
        }
    }

    /// The lock file of the instance's runner; `None` when its name is not one that we give.
    fn runner_file(&self, instance: &Instance) -> Option<PathBuf> {
        let runner = uuid::Uuid::try_parse(instance.runner.as_deref()?).ok()?;
        Some(self.settings.data.join("runners").join(runner.to_string()))
    }

    /// The command that starts the server. Its standard input is the instance's lock, which so
    /// stays taken for as long as the server lives. Its standard output is a pipe that we hold: when
    /// this process ends, however it ends, the server knows, also one that is just being started.
    fn command(&self, instance: &Instance, place: &Place) -> Result<Command, LaunchError> {
        place.make().map_err(LaunchError::Folder)?;
        let lock = Lock::take(&place.lock_file()).map_err(LaunchError::Folder)?;
        let log = std::fs::File::create(place.log_file()).map_err(LaunchError::Folder)?;
        let owner = place.folder.metadata().map_err(LaunchError::Folder)?;
        let mut command = if let Some(bubblewrap) = &self.bubblewrap {
            bubblewrap.command(&self.settings.server, place)
        } else {
            let mut command = Command::new(&self.settings.server);
            command
                .env_clear()
                .env("COG_READY_FILE", place.ready_file())
                .env("COG_PARENT_DEATH", std::process::id().to_string())
                .env("COGNITION_WORKSPACE_ROOT", &place.workspace)
                .env("COG_WORKLOAD_TMPDIR", place.tmp());
            command
        };
        command
            .env("COG_BIND", "127.0.0.1")
            .env("COG_FOLLOW_READER", "1")
            .env("COG_SHARED_HOST", "1")
            .env("PORT", "0")
            .env("COG_HOOK_PORT", "0")
            // Commands run as the user of this process, also when that is root.
            .env("COG_WORKLOAD_UID", owner.uid().to_string())
            .env("COG_WORKLOAD_GID", owner.gid().to_string())
            .current_dir(&place.folder)
            .process_group(0)
            .stdin(lock.into_stdio())
            .stdout(Stdio::piped())
            .stderr(log);
        tracing::debug!(instance.id = %instance.id, "starting a sandbox");
        Ok(command)
    }
}

fn absolute(settings: Settings) -> io::Result<Settings> {
    Ok(Settings {
        server: std::path::absolute(&settings.server)?,
        data: std::path::absolute(&settings.data)?,
        ..settings
    })
}

/// One line, loud where it must be.
fn tell(isolated: bool) {
    if isolated {
        tracing::info!(
            "sandboxes are processes; bubblewrap keeps their files and processes apart, and the \
             network is this machine's"
        );
    } else {
        tracing::warn!(
            "sandboxes are processes, and their commands run AS THE CURRENT USER on this machine: \
             bubblewrap is switched off, missing, or does not work here"
        );
    }
}

fn read(ready_file: &Path) -> Option<Announcement> {
    serde_json::from_slice(&std::fs::read(ready_file).ok()?).ok()
}

fn local(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn uuid(instance: &Instance) -> uuid::Uuid {
    instance.id.as_uuid()
}
