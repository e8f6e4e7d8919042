//! Work that somebody has left lying.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    AgentName, CallId, EventBody, Ids, InstanceId, PublicationId, RunId, Scope, ScopeDigest,
    TaskId, TaskState,
};
use messages::Queue;
use store::admission::{Admission, Admitted, admit};
use store::conversation::Envelope;
use store::publications::{self, Request};
use store::runs::{self, Claim, Claimed, Output};
use store::sandboxes::{self, Acquired, Instance, Ready, Wish};
use store::steps::{self, LoopMessage, ModelCommit, PlannedCall};
use store::{Lease, Pool, Value, events, outbox};
use testkit::queues::MemoryQueues;

use crate::{Pace, Sweeper};

pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) ids: Ids,
    pub(crate) scope: Scope,
    pub(crate) queues: Arc<MemoryQueues>,
    pub(crate) sweeper: Sweeper,
}

/// A task and the run that is to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) task: TaskId,
    pub(crate) run: RunId,
}

impl World {
    pub(crate) fn new(pool: &Pool) -> Self {
        Self::with_queues(pool, MemoryQueues::new())
    }

    pub(crate) fn with_queues(pool: &Pool, queues: MemoryQueues) -> Self {
        let queues = Arc::new(queues);
        let sweeper = Sweeper {
            pool: pool.clone(),
            queues: Arc::clone(&queues) as _,
            ids: Ids::random(),
            pace: Pace::default(),
        };
        let scope = Scope::new([("user".to_owned(), "ada".to_owned())]).unwrap();
        Self { pool: pool.clone(), ids: Ids::random(), scope, queues, sweeper }
    }

    pub(crate) fn digest(&self) -> ScopeDigest {
        self.scope.digest()
    }

    pub(crate) async fn execute(&self, sql: &str, params: &[Value]) {
        assert_eq!(self.pool.execute(sql, params).await.unwrap(), 1, "{sql}");
    }

    /// A queued run whose first message was sent.
    pub(crate) async fn admitted(&self) -> Work {
        let (work, outgoing) = self.admitted_unsent().await;
        outbox::sent(&self.pool, outgoing.id).await.unwrap();
        work
    }

    /// A queued run whose sender died before it sent the message.
    pub(crate) async fn admitted_unsent(&self) -> (Work, store::Outgoing) {
        match self.admit_in(None).await.unwrap() {
            Admitted::New(taken) => (Work { task: taken.task, run: taken.run }, taken.outgoing),
            other => panic!("{other:?}"),
        }
    }

    /// A client's message, to the conversation of this name or to a new one.
    pub(crate) async fn admit_in(&self, context: Option<&str>) -> Result<Admitted, store::Error> {
        let message_id = self.ids.uuid().to_string();
        let request = Admission {
            scope: &self.scope,
            agent: &AgentName::try_from("analyst".to_owned()).unwrap().into(),
            message_id: &message_id,
            context_id: context,
            task: None,
            envelope: Envelope { v: Envelope::VERSION, ..Envelope::default() },
            parts: &[],
            fingerprint: "f",
            idempotent: true,
            manifest: "{}",
            manifest_digest: "d",
            timeout: Duration::from_hours(1),
            webhook: None,
        };
        admit(&self.pool, &self.ids, &request).await
    }

    /// A run that a worker is at.
    pub(crate) async fn working(&self) -> (Work, Lease) {
        let work = self.admitted().await;
        (work, self.claimed(work.run).await.lease)
    }

    /// A run whose worker died a minute ago.
    pub(crate) async fn crashed(&self) -> (Work, Lease) {
        let (work, lease) = self.working().await;
        self.age_lease(work.run).await;
        (work, lease)
    }

