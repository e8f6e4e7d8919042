//! A run and all that it needs, without anything outside this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent::Message;
use domain::{
    AgentName, ArtifactContent, ArtifactId, Event, EventBody, Ids, NewPart, PartKind, Scope,
    SystemClock, TaskId, TaskState,
};
use lambda_kit::deadline::Budget;
use lambda_kit::env::Secret;
use lambda_kit::sqs::Failure;
use messages::Message as _;
use messages::runs::{Reason, RunReady};
use model::scripted::Scenario;
use model::{Providers, Recorder, ScriptedModel};
use run_orchestrator::{Orchestrator, Outcome, Settings, Times};
use sandbox_protocol::client::Transport;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::admission::{Admission, Admitted, Taken, admit};
use store::conversation::{self, Envelope};
use store::runs::{Claim, Claimed, claim};
use store::tasks::{self, StoredTask, Want};
use store::{Pool, events};
use testkit::Database;
use testkit::queues::MemoryQueues;

/// From which sandboxes' bearers are derived in these tests.
pub(crate) const KEY: &str = "a key of tests";
/// What an invocation has, unless a test says otherwise.
pub(crate) const INVOCATION: Duration = Duration::from_secs(900);

/// Runs a test on both engines, with the pools of production.
pub(crate) async fn on_both(test: impl AsyncFn(Pool)) {
    testkit::on_both_databases(async |database: &Database| test(database.pool(2).await).await)
        .await;
}

/// Times that do not keep a test waiting.
pub(crate) fn quick() -> Settings {
    Settings {
        publication: true,
        chunk_interval: Duration::from_millis(20),
        time: Times {
            heartbeat: Duration::from_millis(60),
            look: Duration::from_millis(20),
            patience: Duration::from_millis(50),
            ..Times::default()
        },
        ..Settings::default()
    }
}

/// One run, its model and its queues.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) queues: Arc<MemoryQueues>,
    pub(crate) model: Arc<Recorder>,
    pub(crate) settings: Settings,
    pub(crate) scope: Scope,
    pub(crate) taken: Taken,
}

/// What a run is made of.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) scenario: Value,
    pub(crate) says: String,
    pub(crate) limits: Value,
    pub(crate) context: Option<String>,
    pub(crate) provider: &'static str,
    pub(crate) timeout: Duration,
    /// Sent beside the text, in base64.
    pub(crate) bytes: Option<&'static str>,
    /// The tools with which the model speaks to its client.
    pub(crate) client_tools: Value,
    /// The task that the message continues.
    pub(crate) task: Option<TaskId>,
}

impl Setup {
    pub(crate) fn new(scenario: Value) -> Self {
        Self {
            scenario,
            says: "hello".to_owned(),
            limits: json!({}),
            context: None,
            provider: "scripted",
            timeout: Duration::from_secs(3600),
            bytes: None,
            client_tools: json!([]),
            task: None,
        }
    }

    pub(crate) async fn world(self, pool: &Pool) -> World {
        let taken = self.admit(pool).await;
        self.world_of(pool, taken)
    }

    /// A world around a run that was admitted already.
    pub(crate) fn world_of(&self, pool: &Pool, taken: Taken) -> World {
        World::played(pool, taken, &self.scenario.to_string())
    }

