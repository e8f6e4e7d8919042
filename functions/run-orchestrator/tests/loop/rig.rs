//! The rest of the system, as far as a run needs it: a controller that starts real sandbox servers,
//! a publisher that reads from them, and queues that deliver.
//!
//! The other functions have tests of their own; these here only play their part, through the same
//! functions of the store.

use std::cell::Cell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::queues::Queues;
use domain::{Ids, InstanceId, PublicationFailure, RunId, ScopeDigest};
use messages::publications::PublicationRequested;
use messages::sandboxes::{Command, SandboxCommand};
use messages::{Message as _, Queue};
use sandbox_protocol::bootstrap::{Announcement, RunPayload};
use sandbox_protocol::client::{Client, Error, Hooks, Transport};
use sandbox_protocol::files::MkdirRequest;
use sandbox_protocol::lease::LeaseRequest;
use sandbox_protocol::{RelativePath, Secret, runtime_token};
use store::publications::{self, Loaded, Verified};
use store::sandboxes::{self, Acquired, Instance, Ready, Wish};
use store::{Outgoing, Pool, outbox};
use tempfile::TempDir;
use testkit::queues::Sent;
use testkit::{eventually, sandboxd};

use crate::common::{KEY, World};

/// Everything that a run needs beside its worker.
#[derive(Debug)]
pub(crate) struct Rig {
    folder: TempDir,
    servers: Mutex<HashMap<InstanceId, Server>>,
    transport: Transport,
    /// What becomes of every publication, where it is not what the sandbox holds.
    refuses: Option<PublicationFailure>,
    /// No sandbox starts.
    broken: bool,
    /// How long a sandbox outlives its lease.
    grace: Duration,
}

