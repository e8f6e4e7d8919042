//! The queues of a local run: in this process, with the manners of SQS.
//!
//! **At least once, and in no order.** A message that was received is hidden, not gone; it comes again
//! unless its handler has answered well in time. After [`Settings::max_receives`] it goes to the
//! dead letters, where a person finds it.
//!
//! The messages are in memory and die with the process. Nothing is lost by that: each is a hint for a
//! row, and the outbox and the sweeper send it again.
//!
//! Consumers call the same handler as Lambda does, with the same event and the same answer.

mod consumer;
mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use cloud::queues::{Error, MAX_DELAY, Queues};
use domain::{Clock, Ids};
use messages::Queue;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use state::State;
pub use state::{DeadLetter, Depth};

/// How the queues behave, all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long a received message is hidden while its handler works. Longer than any handler takes,
    /// or two work on it at once.
    pub visibility: Duration,
    /// How soon a message comes again whose handler has failed. SQS leaves it hidden for the rest of
    /// `visibility`, which is long for somebody who watches.
    pub retry_after: Duration,
    /// A message that was received this often without success becomes a dead letter.
    pub max_receives: u32,
    /// The most messages in one event.
    pub batch: usize,
}

impl Default for Settings {
    /// As deployed, but for a soon retry.
    fn default() -> Self {
        Self {
            visibility: Duration::from_mins(15),
            retry_after: Duration::from_secs(2),
            max_receives: 5,
            batch: 1,
        }
    }
}

/// The queues. Clones are the same queues.
#[derive(Debug, Clone)]
pub struct LocalQueues {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    clock: Arc<dyn Clock>,
    ids: Ids,
    states: Mutex<HashMap<Queue, State>>,
    /// Told when a message has come, has become visible sooner, or is gone.
    changed: Notify,
    stopping: CancellationToken,
    consumers: TaskTracker,
}

impl LocalQueues {
    /// Empty queues that nobody consumes. `clock` says when a message was sent; delays and
    /// visibility are counted by the runtime's own clock.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let shared = Shared {
            settings,
            clock,
            ids: Ids::random(),
            states: Mutex::default(),
            changed: Notify::new(),
            stopping: CancellationToken::new(),
            consumers: TaskTracker::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// From now on calls `handler` with the messages of `queue`, at most `concurrency` calls at a
    /// time, until [`LocalQueues::stop`].
    ///
    /// Messages that the answer does not name are done. Those that it names come again, and so do
    /// all of them when the handler panics or an identifier is empty or unknown.
    pub fn consume<H, F>(&self, queue: Queue, concurrency: usize, handler: H)
    where
        H: Fn(SqsEvent) -> F + Send + Sync + 'static,
        F: Future<Output = SqsBatchResponse> + Send + 'static,
    {
        let handler = Arc::new(handler);
        for _ in 0..concurrency {
            let consuming = consumer::run(Arc::clone(&self.shared), queue, Arc::clone(&handler));
            self.shared.consumers.spawn(consuming);
        }
    }

    /// How many messages there are.
    pub fn depth(&self, queue: Queue) -> Depth {
        self.shared.with(queue, |state| state.depth(Instant::now()))
    }

    /// The messages that were given up, in that order.
    pub fn dead_letters(&self, queue: Queue) -> Vec<DeadLetter> {
        self.shared.with(queue, |state| state.dead.clone())
    }

    /// Returns when no message is left in any queue, be it hidden or delayed. Dead letters do not
    /// count.
    pub async fn drained(&self) {
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if Queue::ALL.iter().all(|queue| self.depth(*queue) == Depth::default()) {
                return;
            }
            changed.await;
        }
    }

    /// Lets no consumer take another message, and returns when the handlers that work have
    /// answered.
    pub async fn stop(&self) {
        self.shared.stopping.cancel();
        self.shared.consumers.close();
        self.shared.consumers.wait().await;
    }
}

#[async_trait]
impl Queues for LocalQueues {
    async fn send(&self, queue: Queue, body: String, delay: Duration) -> Result<(), Error> {
        let Shared { ids, clock, .. } = &*self.shared;
        let (id, sent_at) = (ids.uuid(), clock.now());
        let visible_at = Instant::now() + delay.min(MAX_DELAY);
        self.shared.with(queue, |state| state.add(id, body, sent_at, visible_at));
        self.shared.changed.notify_waiters();
        Ok(())
    }
}

impl Shared {
    fn with<T>(&self, queue: Queue, work: impl FnOnce(&mut State) -> T) -> T {
        let mut states: MutexGuard<'_, _> =
            self.states.lock().unwrap_or_else(PoisonError::into_inner);
        work(states.entry(queue).or_default())
    }
}

#[cfg(test)]
mod tests;
