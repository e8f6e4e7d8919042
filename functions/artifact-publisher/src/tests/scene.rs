//! A run that holds a sandbox and may ask for publications, and the publisher.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use bytes::Bytes;
use domain::{
    AgentKey, AgentName, ArtifactUpdate, CallId, EventBody, Ids, PublicationId, RunId, Scope,
    TaskId,
};
use lambda_kit::env::Secret;
use messages::Message as _;
use messages::publications::PublicationRequested;
use sandbox_protocol::client::Transport;
use store::admission::{Admission, Admitted, admit};
use store::conversation::Envelope;
use store::publications::{self, Outcome, Published, Request};
use store::runs::{self, Claim, Output};
use store::sandboxes::{self, Acquired, Instance, Ready, Wish};
use store::steps::{self, LoopMessage, ModelCommit, PlannedCall};
use store::{Lease, Pool, events};
use testkit::objects::MemoryObjects;
use testkit::queues::MemoryQueues;

use super::sandbox::{Answer, Sandbox};
use crate::policy::Policy;
use crate::{Patience, Publisher};

pub(crate) const RUNTIME_KEY: &str = "runtime-key";
pub(crate) const SCOPE_KEY: &str = "test-key";

pub(crate) struct Scene {
    pub(crate) pool: Pool,
    pub(crate) ids: Ids,
    pub(crate) scope: Scope,
    pub(crate) task: TaskId,
    pub(crate) lease: Lease,
    pub(crate) instance: Instance,
    pub(crate) sandbox: Sandbox,
    pub(crate) objects: Arc<MemoryObjects>,
    pub(crate) queues: Arc<MemoryQueues>,
    pub(crate) publisher: Publisher,
    steps: AtomicI32,
}

pub(crate) fn scope(user: &str) -> Scope {
    Scope::new([("user".to_owned(), user.to_owned())]).unwrap()
}

pub(crate) fn agent() -> AgentKey {
    AgentName::try_from("analyst".to_owned()).unwrap().into()
}

impl Scene {
    pub(crate) async fn new(pool: &Pool) -> Self {
        Self::of(pool, scope("ada")).await
    }

    pub(crate) async fn of(pool: &Pool, scope: Scope) -> Self {
        let ids = Ids::random();
        let (task, run) = admit_one(pool, &ids, &scope).await;
        let lease = claim(pool, &scope, run).await;
        let (instance, sandbox) = hold_sandbox(pool, &ids, &scope, run).await;
        let objects = Arc::new(MemoryObjects::new());
        let queues = Arc::new(MemoryQueues::new());
        let publisher = Publisher {
            pool: pool.clone(),
            objects: Arc::clone(&objects) as _,
            queues: Arc::clone(&queues) as _,
            ids: Ids::random(),
            sandboxes: Transport::new().unwrap(),
            runtime_key: Secret::new(RUNTIME_KEY),
            scope_key: Secret::new(SCOPE_KEY),
            policy: Policy {
                enabled: true,
                max_bytes: domain::limits::MAX_PUBLICATION_BYTES,
                inline_max_bytes: domain::limits::INLINE_PUBLICATION_BYTES,
            },
            patience: Patience { max_attempts: 4, max_age: Duration::from_mins(10) },
        };
        Self {
            pool: pool.clone(),
            ids,
            scope,
            task,
            lease,
            instance,
            sandbox,
            objects,
            queues,
            publisher,
            steps: AtomicI32::new(1),
        }
    }

    /// Puts a file into the sandbox and asks for its publication.
    pub(crate) async fn publish(&self, path: &str, bytes: impl Into<Bytes>) -> PublicationId {
        self.sandbox.put(path, Answer::File(bytes.into()));
        self.request(path, "text/csv").await
    }

    /// Asks for a publication, as the orchestrator does.
    pub(crate) async fn request(&self, path: &str, media_type: &str) -> PublicationId {
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        let call = CallId(format!("call-{step}"));
        let attempt = steps::begin(&self.pool, &self.lease, step, "scripted", "m").await.unwrap();
        let planned = PlannedCall {
            call: call.clone(),
            ordinal: 0,
            tool: "publish_artifact".to_owned(),
            args: "{}".to_owned(),
        };
        let commit = ModelCommit {
            step,
            attempt,
            message: LoopMessage { id: self.ids.message(), body: "{}".to_owned() },
            speaks: false,
            calls: vec![planned],
            answered: Vec::new(),
            stop_reason: "tool_use",
            usage: None,
            events: Vec::new(),
            output: Output::default(),
        };
        steps::commit(&self.pool, &self.lease, &commit).await.unwrap();
        let request = Request {
            call: &call,
            path,
            media_type,
            filename: path.rsplit('/').next().unwrap(),
            instance: self.instance.id,
            generation: self.instance.generation,
        };
        let asked = publications::request(&self.pool, &self.ids, &self.lease, &request).await;
        let (publication, outgoing) = asked.unwrap();
        store::outbox::sent(&self.pool, outgoing.id).await.unwrap();
        publication
    }

