//! A conversation whose runs want sandboxes.

use std::time::Duration;

use domain::{AgentName, Ids, RunId, Scope, ScopeDigest};
use messages::Message as _;
use messages::sandboxes::{Command, SandboxCommand};
use testkit::on_both_databases;

use super::super::*;
use crate::Pool;
use crate::admission::{Admission, Admitted, admit};
use crate::conversation::Envelope;
use crate::lease::Lease;
use crate::runs::{self, Claim, Ending};

pub(super) const WISH: Wish<'static> =
    Wish { backend: "process", config_digest: "one", runner: Some("runner-a") };
pub(super) const OTHER: Wish<'static> =
    Wish { backend: "process", config_digest: "two", runner: Some("runner-a") };

pub(super) async fn on_both(test: impl AsyncFn(World)) {
    on_both_databases(async |database| test(World::new(database.url()).await).await).await;
}

/// A database, and one conversation in it.
pub(super) struct World {
    pub(super) pool: Pool,
    pub(super) ids: Ids,
    scope: Scope,
    pub(super) digest: ScopeDigest,
}

impl World {
    pub(super) async fn new(url: &str) -> Self {
        let scope = Scope::new([("user".to_owned(), "ada".to_owned())]).unwrap();
        Self {
            pool: Pool::connect(url, 1).await.unwrap(),
            ids: Ids::random(),
            digest: scope.digest(),
            scope,
        }
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
        self.claim(taken.run).await
    }

    pub(super) async fn claim(&self, run: RunId) -> Lease {
        match runs::claim(&self.pool, &self.digest, run, "worker").await.unwrap() {
            Claim::Yes(claimed) => claimed.lease,
            other => panic!("{other:?}"),
        }
    }

    /// Another worker takes the run over, after its lease has expired.
    pub(super) async fn take_over(&self, run: RunId) -> Lease {
        self.age("update runs set lease_until = seconds_from_now(-1)").await;
        self.claim(run).await
    }

    pub(super) async fn age(&self, sql: &str) {
        self.pool.execute(sql, &[]).await.unwrap();
    }

    pub(super) async fn end(&self, lease: Lease) {
        runs::finish(&self.pool, lease, &[], &Ending::Completed).await.unwrap();
    }

    pub(super) async fn acquire(&self, lease: &Lease, wish: &Wish<'_>) -> Acquired {
        acquire(&self.pool, &self.ids, &self.digest, lease.run, wish).await.unwrap()
    }

    pub(super) async fn launch(&self, lease: &Lease, wish: &Wish<'_>) -> Instance {
        match self.acquire(lease, wish).await {
            Acquired::Launch(instance) => instance,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn ready(&self, lease: &Lease, instance: &Instance) -> Ready {
        ready(&self.pool, &self.ids, instance, lease.run, "/w").await.unwrap()
    }

    /// A ready sandbox that the run holds.
    pub(super) async fn sandbox(&self, lease: &Lease) -> Instance {
        let instance = self.launch(lease, &WISH).await;
        assert!(launching(&self.pool, &instance).await.unwrap());
        assert!(initializing(&self.pool, &instance, "http://127.0.0.1:1").await.unwrap());
        assert!(matches!(self.ready(lease, &instance).await, Ready::Yes(Some(_))));
        instance
    }

    pub(super) async fn held(&self, lease: &Lease) -> Held {
        held(&self.pool, lease).await.unwrap()
    }

    pub(super) async fn generation(&self, lease: &Lease) -> i64 {
        let row = self
            .pool
            .query_opt(
                "select generation from sandbox_leases where session_id = $1",
                &[lease.session.into()],
            )
            .await
            .unwrap();
        row.unwrap().get("generation").unwrap()
    }

    pub(super) async fn state(&self, instance: &Instance) -> InstanceState {
        let sql = "select state from sandbox_instances where instance_id = $1";
        let row = self.pool.query_opt(sql, &[instance.id.into()]).await.unwrap();
        words::read_state(&row.unwrap()).unwrap()
    }

    pub(super) async fn release(&self, instance: &Instance) -> Releasing {
        begin_release(&self.pool, &self.digest, instance.id, "idle").await.unwrap()
    }

    pub(super) async fn swept(&self) -> Vec<Command> {
        self.age("update sandbox_instances set next_check_at = seconds_from_now(-1)").await;
        let all = sweep(&self.pool, &self.ids, 50, Duration::from_mins(1)).await.unwrap();
        all.iter().map(|outgoing| SandboxCommand::parse(&outgoing.body).unwrap().command).collect()
    }
}

pub(super) fn held_sandbox(instance: &Instance, generation: i64) -> Held {
    Held::Ready(HeldSandbox {
        instance: instance.id,
        generation,
        endpoint: "http://127.0.0.1:1".to_owned(),
        workspace: instance.workspace.clone(),
        workspace_root: "/w".to_owned(),
    })
}