    /// Admits a message of its own.
    pub(crate) async fn admit(&self, pool: &Pool) -> Taken {
        static MESSAGES: AtomicU64 = AtomicU64::new(0);
        let message_id = format!("m{}", MESSAGES.fetch_add(1, Ordering::Relaxed));
        let model = json!({"provider": self.provider, "model": "scene"});
        let manifest = json!({
            "name": "analyst", "model": model, "system_prompt": "Be good.", "limits": self.limits,
            "a2a": {"client_tools": self.client_tools},
        });
        let manifest = manifest.to_string();
        let part = |kind, value: &str| NewPart {
            kind,
            value: value.to_owned(),
            media_type: None,
            filename: None,
            metadata: None,
        };
        let mut parts = vec![part(PartKind::Text, &self.says)];
        parts.extend(self.bytes.map(|bytes| part(PartKind::Raw, bytes)));
        let request = Admission {
            scope: &scope(),
            agent: &AgentName::try_from("analyst".to_owned()).unwrap().into(),
            message_id: &message_id,
            context_id: self.context.as_deref(),
            task: self.task,
            envelope: Envelope { v: Envelope::VERSION, ..Envelope::default() },
            parts: &parts,
            fingerprint: "f",
            idempotent: true,
            manifest: &manifest,
            manifest_digest: &hex::encode(Sha256::digest(&manifest)),
            timeout: self.timeout,
            webhook: None,
        };
        match admit(pool, &Ids::random(), &request).await.unwrap() {
            Admitted::New(taken) => taken,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn scope() -> Scope {
    Scope::new([("user".to_owned(), "a".to_owned())]).unwrap()
}

impl World {
    /// A world around a run whose scenario is played to the letter.
    pub(crate) fn played(pool: &Pool, taken: Taken, scenario: &str) -> Self {
        let scenario = Scenario::parse(scenario).unwrap();
        let scripted = ScriptedModel::new().with("scene", scenario);
        Self {
            pool: pool.clone(),
            queues: Arc::new(MemoryQueues::new()),
            model: Arc::new(Recorder::new(Arc::new(scripted))),
            settings: quick(),
            scope: scope(),
            taken,
        }
    }

    pub(crate) async fn new(pool: &Pool, scenario: Value) -> Self {
        Setup::new(scenario).world(pool).await
    }

    /// Another process that works for the same deployment.
    pub(crate) fn worker(&self) -> Orchestrator {
        Orchestrator {
            pool: self.pool.clone(),
            queues: self.queues.clone(),
            models: Providers::new().with("scripted", self.model.clone()),
            transport: Transport::new().unwrap(),
            runtime_key: Secret::new(KEY),
            ids: Ids::random(),
            clock: Arc::new(SystemClock),
            owner: "w".to_owned(),
            settings: self.settings,
        }
    }

    pub(crate) fn message(&self) -> RunReady {
        RunReady::new(self.taken.run, self.scope.digest(), Reason::Admitted)
    }

    /// Delivers the run's message to a new process that has all the time of an invocation.
    pub(crate) async fn deliver(&self) -> Result<(), Failure> {
        self.worker().handle_message(&self.message().body(), Budget::of(INVOCATION)).await
    }

    pub(crate) async fn claim(&self) -> Claimed {
        match claim(&self.pool, &self.scope.digest(), self.taken.run, "w").await.unwrap() {
            Claim::Yes(claimed) => *claimed,
            other => panic!("{other:?}"),
        }
    }

    /// Claims the run and drives it, to see how it was left.
    pub(crate) async fn drive(&self) -> Outcome {
        self.drive_for(INVOCATION).await
    }

    pub(crate) async fn drive_for(&self, time: Duration) -> Outcome {
        let claimed = self.claim().await;
        self.drive_claimed(claimed, time).await
    }

    /// Drives a claimed run in a process of its own.
    pub(crate) async fn drive_claimed(&self, claimed: Claimed, time: Duration) -> Outcome {
        let worker = self.worker();
        Box::pin(worker.drive(claimed, Budget::of(time))).await.unwrap()
    }

    pub(crate) async fn events(&self) -> Vec<EventBody> {
        let events = self.placed_events().await;
        events.into_iter().map(|event| event.body).collect()
    }

    pub(crate) async fn placed_events(&self) -> Vec<Event> {
        let scope = self.scope.digest();
        events::after(&self.pool, &scope, self.taken.task, 0, 10_000).await.unwrap()
    }

    /// The text answer, as a client holds it that applies the updates to the letter.
    pub(crate) async fn answer(&self) -> String {
        let response = ArtifactId::response(self.taken.task);
        let mut text = String::new();
        for event in self.events().await {
            let EventBody::Artifact(update) = event else { continue };
            let ArtifactContent::Text { text: piece } = update.content else { continue };
            if update.artifact != response {
                continue;
            }
            if !update.append {
                text.clear();
            }
            text.push_str(&piece);
        }
        text
    }

    /// What the loop wrote into the log, and the client's message.
    pub(crate) async fn log(&self) -> Vec<Message> {
        let claimed_session = self.session().await;
        let stored =
            conversation::thread(&self.pool, &self.scope.digest(), claimed_session).await.unwrap();
        let own = stored.iter().filter(|message| message.task == self.taken.task);
        own.filter(|message| message.role != conversation::Role::User)
            .map(|message| Message::from_json(&message.body).unwrap())
            .collect()
    }

    async fn session(&self) -> domain::SessionId {
        let row = self
            .pool
            .query_opt("select session_id from tasks where task_id = $1", &[self.taken.task.into()])
            .await
            .unwrap()
            .unwrap();
        row.get("session_id").unwrap()
    }

    pub(crate) async fn state(&self) -> TaskState {
        let state = tasks::state(&self.pool, &self.scope.digest(), self.taken.task).await;
        state.unwrap().unwrap()
    }

    /// The code with which the task failed.
    pub(crate) async fn code(&self) -> Option<String> {
        self.task().await.status_code
    }

    pub(crate) async fn task(&self) -> StoredTask {
        let agent = AgentName::try_from("analyst".to_owned()).unwrap().into();
        let want = Want { history: Some(0), artifacts: false };
        let view =
            tasks::view(&self.pool, &self.scope.digest(), &agent, self.taken.task, want).await;
        view.unwrap().unwrap().task
    }

    /// Makes the run's lease one that ended a minute ago, if it has one.
    pub(crate) async fn age_lease(&self) {
        self.pool
            .execute(
                "update runs set lease_until = seconds_from_now(-60)
                  where run_id = $1 and lease_until is not null",
                &[self.taken.run.into()],
            )
            .await
            .unwrap();
    }

    /// How often each terminal state was announced.
    pub(crate) async fn endings(&self) -> Vec<TaskState> {
        let states = self.events().await.into_iter().filter_map(|event| match event {
            EventBody::Status { state, .. } if state.is_terminal() => Some(state),
            _ => None,
        });
        states.collect()
    }
}
