//! The whole system in one process: front, queues, functions, sweeps, object store, database.
//!
//! **Nothing that matters is kept in the process**: one that is killed loses its queues, and the
//! next one finds in the database what they held.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use cloud::s3::S3Objects;
use domain::SystemClock;
use lambda_kit::deadline::Budget;
use messages::Queue;
use store::{Pool, migrations};
use sweeper::Swept;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::environment::Environment;
use crate::front;
use crate::functions::Functions;
use crate::options::{Keys, Options};
use crate::queues::{LocalQueues, Settings};
use crate::s3::LocalS3;

/// The longest that one invocation may take, as on Lambda.
const INVOCATION: Duration = Duration::from_mins(15);
/// How long a stop waits for handlers that are at work; what they leave is found at the next start.
const FAREWELL: Duration = Duration::from_secs(2);

/// A running system. Dropped without [`System::stop`], it ends at once, as if it were killed.
#[derive(Debug)]
pub struct System {
    url: String,
    pool: Pool,
    database: String,
    /// Who may come in, what cards are, and which webhooks are called: a line each.
    manners: Vec<String>,
    objects_url: Option<String>,
    queues: LocalQueues,
    functions: Functions,
    s3: Option<LocalS3>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    _alone: Option<File>,
}

impl System {
    /// Starts everything, and returns when requests are served.
    pub async fn start(options: &Options) -> anyhow::Result<Self> {
        private(&options.data)
            .with_context(|| format!("make the data folder {}", options.data.display()))?;
        let data = std::fs::canonicalize(&options.data)?;
        let options = Options { data: data.clone(), ..options.clone() };
        let database = options.database();
        // A database file has one process, whose predecessor can hold no lease any more.
        let alone = match options.database_url {
            None if !options.memory => Some(take(&data.join("lock"))?),
            _ => None,
        };
        let pool = Pool::connect(&database, 8).await?;
        migrations::migrate(&pool).await?;
        if alone.is_some() {
            store::runs::abandon_all(&pool).await?;
            store::webhooks::abandon_all(&pool).await?;
        }
        let keys = match &options.keys {
            Some(keys) => keys.clone(),
            None => Keys::kept(&data)?,
        };
        let clock = Arc::new(SystemClock);
        let (s3, settings) = if let Some(settings) = &options.s3 {
            (None, settings.clone())
        } else {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let s3 = LocalS3::start(&data.join("objects"), listener, clock.clone())?;
            let settings = s3.bucket("cognition")?;
            (Some(s3), settings)
        };
        let objects = Arc::new(S3Objects::connect(settings).await);
        let queues = LocalQueues::new(Settings::default(), clock);
        let functions =
            Functions::wire(&options, &keys, &pool, objects, Arc::new(queues.clone())).await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
            .await
            .with_context(|| format!("listen on port {}", options.port))?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(front::serve(listener, Arc::clone(&functions.ingress), stopped.clone()));
        let sweeper = Arc::clone(&functions.sweeper);
        let sweeping = Environment::start("sweeper", move |()| {
            let sweeper = Arc::clone(&sweeper);
            async move { sweeper.sweep().await }
        })?;
        tasks.spawn(sweep(sweeping, options.sweep_every, stopped));
        consume(&queues, &functions, options.runs)?;
        Ok(Self {
            url,
            pool,
            database,
            manners: manners(&options),
            objects_url: s3.as_ref().map(LocalS3::endpoint_url),
            queues,
            functions,
            s3,
            stop,
            tasks,
            _alone: alone,
        })
    }