    pub(crate) fn event(&self, publication: PublicationId, attempt: u32) -> SqsEvent {
        event(&PublicationRequested::new(publication, self.scope.digest()).body(), attempt)
    }

    /// Delivers the message and says whether it was acknowledged.
    pub(crate) async fn deliver(&self, publication: PublicationId, attempt: u32) -> bool {
        acknowledged(&self.publisher.handle(self.event(publication, attempt)).await)
    }

    pub(crate) async fn outcome(&self, publication: PublicationId) -> Outcome {
        publications::outcome(&self.pool, &self.scope.digest(), publication).await.unwrap()
    }

    pub(crate) async fn row(&self, publication: PublicationId) -> Option<Published> {
        let scope = self.scope.digest();
        publications::find(&self.pool, &scope, &[publication]).await.unwrap().remove(&publication)
    }

    /// The artifact events of the task.
    pub(crate) async fn announced(&self) -> Vec<ArtifactUpdate> {
        let scope = self.scope.digest();
        let events = events::after(&self.pool, &scope, self.task, 0, 1000).await.unwrap();
        let artifacts = events.into_iter().filter_map(|event| match event.body {
            EventBody::Artifact(update) => Some(update),
            _ => None,
        });
        artifacts.collect()
    }

    /// Moves the creation of a row back by this many seconds.
    pub(crate) async fn age(&self, publication: PublicationId, seconds: f64) {
        let sql = "update publications set created_at = seconds_from_now($2)
                    where publication_id = $1";
        let params = [publication.into(), (-seconds).into()];
        assert_eq!(self.pool.execute(sql, &params).await.unwrap(), 1);
    }
}

pub(crate) fn event(body: &str, attempt: u32) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = Some("message-1".to_owned());
    record.body = Some(body.to_owned());
    record.attributes.insert("ApproximateReceiveCount".to_owned(), attempt.to_string());
    let mut event = SqsEvent::default();
    event.records.push(record);
    event
}

pub(crate) fn acknowledged(response: &SqsBatchResponse) -> bool {
    response.batch_item_failures.is_empty()
}

pub(crate) async fn admit_one(pool: &Pool, ids: &Ids, scope: &Scope) -> (TaskId, RunId) {
    let message_id = ids.uuid().to_string();
    let request = Admission {
        scope,
        agent: &agent(),
        message_id: &message_id,
        context_id: None,
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
    match admit(pool, ids, &request).await.unwrap() {
        Admitted::New(taken) => (taken.task, taken.run),
        other => panic!("{other:?}"),
    }
}

async fn claim(pool: &Pool, scope: &Scope, run: RunId) -> Lease {
    match runs::claim(pool, &scope.digest(), run, "worker").await.unwrap() {
        Claim::Yes(claimed) => claimed.lease,
        other => panic!("{other:?}"),
    }
}

async fn hold_sandbox(pool: &Pool, ids: &Ids, scope: &Scope, run: RunId) -> (Instance, Sandbox) {
    let wish = Wish { backend: "process", config_digest: "c", runner: Some("runner") };
    let acquired = sandboxes::acquire(pool, ids, &scope.digest(), run, &wish).await.unwrap();
    let Acquired::Launch(instance) = acquired else { panic!("{acquired:?}") };
    assert!(sandboxes::launching(pool, &instance).await.unwrap());
    let key = RUNTIME_KEY.as_bytes();
    let sandbox = Sandbox::start(key, instance.id, instance.generation).await;
    assert!(sandboxes::initializing(pool, &instance, &sandbox.endpoint).await.unwrap());
    let ready = sandboxes::ready(pool, ids, &instance, run, "/workspace").await.unwrap();
    assert!(matches!(ready, Ready::Yes(_)));
    (instance, sandbox)
}
