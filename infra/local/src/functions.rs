//! The functions, wired for one process: the same handlers that run on Lambda.

use std::sync::Arc;
use std::time::Duration;

use a2a_ingress::agents::Agents;
use a2a_ingress::cards::{Address, Cards};
use a2a_ingress::scope::{ScopeSettings, ScopeSource};
use a2a_ingress::{Desk, Ingress, Viewer, Webhooks};
use anyhow::Context as _;
use artifact_publisher::policy::Policy;
use artifact_publisher::{Patience, Publisher};
use cloud::objects::Objects;
use cloud::queues::Queues;
use domain::{Clock as _, Ids, SystemClock, limits};
use push_notifier::{Notifier, Post, SystemLookup};
use run_orchestrator::config::{Models, Provider};
use run_orchestrator::{Orchestrator, Settings};
use sandbox_controller::process::{self, Process};
use sandbox_controller::{Backend, SandboxController};
use sandbox_protocol::client::Transport;
use store::Pool;
use sweeper::{Pace, Sweeper};

use crate::options::{Keys, Options};

/// All functions on one database, one object store and one set of queues.
#[derive(Debug, Clone)]
pub struct Functions {
    pub ingress: Arc<Ingress>,
    pub orchestrator: Arc<Orchestrator>,
    pub controller: Arc<SandboxController>,
    pub publisher: Arc<Publisher>,
    pub notifier: Arc<Notifier>,
    pub sweeper: Arc<Sweeper>,
}

impl Functions {
    /// Wires the functions. Sandboxes that an earlier process of this machine left are put right.
    pub async fn wire(
        options: &Options,
        keys: &Keys,
        pool: &Pool,
        objects: Arc<dyn Objects>,
        queues: Arc<dyn Queues>,
    ) -> anyhow::Result<Self> {
        let transport = Transport::new()?;
        let models = Models {
            enabled: vec![Provider::Demo, Provider::Scripted],
            scenarios: options.scenarios.clone(),
            demo_latency: options.demo_latency,
        };
        let agents = Agents::load(&options.agents)?;
        let (sealing, guard) = (Arc::new(options.keyring()?), options.guard()?);
        let webhooks = Webhooks {
            keys: Some(Arc::clone(&sealing)),
            guard: guard.clone(),
            most: Webhooks::MOST,
        };
        let viewer = Viewer {
            pool: pool.clone(),
            objects: Arc::clone(&objects),
            scope_key: Arc::from(keys.scope.expose().as_bytes()),
        };
        let desk = Desk {
            viewer: viewer.clone(),
            queues: Arc::clone(&queues),
            ids: Arc::new(Ids::random()),
            limits: a2a::inbound::Limits::default(),
            idempotent: options.idempotent,
            webhooks,
        };
        let cards =
            Cards::new(Address::FromHost, options.trust.clone(), &agents, SystemClock.now())?;
        let ingress = Ingress {
            desk: Arc::new(desk),
            agents,
            scope: ScopeSettings {
                source: ScopeSource::Headers,
                keys: vec!["user".to_owned()],
                required: false,
            },
            cards: Arc::new(cards),
        };
        let orchestrator = Orchestrator {
            pool: pool.clone(),
            queues: Arc::clone(&queues),
            models: models.providers()?,
            transport: transport.clone(),
            runtime_key: keys.runtime.clone(),
            ids: Ids::random(),
            clock: Arc::new(SystemClock),
            owner: Ids::random().uuid().to_string(),
            settings: Settings {
                publication: true,
                max_steps_per_invocation: options.max_steps_per_invocation,
                ..Settings::default()
            },
        };
        let publisher = Publisher {
            pool: pool.clone(),
            objects,
            queues: Arc::clone(&queues),
            ids: Ids::random(),
            sandboxes: transport.clone(),
            runtime_key: keys.runtime.clone(),
            scope_key: keys.scope.clone(),
            policy: Policy {
                enabled: true,
                max_bytes: limits::MAX_PUBLICATION_BYTES,
                inline_max_bytes: limits::INLINE_PUBLICATION_BYTES,
            },
            patience: Patience { max_attempts: 4, max_age: Duration::from_mins(10) },
        };
        let ids = Ids::random();
        let notifier = Notifier {
            viewer,
            queues: Arc::clone(&queues),
            owner: ids.uuid().to_string(),
            ids,
            keys: sealing,
            post: Post::new(guard, Duration::from_secs(15), &(Arc::new(SystemLookup) as _))?,
            patience: push_notifier::Patience::default(),
        };
        let sweeper = Sweeper {
            pool: pool.clone(),
            queues: Arc::clone(&queues),
            ids: Ids::random(),
            // A person is watching: what was left behind is picked up sooner than on AWS.
            pace: Pace {
                outbox_grace: Duration::from_secs(5),
                due_grace: Duration::from_secs(10),
                webhook_grace: Duration::from_secs(10),
                ..Pace::default()
            },
        };
        let controller = controller(options, keys, pool, queues, transport).await?;
        Ok(Self {
            ingress: Arc::new(ingress),
            orchestrator: Arc::new(orchestrator),
            controller: Arc::new(controller),
            publisher: Arc::new(publisher),
            notifier: Arc::new(notifier),
            sweeper: Arc::new(sweeper),
        })
    }
}

async fn controller(
    options: &Options,
    keys: &Keys,
    pool: &Pool,
    queues: Arc<dyn Queues>,
    sandboxes: Transport,
) -> anyhow::Result<SandboxController> {
    let ids = Ids::random();
    let settings = process::Settings {
        server: options.sandboxd()?,
        data: options.data.join("sandboxes"),
        runtime_key: keys.runtime.clone(),
        bubblewrap: true,
        start_timeout: Duration::from_secs(20),
    };
    let backend = Backend::Process(Process::start(settings, &ids).await?);
    let controller = SandboxController {
        pool: pool.clone(),
        queues,
        backend,
        ids,
        sandboxes,
        runtime_key: keys.runtime.clone(),
        patience: Duration::from_secs(20),
    };
    controller.recover().await.context("put sandboxes of an earlier process right")?;
    Ok(controller)
}