    /// Where requests are served, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    pub fn queues(&self) -> &LocalQueues {
        &self.queues
    }

    /// What runs where, a line each.
    pub fn describe(&self) -> Vec<String> {
        let engine = match self.pool.engine() {
            store::driver::Engine::Postgres => "PostgreSQL",
            store::driver::Engine::Sqlite => "SQLite",
        };
        let database = match self.pool.engine() {
            // The URL may hold a password.
            store::driver::Engine::Postgres => engine.to_owned(),
            store::driver::Engine::Sqlite => {
                format!("{engine} ({})", self.database.trim_start_matches("sqlite:"))
            }
        };
        let objects = match &self.objects_url {
            Some(url) => format!("S3 protocol at {url}, in a folder"),
            None => "the S3 bucket of the settings".to_owned(),
        };
        let agents: Vec<&str> = self.functions.ingress.agents.names().collect();
        let mut lines = vec![
            format!("database   {database}"),
            format!("objects    {objects}"),
            "queues     in this process (runs, sandboxes, publications, notifications)".to_owned(),
            "sandboxes  one server process each".to_owned(),
            format!("agents     {}", agents.join(", ")),
        ];
        lines.extend(self.manners.iter().cloned());
        lines.push(format!("A2A        {}", self.url));
        lines
    }

    /// Ends cleanly: no new request, no new message; what is at work may finish for a moment.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(FAREWELL, self.queues.stop()).await;
        // What is still at work is cut off, and that is no crash.
        let owner = &self.functions.orchestrator.owner;
        if let Err(error) = store::runs::hand_back(&self.pool, owner).await {
            tracing::warn!("runs come back when their leases end: {}", lambda_kit::chain(&error));
        }
        let _ = tokio::time::timeout(FAREWELL, async {
            while self.tasks.join_next().await.is_some() {}
        })
        .await;
        if let Some(s3) = self.s3.take() {
            s3.stop().await;
        }
    }
}

/// What callers and receivers can expect.
fn manners(options: &Options) -> Vec<String> {
    let cards = if options.trust.keys.is_empty() {
        "unsigned, for clients of 1.0 and 0.3"
    } else {
        "signed, for clients of 1.0"
    };
    let callers = if options.trust.security.is_required() {
        "must be known: X-Cognition-Scope-User"
    } else {
        "anybody of this machine; X-Cognition-Scope-User says whose work it is"
    };
    let mut webhooks = "https of the public internet".to_owned();
    for allowed in &options.allow_webhooks {
        webhooks = format!("{webhooks}, {allowed}");
    }
    vec![
        format!("cards      {cards}"),
        format!("callers    {callers}"),
        format!("webhooks   {webhooks}"),
    ]
}

/// Each function works in an environment of its own, on what its queue brings.
fn consume(queues: &LocalQueues, functions: &Functions, runs: usize) -> anyhow::Result<()> {
    let orchestrator = Arc::clone(&functions.orchestrator);
    on_queue(queues, Queue::Runs, runs, move |event| {
        let orchestrator = Arc::clone(&orchestrator);
        async move { orchestrator.handle(event, Budget::of(INVOCATION)).await }
    })?;
    let controller = Arc::clone(&functions.controller);
    on_queue(queues, Queue::Sandboxes, runs, move |event| {
        let controller = Arc::clone(&controller);
        async move { controller.handle(event).await }
    })?;
    let publisher = Arc::clone(&functions.publisher);
    on_queue(queues, Queue::Publications, runs, move |event| {
        let publisher = Arc::clone(&publisher);
        async move { publisher.handle(event).await }
    })?;
    let notifier = Arc::clone(&functions.notifier);
    on_queue(queues, Queue::Notifications, runs, move |event| {
        let notifier = Arc::clone(&notifier);
        async move { notifier.handle(event, Budget::of(INVOCATION)).await }
    })
}

fn on_queue<H, F>(
    queues: &LocalQueues,
    queue: Queue,
    concurrency: usize,
    handler: H,
) -> anyhow::Result<()>
where
    H: Fn(SqsEvent) -> F + Send + 'static,
    F: Future<Output = SqsBatchResponse> + 'static,
{
    let environment = Environment::start(queue.as_str(), handler)?;
    queues.consume(queue, concurrency, move |event| {
        let environment = environment.clone();
        async move { environment.call(event).await.unwrap_or_else(all_failed) }
    });
    Ok(())
}

/// What SQS takes for an invocation that died: an identifier that is empty fails the whole event.
fn all_failed() -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures.push(BatchItemFailure::default());
    response
}

/// Sweeps at the start, for what an earlier process left, and then again and again.
async fn sweep(sweeper: Environment<(), Swept>, every: Duration, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let stopped = tokio::select! {
            _ = ticks.tick() => false,
            _ = stop.wait_for(|stop| *stop) => true,
        };
        if stopped {
            return;
        }
        sweeper.call(()).await;
    }
}

/// A folder that is nobody else's business: prompts and files are in it.
pub(crate) fn private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Takes the data folder for this process, until it ends, however it ends.
fn take(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path)?;
    let folder: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
    file.try_lock().with_context(|| {
        format!("{} is in use by another process: choose another --data", folder.display())
    })?;
    Ok(file)
}
