//! A controller with a database, a data folder and conversations.

use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::Arc;
use std::time::Duration;

use domain::{AgentName, Ids, InstanceId, Scope};
use lambda_kit::env::Secret;
use lambda_kit::sqs::Failure;
use messages::Message as _;
use messages::sandboxes::{Command, SandboxCommand};
use sandbox_protocol::client::{Client, Error, Started, Transport};
use sandbox_protocol::exec::{ExecState, StartExec};
use sandbox_protocol::runtime_token;
use store::admission::{Admission, Admitted, admit};
use store::conversation::Envelope;
use store::runs::{self, Claim, Ending};
use store::sandboxes::{self, Acquired, Held, HeldSandbox, Instance, InstanceState};
use store::{Lease, Pool};
use tempfile::TempDir;
use testkit::{MemoryQueues, eventually, sandboxd};

use crate::process::{Lock, Process, Settings};
use crate::{Backend, SandboxController};

const KEY: &str = "a key of the tests, long enough 1";

pub(super) struct World {
    pub(super) controller: SandboxController,
    pub(super) queues: Arc<MemoryQueues>,
    pub(super) pool: Pool,
    pub(super) ids: Ids,
    scope: Scope,
    data: Arc<TempDir>,
}

impl World {
    /// With bubblewrap where it works, as in earnest.
    pub(super) async fn new(pool: Pool) -> Self {
        Self::with_server(pool, sandboxd()).await
    }

    pub(super) async fn with_server(pool: Pool, server: PathBuf) -> Self {
        let data = Arc::new(TempDir::with_prefix("cognition-sandboxes-").unwrap());
        Self::on(pool, server, data, true).await
    }

    pub(super) async fn without_bubblewrap(pool: Pool, server: PathBuf) -> Self {
        let data = Arc::new(TempDir::with_prefix("cognition-sandboxes-").unwrap());
        Self::on(pool, server, data, false).await
    }

    /// Another process on the same database and data folder.
    pub(super) async fn beside(&self) -> Self {
        Self::on(self.pool.clone(), sandboxd(), self.data.clone(), true).await
    }

    /// The same with nothing of its memory: as after a crash of the whole process.
    pub(super) async fn restarted(self) -> Self {
        let Self { pool, data, controller, .. } = self;
        drop(controller);
        Self::on(pool, sandboxd(), data, true).await
    }

    async fn on(pool: Pool, server: PathBuf, data: Arc<TempDir>, bubblewrap: bool) -> Self {
        let (ids, queues) = (Ids::random(), Arc::new(MemoryQueues::new()));
        let settings = Settings {
            server,
            data: data.path().to_owned(),
            runtime_key: Secret::new(KEY),
            bubblewrap,
            start_timeout: Duration::from_secs(60),
        };
        let process = Process::start(settings, &ids).await.unwrap();
        let controller = SandboxController {
            pool: pool.clone(),
            queues: queues.clone(),
            ids: Ids::random(),
            backend: Backend::Process(process),
            sandboxes: Transport::new().unwrap(),
            runtime_key: Secret::new(KEY),
            patience: Duration::from_secs(60),
        };
        let scope = Scope::new([("user".to_owned(), "ada".to_owned())]).unwrap();
        Self { controller, queues, pool, ids, scope, data }
    }

    /// Admits and claims the next run of the conversation.
    pub(super) async fn run(&self) -> Lease {
        self.run_in("context").await
    }

    pub(super) async fn run_in(&self, context: &str) -> Lease {
        let message_id = self.ids.uuid().to_string();
        let request = Admission {
            scope: &self.scope,
            agent: &AgentName::try_from("analyst".to_owned()).unwrap().into(),
            message_id: &message_id,
            context_id: Some(context),
            task: None,
            envelope: Envelope { v: 1, ..Envelope::default() },
            parts: &[],
            fingerprint: "f",
            idempotent: true,
            manifest: "{}",
            manifest_digest: "d",
            timeout: Duration::from_hours(1),
            webhook: None,
        };
        let Admitted::New(taken) = admit(&self.pool, &self.ids, &request).await.unwrap() else {
            panic!("the context is busy")
        };
        store::outbox::sent(&self.pool, taken.outgoing.id).await.unwrap();
        self.claim(taken.run).await
    }

    async fn claim(&self, run: domain::RunId) -> Lease {
        match runs::claim(&self.pool, &self.scope.digest(), run, "worker").await.unwrap() {
            Claim::Yes(claimed) => claimed.lease,
            other => panic!("{other:?}"),
        }
    }

    /// Another worker, after the first one's lease has expired.
    pub(super) async fn take_over(&self, lease: &Lease) -> Lease {
        self.sql("update runs set lease_until = seconds_from_now(-1)").await;
        self.claim(lease.run()).await
    }

    pub(super) async fn end(&self, lease: Lease) {
        runs::finish(&self.pool, lease, &[], &Ending::Completed).await.unwrap();
    }

    /// What the orchestrator does, and the queue.
    pub(super) async fn ask(&self, lease: &Lease) {
        let outgoing = sandboxes::ask(&self.pool, &self.ids, lease).await.unwrap();
        self.handle(&outgoing.body).await.unwrap();
    }