    pub(crate) async fn claimed(&self, run: RunId) -> Claimed {
        match runs::claim(&self.pool, &self.digest(), run, "worker").await.unwrap() {
            Claim::Yes(claimed) => *claimed,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn age_lease(&self, run: RunId) {
        let sql = "update runs set lease_until = seconds_from_now(-60)
                    where run_id = $1 and lease_until is not null";
        self.execute(sql, &[run.into()]).await;
    }

    pub(crate) async fn age_wake_up(&self, run: RunId, seconds: f64) {
        let sql = "update runs set wake_at = seconds_from_now($2) where run_id = $1";
        self.execute(sql, &[run.into(), (-seconds).into()]).await;
    }

    pub(crate) async fn pass_deadline(&self, run: RunId) {
        let sql = "update runs set deadline_at = seconds_from_now(-1) where run_id = $1";
        self.execute(sql, &[run.into()]).await;
    }

    /// Ages every message that waits, so that its sender has left it.
    pub(crate) async fn age_outbox(&self) {
        let sql = "update outbox set not_before = seconds_from_now(-60)";
        self.pool.execute(sql, &[]).await.unwrap();
    }

    pub(crate) async fn crash_count(&self, run: RunId) -> i32 {
        self.look(run, "crash_count").await
    }

    pub(crate) async fn look<T: store::driver::FromValue>(&self, run: RunId, column: &str) -> T {
        let sql = format!("select {column} from runs where run_id = $1");
        self.pool.query_opt(&sql, &[run.into()]).await.unwrap().unwrap().get(column).unwrap()
    }

    /// The states that clients of the task have seen, with their codes.
    pub(crate) async fn statuses(&self, task: TaskId) -> Vec<(TaskState, Option<String>)> {
        let events = events::after(&self.pool, &self.digest(), task, 0, 1000).await.unwrap();
        let statuses = events.into_iter().filter_map(|event| match event.body {
            EventBody::Status { state, code, .. } => Some((state, code)),
            _ => None,
        });
        statuses.collect()
    }

    /// The bodies that were sent to a queue since the last look.
    pub(crate) fn sent_to(&self, queue: Queue) -> Vec<String> {
        let sent = self.queues.take().into_iter();
        sent.filter(|sent| sent.queue == queue).map(|sent| sent.body).collect()
    }

    /// Gives the run a sandbox that answers.
    pub(crate) async fn with_sandbox(&self, run: RunId) -> Instance {
        let instance = self.launching(run).await;
        let endpoint = "http://127.0.0.1:1";
        assert!(sandboxes::initializing(&self.pool, &instance, endpoint).await.unwrap());
        let ready = sandboxes::ready(&self.pool, &self.ids, &instance, run, "/workspace").await;
        let Ready::Yes(Some(woken)) = ready.unwrap() else { panic!("woken") };
        outbox::sent(&self.pool, woken.id).await.unwrap();
        instance
    }

    /// Gives the run a sandbox whose launch never came to an end.
    pub(crate) async fn launching(&self, run: RunId) -> Instance {
        let wish = Wish { backend: "process", config_digest: "c", runner: Some("runner") };
        let scope = self.digest();
        let acquired = sandboxes::acquire(&self.pool, &self.ids, &scope, run, &wish).await.unwrap();
        let Acquired::Launch(instance) = acquired else { panic!("{acquired:?}") };
        assert!(sandboxes::launching(&self.pool, &instance).await.unwrap());
        instance
    }

    pub(crate) async fn age_check(&self, instance: InstanceId) {
        let sql = "update sandbox_instances set next_check_at = seconds_from_now(-1)
                    where instance_id = $1";
        self.execute(sql, &[instance.into()]).await;
    }

    /// A publication whose message was sent, and lost.
    pub(crate) async fn publication(&self, lease: &Lease, instance: &Instance) -> PublicationId {
        let call = CallId("call".to_owned());
        let attempt = steps::begin(&self.pool, lease, 1, "scripted", "m").await.unwrap();
        let commit = ModelCommit {
            step: 1,
            attempt,
            message: LoopMessage { id: self.ids.message(), body: "{}".to_owned() },
            speaks: false,
            calls: vec![PlannedCall {
                call: call.clone(),
                ordinal: 0,
                tool: "publish_artifact".to_owned(),
                args: "{}".to_owned(),
            }],
            answered: Vec::new(),
            stop_reason: "tool_use",
            usage: None,
            events: Vec::new(),
            output: Output::default(),
        };
        steps::commit(&self.pool, lease, &commit).await.unwrap();
        let request = Request {
            call: &call,
            path: "a",
            media_type: "text/csv",
            filename: "a",
            instance: instance.id,
            generation: instance.generation,
        };
        let asked = publications::request(&self.pool, &self.ids, lease, &request).await;
        let (publication, outgoing) = asked.unwrap();
        outbox::sent(&self.pool, outgoing.id).await.unwrap();
        publication
    }

    pub(crate) async fn age_publication(&self, publication: PublicationId, seconds: f64) {
        let sql = "update publications
                      set created_at = seconds_from_now($2),
                          asked_at = case when asked_at is null then null
                                          else seconds_from_now($2) end
                    where publication_id = $1";
        self.execute(sql, &[publication.into(), (-seconds).into()]).await;
    }

    pub(crate) async fn outcome(&self, publication: PublicationId) -> publications::Outcome {
        publications::outcome(&self.pool, &self.digest(), publication).await.unwrap()
    }
}
