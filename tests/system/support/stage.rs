//! The handlers alone: what they send stays in the story's hands, which delivers it when and as often
//! as it likes.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use cognition_local::functions::Functions;
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use http_body_util::BodyExt as _;
use lambda_http::Body;
use lambda_kit::deadline::Budget;
use messages::Queue;
use serde_json::{Value, json};
use store::Pool;
use testkit::queues::Sent;
use testkit::{MemoryObjects, MemoryQueues};
use tokio::time::{sleep, timeout};

use super::caller::{Answer, answer};
use super::home::Home;
use super::{PATIENCE, age, book};

/// The functions on one database, and what is between them.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) pool: Pool,
    pub(crate) functions: Functions,
    pub(crate) queues: Arc<MemoryQueues>,
    pub(crate) objects: Arc<MemoryObjects>,
}

/// How long a worker waits for others before its run rests; short, so that runs do rest.
const REST_SOON: Duration = Duration::from_millis(200);

/// How often the queues are looked into.
const LOOK: Duration = Duration::from_millis(1);

/// A message on its way, and how often it was delivered already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) queue: Queue,
    pub(crate) body: String,
    pub(crate) receives: u32,
}

impl From<Sent> for Letter {
    /// Delays are over at once.
    fn from(sent: Sent) -> Self {
        Self { queue: sent.queue, body: sent.body, receives: 0 }
    }
}

impl Letter {
    fn event(&self) -> SqsEvent {
        let mut message = SqsMessage::default();
        message.message_id = Some("letter".to_owned());
        message.body = Some(self.body.clone());
        let count = ("ApproximateReceiveCount".to_owned(), self.receives.to_string());
        message.attributes = [count].into();
        let mut event = SqsEvent::default();
        event.records.push(message);
        event
    }
}

impl Stage {
    pub(crate) async fn new(home: &Home, pool: &Pool) -> Self {
        let queues = Arc::new(MemoryQueues::new());
        let objects = Arc::new(MemoryObjects::new());
        let functions = wire(home, pool, &queues, &objects, REST_SOON).await;
        Self { pool: pool.clone(), functions, queues, objects }
    }

    /// A second set of functions with the same queues and objects, as another process has it. Its
    /// workers do not rest.
    pub(crate) async fn another(&self, home: &Home, pool: &Pool) -> Functions {
        wire(home, pool, &self.queues, &self.objects, PATIENCE).await
    }

    /// Asks the ingress.
    pub(crate) async fn call(&self, agent: &str, method: &str, params: &Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = http::Request::post(format!("http://localhost/a2a/{agent}"))
            .header("a2a-version", "1.0")
            .header("content-type", "application/json")
            .body(Body::Text(body.to_string()))
            .unwrap();
        let response = self.functions.ingress.handle(request).await;
        answer(&response.into_body().collect().await.unwrap().to_bytes())
    }

    /// What was sent since the last call.
    pub(crate) fn take(&self) -> Vec<Letter> {
        self.queues.take().into_iter().map(Letter::from).collect()
    }

    /// Delivers these letters and what follows from them, each as soon as it is there, until nothing
    /// is on its way any more. Returns the letters that must come again.
    pub(crate) async fn pump(&self, letters: Vec<Letter>) -> Vec<Letter> {
        let mut post = Post::of(self);
        for letter in letters {
            post.deliver(letter);
        }
        post.run().await;
        post.again
    }

    /// Lets time pass, sweeps, and delivers, until the task has ended and nothing is under way.
    pub(crate) async fn settle(&self, task: &str, mut letters: Vec<Letter>) {
        for _ in 0..20 {
            letters = self.pump(letters).await;
            if letters.is_empty()
                && book::is_over(&self.pool, task).await
                && book::rows(&self.pool, "outbox").await == 0
            {
                return;
            }
            age::everything(&self.pool).await;
            self.functions.sweeper.sweep().await;
        }
        panic!("{task} does not end, {letters:?} come again and again");
    }
}

async fn wire(
    home: &Home,
    pool: &Pool,
    queues: &Arc<MemoryQueues>,
    objects: &Arc<MemoryObjects>,
    patience: Duration,
) -> Functions {
    let options = home.options();
    std::fs::create_dir_all(&options.data).unwrap();
    let keys = options.keys.clone().unwrap();
    let wired = Functions::wire(&options, &keys, pool, objects.clone(), queues.clone()).await;
    let mut functions = wired.unwrap();
    let orchestrator = Arc::get_mut(&mut functions.orchestrator).unwrap();
    orchestrator.settings.time.patience = patience;
    functions
}

/// Delivers letters to their handlers, which work side by side. A handler is at work only while the
/// post is; dropped with it, it dies.
pub(crate) struct Post<'a> {
    stage: &'a Stage,
    at_work: FuturesUnordered<LocalBoxFuture<'static, Option<Letter>>>,
    /// Letters that must come again.
    pub(crate) again: Vec<Letter>,
}

impl<'a> Post<'a> {
    pub(crate) fn of(stage: &'a Stage) -> Self {
        Self { stage, at_work: FuturesUnordered::new(), again: Vec::new() }
    }

    pub(crate) fn deliver(&self, letter: Letter) {
        self.at_work.push(deliver(&self.stage.functions, letter));
    }

    /// Whether some handler is at work.
    pub(crate) fn is_busy(&self) -> bool {
        !self.at_work.is_empty()
    }

    /// Lets the handlers work for a moment: until one of them is done, if that comes first.
    pub(crate) async fn work(&mut self) {
        tokio::select! {
            Some(done) = self.at_work.next() => self.again.extend(done),
            () = sleep(LOOK) => {}
        }
    }

    /// Delivers whatever is sent, until nothing is on its way any more.
    pub(crate) async fn run(&mut self) {
        let idle = timeout(PATIENCE, self.until_idle()).await;
        idle.expect("every handler answers");
    }

    async fn until_idle(&mut self) {
        loop {
            self.stage.take().into_iter().for_each(|letter| self.deliver(letter));
            if !self.is_busy() {
                return;
            }
            self.work().await;
        }
    }

    /// Delivers what was sent or must come again, but for what wakes runs, and lets the handlers work
    /// for a moment. The rest goes to `kept`.
    pub(crate) async fn serve_worker(&mut self, kept: &mut Vec<Letter>) {
        let again = std::mem::take(&mut self.again);
        for letter in again.into_iter().chain(self.stage.take()) {
            if letter.queue == Queue::Runs { kept.push(letter) } else { self.deliver(letter) }
        }
        self.work().await;
    }
}

/// Delivers a letter to its handler. Returns it when it must come again.
pub(crate) fn deliver(
    functions: &Functions,
    mut letter: Letter,
) -> LocalBoxFuture<'static, Option<Letter>> {
    letter.receives += 1;
    let functions = functions.clone();
    Box::pin(async move {
        let event = letter.event();
        let response = match letter.queue {
            Queue::Runs => {
                let budget = Budget::of(Duration::from_mins(15));
                functions.orchestrator.handle(event, budget).await
            }
            Queue::Sandboxes => functions.controller.handle(event).await,
            Queue::Publications => functions.publisher.handle(event).await,
            Queue::Notifications => {
                let budget = Budget::of(Duration::from_mins(15));
                functions.notifier.handle(event, budget).await
            }
        };
        (!response.batch_item_failures.is_empty()).then_some(letter)
    })
}
