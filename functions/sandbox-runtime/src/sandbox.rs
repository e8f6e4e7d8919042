//! Everything that the routes share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sandbox_protocol::health::{Capabilities, Health, HealthStatus, WorkspaceHealth};

use crate::clock;
use crate::config::Settings;
use crate::execs::{Journal, Launch, Stopping};
use crate::identity::Identity;
use crate::process::{self, Children, Workload};
use crate::refusal::Refusal;
use crate::tree;
use crate::workers::Workers;
use crate::workspace::{Workspace, draft};

/// How long a probe of the workspace is believed.
const PROBE: Duration = Duration::from_secs(1);
/// From the request to stop to the end by force, when the instance ends or gets another owner.
const GRACE: Duration = Duration::from_millis(500);
/// How long the end of everything is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) settings: Settings,
    pub(crate) identity: Identity,
    pub(crate) journal: Journal,
    pub(crate) workspace: Workspace,
    pub(crate) workers: Workers,
    children: Arc<Children>,
    workload: Option<Workload>,
    probed: Mutex<Option<(Instant, WorkspaceHealth)>>,
}

impl Sandbox {
    pub(crate) fn new(
        settings: Settings,
        workers: Workers,
        children: Arc<Children>,
        workload: Option<Workload>,
    ) -> Self {
        Self {
            identity: Identity::default(),
            journal: Journal::default(),
            workspace: Workspace::new(settings.root.clone()),
            workers,
            children,
            workload,
            probed: Mutex::default(),
            settings,
        }
    }

    /// What a command's start needs.
    pub(crate) fn launch(&self, max_stream: usize) -> Launch {
        Launch {
            children: Arc::clone(&self.children),
            workspace: self.workspace.clone(),
            workers: self.workers.clone(),
            workload: self.workload,
            max_stream,
        }
    }

    /// Whether a file can be written, read and removed.
    pub(crate) async fn probe(&self) -> Result<(), Refusal> {
        let workspace = self.workspace.clone();
        self.workers.run(move || draft::probe(&workspace)).await
    }

    pub(crate) async fn health(&self) -> Health {
        let workspace = self.workspace_health().await;
        let instance = self.identity.instance().ok();
        let owner = instance.as_ref().map(|instance| instance.fence.describe());
        let status = match self.identity.status() {
            HealthStatus::Ok if !workspace.writable => HealthStatus::Unmounted,
            status => status,
        };
        Health {
            status,
            workspace_root: self.settings.root.to_string_lossy().into_owned(),
            time: clock::now_ms(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance_id: instance.map(|instance| instance.id),
            generation: owner.map(|(generation, _)| generation),
            lease_until: owner.and_then(|(_, until)| until),
            workspace,
            caps: Capabilities { separate_user: self.workload.is_some(), init: process::is_init() },
            active_execs: self.journal.running(),
        }
    }

    async fn workspace_health(&self) -> WorkspaceHealth {
        let lock = || self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, health)) = &*lock()
            && at.elapsed() < PROBE
        {
            return health.clone();
        }
        let began = Instant::now();
        let writable = self.probe().await.is_ok();
        let health = WorkspaceHealth {
            mode: "ephemeral".to_owned(),
            mounted: true,
            writable,
            probe_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        *lock() = Some((Instant::now(), health.clone()));
        health
    }

    /// Begins to end the commands that run.
    pub(crate) fn stop_commands(&self) -> Stopping {
        self.journal.stop_running(GRACE)
    }

    /// Takes nothing any more and ends all commands. May be repeated.
    pub(crate) async fn terminate(&self) {
        self.identity.end();
        self.journal.kill_all(GRACE, PATIENCE).await;
        // On a machine of its own, the workload's user has no business left.
        if let Some(workload) = self.workload.filter(|_| process::is_init()) {
            tree::kill_user(workload.uid);
        }
    }
}