    pub(super) async fn handle(&self, body: &str) -> Result<(), Failure> {
        self.controller.handle_message(body).await
    }

    /// Reserves a sandbox and goes no further.
    pub(super) async fn reserve(&self, lease: &Lease) -> Instance {
        let wish = self.controller.backend.wish();
        let (pool, scope) = (&self.pool, lease.scope());
        match sandboxes::acquire(pool, &self.ids, scope, lease.run(), &wish).await.unwrap() {
            Acquired::Launch(instance) => instance,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn look(&self, lease: &Lease) -> Held {
        sandboxes::held(&self.pool, lease).await.unwrap()
    }

    pub(super) async fn held(&self, lease: &Lease) -> HeldSandbox {
        match self.look(lease).await {
            Held::Ready(held) => held,
            other => panic!("{other:?}"),
        }
    }

    /// The client that a worker of the run makes.
    pub(super) fn client(&self, held: &HeldSandbox, lease: &Lease) -> Client {
        let token = runtime_token(KEY.as_bytes(), held.instance.as_uuid());
        Client::new(&self.controller.sandboxes, &held.endpoint, token)
            .with_generation(held.generation)
            .with_run_fence(lease.fence())
    }

    /// The folder behind the sandbox's workspace.
    pub(super) fn workspace(&self, held: &HeldSandbox) -> PathBuf {
        self.data().join("workspaces").join(held.workspace.as_str())
    }

    pub(super) fn data(&self) -> &Path {
        self.data.path()
    }

    pub(super) fn process(&self) -> &Process {
        let Backend::Process(process) = &self.controller.backend;
        process
    }

    pub(super) fn running(&self) -> Vec<(InstanceId, u32)> {
        self.process().running()
    }

    /// Kills all servers, as the machine might, and waits until they are dead.
    pub(super) async fn kill_servers(&self) {
        for (_, pid) in self.running() {
            assert!(
                Program::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success()
            );
        }
        let instances = self.data().join("instances");
        let dead = async || {
            let mut all = std::fs::read_dir(&instances).unwrap();
            let free = all.all(|i| Lock::is_free(&i.unwrap().path().join("lock")) != Some(false));
            free && self.running().is_empty()
        };
        eventually(Duration::from_secs(30), dead).await;
    }

    pub(super) async fn sql(&self, sql: &str) {
        self.pool.execute(sql, &[]).await.unwrap();
    }

    async fn count(&self, sql: &str) -> i64 {
        let row = self.pool.query_opt(sql, &[]).await.unwrap().unwrap();
        row.get("n").unwrap()
    }

    pub(super) async fn outbox(&self) -> i64 {
        self.count("select count(*) as n from outbox").await
    }

    pub(super) async fn live_instances(&self) -> i64 {
        self.count(
            "select count(*) as n from sandbox_instances
              where state not in ('terminated', 'failed_launch')",
        )
        .await
    }

    /// All allocations, oldest first.
    pub(super) async fn instances(&self) -> Vec<(InstanceId, InstanceState)> {
        let sql = "select instance_id, state from sandbox_instances order by created_at";
        let rows = self.pool.query(sql, &[]).await.unwrap();
        let read = |row: &store::Row| {
            let state: String = row.get("state").unwrap();
            (row.get("instance_id").unwrap(), state.parse().unwrap())
        };
        rows.iter().map(read).collect()
    }

    /// Whether each allocation began after the end of the one before.
    pub(super) async fn instances_in_time(&self) -> &'static str {
        let overlaps = self
            .count(
                "select count(*) as n from sandbox_instances a
                   join sandbox_instances b on b.workspace_key = a.workspace_key
                    and b.created_at > a.created_at
                  where a.terminated_at is null or b.launch_requested_at < a.terminated_at",
            )
            .await;
        if overlaps == 0 { "ended before the next was launched" } else { "overlapped" }
    }

    pub(super) async fn state(&self, instance: InstanceId) -> InstanceState {
        let all = self.instances().await;
        all.into_iter().find(|found| found.0 == instance).unwrap().1
    }
}

pub(super) fn body(lease: &Lease, command: Command) -> String {
    SandboxCommand::new(lease.scope().clone(), command).body()
}

pub(super) fn acquire(lease: &Lease) -> String {
    body(lease, Command::Acquire { run: lease.run() })
}

/// Starts a command and does not wait for it.
pub(super) async fn start(client: &Client, line: &str) -> Result<Started, Error> {
    client.exec_start(Ids::random().uuid(), &StartExec::shell(line)).await
}

/// Runs a command to its end and returns what it printed.
pub(super) async fn shell(client: &Client, line: &str) -> String {
    let id = Ids::random().uuid();
    client.exec_start(id, &StartExec::shell(line)).await.unwrap();
    let status = client.exec_wait(id, Duration::from_secs(20)).await.unwrap();
    assert_eq!((status.state, status.exit_code), (ExecState::Exited, Some(0)), "{status:?}");
    status.stdout.unwrap().text
}