/// A sandbox server of its own process.
#[derive(Debug)]
struct Server {
    child: Child,
    ports: Announcement,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::with_prefix("cognition-loop-").unwrap(),
            servers: Mutex::default(),
            transport: Transport::new().unwrap(),
            refuses: None,
            broken: false,
            grace: Duration::from_secs(30),
        }
    }

    /// Sandboxes that stop taking changes this soon after their lease.
    pub(crate) fn with_grace(grace: Duration) -> Self {
        Self { grace, ..Self::new() }
    }

    pub(crate) fn broken() -> Self {
        Self { broken: true, ..Self::new() }
    }

    pub(crate) fn refusing(why: PublicationFailure) -> Self {
        Self { refuses: Some(why), ..Self::new() }
    }

    /// The folder that a workspace's commands see as their own.
    fn workspace(&self, instance: &Instance) -> PathBuf {
        self.folder.path().join(instance.workspace.as_str())
    }

    async fn deliver(&self, world: &World, message: &Sent) {
        match message.queue {
            // A hint that `settle` does without.
            Queue::Runs | Queue::Notifications => {}
            Queue::Sandboxes => self.control(world, &message.body).await,
            Queue::Publications => self.publish(world, &message.body).await,
        }
    }

    /// Delivers the run's message, and serves what its worker asks for.
    pub(crate) async fn run(&self, world: &World) {
        self.beside(world, world.deliver()).await.unwrap();
    }

    /// Serves the sandboxes and publications that are asked for while `work` goes on. What is in
    /// hand when it ends is finished.
    pub(crate) async fn beside<T>(&self, world: &World, work: impl Future<Output = T>) -> T {
        let over = Cell::new(false);
        let work = async {
            let output = work.await;
            over.set(true);
            output
        };
        let serve = async {
            while !over.get() {
                self.serve_once(world).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::join!(work, serve).0
    }

    /// Serves what was asked for so far, and leaves the run where it is.
    pub(crate) async fn serve_once(&self, world: &World) {
        for message in world.queues.take() {
            self.deliver(world, &message).await;
        }
    }

    /// Brings a run to its end, as the sweeper would: what was left unsent is sent, and a run that
    /// nobody is at is looked at again.
    pub(crate) async fn settle(&self, world: &World) {
        for _ in 0..50 {
            self.run(world).await;
            self.serve_once(world).await;
            if world.state().await.is_terminal() {
                return;
            }
            let left = outbox::take_due(&world.pool, 100, Duration::ZERO, Duration::ZERO).await;
            for Outgoing { id, queue, body, delay } in left.unwrap() {
                self.deliver(world, &Sent { queue, body, delay }).await;
                outbox::sent(&world.pool, id).await.unwrap();
            }
            world.age_lease().await;
        }
        panic!("the run does not end: {:#?}", world.events().await);
    }

    async fn control(&self, world: &World, body: &str) {
        if let Some(woken) = self.answer(&world.pool, body).await {
            dispatch::send(&world.pool, &*world.queues, woken).await;
        }
    }

    /// Gives the run that asks its sandbox. The message that would wake the run is returned.
    async fn answer(&self, pool: &Pool, body: &str) -> Option<Outgoing> {
        let SandboxCommand { scope, command, .. } = SandboxCommand::parse(body).unwrap();
        let Command::Acquire { run } = command else { panic!("nobody asks for the end") };
        self.acquire(pool, &scope, run).await
    }

    async fn acquire(&self, pool: &Pool, scope: &ScopeDigest, run: RunId) -> Option<Outgoing> {
        let wish = Wish { backend: "process", config_digest: "c", runner: None };
        for _ in 0..5 {
            let found = sandboxes::acquire(pool, &Ids::random(), scope, run, &wish).await.unwrap();
            let instance = match found {
                Acquired::Launch(instance) if self.broken => {
                    sandboxes::launching(pool, &instance).await.unwrap();
                    sandboxes::failed(pool, &instance, "broken").await.unwrap();
                    continue;
                }
                Acquired::Launch(instance) => {
                    self.launch(pool, &instance).await;
                    instance
                }
                Acquired::Adopt(instance) if self.is_running(instance.id) => instance,
                Acquired::Adopt(instance) => {
                    sandboxes::lost(pool, &instance, "gone").await.unwrap();
                    continue;
                }
                Acquired::Replace(instance) => {
                    self.kill(instance.id);
                    sandboxes::released(pool, &instance).await.unwrap();
                    continue;
                }
                Acquired::Failed(woken) => return woken,
                Acquired::Busy => panic!("one run at a time"),
                Acquired::Over | Acquired::Unknown => return None,
            };
            let client = self.client(instance.id).with_generation(instance.generation);
            let lease = LeaseRequest {
                generation: instance.generation,
                lease_until: None,
                run_fence: None,
            };
            client.lease(&lease).await.unwrap();
            let root = self.workspace(&instance);
            let root = root.to_str().unwrap();
            let ready = sandboxes::ready(pool, &Ids::random(), &instance, run, root).await.unwrap();
            match ready {
                Ready::Yes(woken) => return woken,
                Ready::Moved => {}
            }
        }
        panic!("the workspace does not come to rest");
    }

    async fn launch(&self, pool: &Pool, instance: &Instance) {
        assert!(sandboxes::launching(pool, instance).await.unwrap());
        if !self.is_running(instance.id) {
            let server = self.start(&self.workspace(instance), instance.id).await;
            self.servers().insert(instance.id, server);
        }
        let endpoint = self.endpoint(instance.id);
        assert!(sandboxes::initializing(pool, instance, &endpoint).await.unwrap());
        let hook_port = self.servers()[&instance.id].ports.hook_port;
        let hooks = Hooks::new(&self.transport, &format!("http://127.0.0.1:{hook_port}"));
        let token = runtime_token(KEY.as_bytes(), instance.id.as_uuid());
        let payload = RunPayload::new(instance.id.as_uuid(), instance.generation_at_launch, token);
        hooks.run(&payload).await.unwrap();
    }

    /// Starts a server on a workspace and waits until it has said where it listens.
    async fn start(&self, workspace: &Path, instance: InstanceId) -> Server {
        std::fs::create_dir_all(workspace).unwrap();
        let owner = std::fs::metadata(workspace).unwrap();
        let ready = self.folder.path().join(format!("{}.json", instance.as_uuid()));
        let child = Process::new(sandboxd())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("COG_BIND", "127.0.0.1")
            .env("PORT", "0")
            .env("COG_HOOK_PORT", "0")
            .env("COG_PARENT_DEATH", std::process::id().to_string())
            .env("COG_READY_FILE", &ready)
            .env("COGNITION_WORKSPACE_ROOT", workspace)
            .env("COG_WORKLOAD_UID", owner.uid().to_string())
            .env("COG_WORKLOAD_GID", owner.gid().to_string())
            .env("COG_LEASE_GRACE_S", self.grace.as_secs().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let announced = async {
            loop {
                let text = std::fs::read_to_string(&ready).unwrap_or_default();
                if let Ok(ports) = serde_json::from_str(&text) {
                    return ports;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ports = tokio::time::timeout(Duration::from_secs(20), announced).await;
        let ports = ports.expect("the server says where it listens");
        Server { child, ports }
    }

    /// Ends the lease of the run's sandbox, as it would end by itself in a minute, and waits until
    /// the sandbox takes no change any more.
    pub(crate) async fn let_leases_end(&self, world: &World) {
        let row = world
            .pool
            .query_opt(
                "select i.instance_id, i.generation from sandbox_instances i
                   join sandbox_leases l on l.instance_id = i.instance_id
                   join tasks t on t.session_id = l.session_id where t.task_id = $1",
                &[world.taken.task.into()],
            )
            .await
            .unwrap()
            .unwrap();
        let generation: i64 = row.get("generation").unwrap();
        let client = self.client(row.get("instance_id").unwrap()).with_generation(generation);
        let lease = LeaseRequest { generation, lease_until: Some(1), run_fence: None };
        client.lease(&lease).await.unwrap();
        let probe = MkdirRequest { path: "probe".to_owned() };
        eventually(Duration::from_secs(60), async || {
            matches!(client.mkdir(&probe).await, Err(Error::Fenced))
        })
        .await;
    }

    fn endpoint(&self, instance: InstanceId) -> String {
        format!("http://127.0.0.1:{}", self.servers()[&instance].ports.port)
    }

    fn client(&self, instance: InstanceId) -> Client {
        let token: Secret = runtime_token(KEY.as_bytes(), instance.as_uuid());
        Client::new(&self.transport, &self.endpoint(instance), token)
    }

    fn is_running(&self, instance: InstanceId) -> bool {
        self.servers()
            .get_mut(&instance)
            .is_some_and(|server| matches!(server.child.try_wait(), Ok(None)))
    }

    pub(crate) fn kill(&self, instance: InstanceId) {
        self.servers().remove(&instance);
    }

    /// Every sandbox dies, and with it what it ran; the files stay.
    pub(crate) fn kill_all(&self) {
        self.servers().clear();
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<InstanceId, Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn publish(&self, world: &World, body: &str) {
        let message = PublicationRequested::parse(body).unwrap();
        let (pool, scope) = (&world.pool, &message.scope);
        let id = message.publication;
        let Loaded::Requested(request) = publications::load(pool, scope, id).await.unwrap() else {
            return;
        };
        let file = if let Some(why) = request.lapsed.or(self.refuses) {
            Err(why)
        } else {
            let path = RelativePath::parse(&request.path).unwrap();
            let file = self.client(request.instance).read_bounded(&path, 1 << 20).await;
            file.map_err(|_| PublicationFailure::FileNotFound)
        };
        let ids = Ids::random();
        let decision = match file {
            Ok(file) => {
                let verified = Verified {
                    size: i64::try_from(file.bytes.len()).unwrap(),
                    sha256: &file.sha256,
                    object_key: "object",
                    descriptor_key: "descriptor",
                    descriptor_sha256: "d",
                    inline: Some(&file.bytes),
                };
                publications::activate(pool, &ids, scope, id, &verified).await.unwrap()
            }
            Err(why) => publications::fail(pool, &ids, scope, id, why).await.unwrap(),
        };
        let woken = match decision {
            publications::Decision::Active(woken) | publications::Decision::Failed(_, woken) => {
                woken
            }
            publications::Decision::Already => None,
        };
        if let Some(woken) = woken {
            dispatch::send(pool, &*world.queues, woken).await;
        }
    }

    /// A file of the run's workspace.
    pub(crate) async fn file(&self, world: &World, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root(world).await.join(path)).ok()
    }

    /// The workspace of the run's conversation.
    pub(crate) async fn root(&self, world: &World) -> PathBuf {
        self.folder.path().join(workspace_key(world).await.expect("the run has a workspace"))
    }

    pub(crate) async fn has_workspace(&self, world: &World) -> bool {
        workspace_key(world).await.is_some()
    }
}

async fn workspace_key(world: &World) -> Option<String> {
    let row = world
        .pool
        .query_opt(
            "select l.workspace_key from sandbox_leases l
               join tasks t on t.session_id = l.session_id where t.task_id = $1",
            &[world.taken.task.into()],
        )
        .await
        .unwrap();
    row.map(|row| row.get("workspace_key").unwrap())
}

/// Queues whose controller has done its work before the send returns.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) rig: Rig,
    pub(crate) pool: Pool,
}

#[async_trait]
impl Queues for Prompt {
    async fn send(
        &self,
        queue: Queue,
        body: String,
        _delay: Duration,
    ) -> Result<(), cloud::queues::Error> {
        assert_eq!(queue, Queue::Sandboxes, "nothing else is asked for");
        self.rig.answer(&self.pool, &body).await;
        Ok(())
    }
}
