//! A task with a webhook, a worker that says things, and a notifier.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use domain::{
    About, AgentKey, AgentName, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, Ids,
    ProtocolVersion, Scope, ScopeDigest, TaskId, WebhookId,
};
use lambda_kit::deadline::Budget;
use messages::notifications::WebhookReady;
use messages::{Message as _, Queue};
use sealing::Keyring;
use store::admission::{Admission, Admitted, admit};
use store::conversation::Envelope;
use store::events::Place;
use store::runs::{self, Claim, Ending, Output, PlacedEvent};
use store::webhooks::{NewWebhook, Seal, Sealed};
use store::{Lease, Pool, tasks};
use testkit::{MemoryObjects, MemoryQueues};
use view::Viewer;
use webhook::{Guard, Record};

use super::receiver::Receiver;
use crate::{Lookup, Notifier, Patience, Post};

pub(crate) fn keys() -> Keyring {
    Keyring::parse("k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").unwrap()
}

pub(crate) fn record(url: &str) -> Record {
    Record {
        v: Record::VERSION,
        url: url.to_owned(),
        token: Some("canary-token".to_owned()),
        scheme: Some("Bearer".to_owned()),
        credentials: Some("canary-credentials".to_owned()),
    }
}

#[derive(Debug)]
pub(crate) struct Sealer(pub(crate) Record);

impl Seal for Sealer {
    fn seal(&self, scope: &ScopeDigest, task: TaskId, config_id: &str) -> Sealed {
        let place = webhook::Place { scope, task, config_id };
        let sealing::Sealed { key_id, bytes } = self.0.seal(&keys(), place);
        Sealed { key_id, bytes }
    }
}

/// Names as the test has them.
#[derive(Debug, Default)]
pub(crate) struct Names(pub(crate) HashMap<String, Vec<IpAddr>>);

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.get(name).cloned().ok_or_else(|| io::Error::other("no such name"))
    }
}

pub(crate) struct Scene {
    pub(crate) pool: Pool,
    pub(crate) digest: ScopeDigest,
    pub(crate) task: TaskId,
    pub(crate) lease: Lease,
    pub(crate) webhook: WebhookId,
    pub(crate) queues: Arc<MemoryQueues>,
    said: AtomicI32,
}

impl Scene {
    pub(crate) async fn new(pool: &Pool, receiver: &Receiver) -> Self {
        Self::at(pool, &receiver.url()).await
    }

    pub(crate) async fn at(pool: &Pool, url: &str) -> Self {
        Self::of(pool, url, ProtocolVersion::V10).await
    }

    /// A task whose webhook was registered in this version.
    pub(crate) async fn of(pool: &Pool, url: &str, protocol: ProtocolVersion) -> Self {
        let ids = Ids::random();
        let user = ids.uuid().to_string();
        let scope = Scope::new([("user".to_owned(), user)]).unwrap();
        let agent = Self::agent();
        let seal = Sealer(record(url));
        let request = Admission {
            scope: &scope,
            agent: &agent,
            message_id: "m",
            context_id: None,
            task: None,
            envelope: Envelope { v: Envelope::VERSION, ..Envelope::default() },
            parts: &[],
            fingerprint: "f",
            idempotent: true,
            manifest: "{}",
            manifest_digest: "d",
            timeout: Duration::from_hours(1),
            webhook: Some(NewWebhook { config_id: None, protocol, seal: &seal, most: 10 }),
        };
        let Admitted::New(taken) = admit(pool, &ids, &request).await.unwrap() else { panic!() };
        let digest = scope.digest();
        let claim = runs::claim(pool, &digest, taken.run, "worker").await.unwrap();
        let Claim::Yes(claimed) = claim else { panic!() };
        let sql = "select webhook_id from webhooks where task_id = $1";
        let row = pool.query_opt(sql, &[taken.task.into()]).await.unwrap().unwrap();
        Self {
            pool: pool.clone(),
            digest,
            task: taken.task,
            lease: claimed.lease,
            webhook: row.get("webhook_id").unwrap(),
            queues: Arc::new(MemoryQueues::new()),
            said: AtomicI32::new(0),
        }
    }

    pub(crate) fn agent() -> AgentKey {
        AgentName::try_from("analyst".to_owned()).unwrap().into()
    }

    pub(crate) fn notifier(&self) -> Notifier {
        self.notifier_with("127.0.0.1", Names::default())
    }

    pub(crate) fn notifier_with(&self, allow: &str, names: Names) -> Notifier {
        let guard = Guard::new(allow.parse().unwrap());
        let ids = Ids::random();
        Notifier {
            viewer: Viewer {
                pool: self.pool.clone(),
                objects: Arc::new(MemoryObjects::new()),
                scope_key: Arc::from(&b"key"[..]),
            },
            queues: Arc::clone(&self.queues) as _,
            owner: ids.uuid().to_string(),
            ids,
            keys: Arc::new(keys()),
            post: Post::new(guard, Duration::from_secs(15), &(Arc::new(names) as _)).unwrap(),
            patience: Patience { attempts: 4, ..Patience::default() },
        }
    }

    /// The worker says something.
    pub(crate) async fn say(&self, text: &str) {
        let ordinal = self.said.fetch_add(1, Ordering::SeqCst);
        let body = EventBody::Artifact(ArtifactUpdate {
            artifact: ArtifactId::response(self.task),
            name: None,
            append: ordinal > 0,
            last_chunk: false,
            content: ArtifactContent::Text { text: text.to_owned() },
            about: About::default(),
        });
        let placed = PlacedEvent { place: Place { step: 1, attempt: 1, ordinal }, body };
        runs::append(&self.pool, &self.lease, &[placed], Output::default()).await.unwrap();
    }

    pub(crate) async fn finish(&self) {
        runs::finish(&self.pool, self.lease.clone(), &[], &Ending::Completed).await.unwrap();
    }

    /// The client takes its task back.
    pub(crate) async fn cancel(&self) {
        let agent = Self::agent();
        let canceled = tasks::cancel(&self.pool, &self.digest, &agent, self.task).await.unwrap();
        assert_eq!(canceled, tasks::Canceled::Yes);
    }

    pub(crate) fn event(&self) -> SqsEvent {
        let mut record = SqsMessage::default();
        record.message_id = Some("message-1".to_owned());
        record.body = Some(WebhookReady::new(self.webhook, self.digest.clone()).body());
        let mut event = SqsEvent::default();
        event.records.push(record);
        event
    }

    pub(crate) async fn deliver(&self, notifier: &Notifier) {
        let response = notifier.handle(self.event(), Budget::of(Duration::from_mins(15))).await;
        assert!(response.batch_item_failures.is_empty());
    }

    /// Waits for the next attempt, and for leases of workers that are gone.
    pub(crate) async fn later(&self) {
        let sql = "update webhooks
                      set due_at = case when due_at is null then null else seconds_from_now(-1) end,
                          lease_until = case when lease_until is null then null
                                             else seconds_from_now(-1) end";
        self.pool.execute(sql, &[]).await.unwrap();
    }

    /// The messages that wake the notifier, sent or in the outbox.
    pub(crate) async fn asked(&self) -> usize {
        let sql = "select count(*) as n from outbox where queue = $1 and scope_digest = $2";
        let params = [Queue::Notifications.as_str().into(), self.digest.as_str().into()];
        let row = self.pool.query_opt(sql, &params).await.unwrap().unwrap();
        let left: i64 = row.get("n").unwrap();
        usize::try_from(left).unwrap() + self.queues.sent().len()
    }
}
