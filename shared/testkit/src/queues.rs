//! The queues of a test: they keep what is sent, and fail on plan.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::Cause;
use cloud::queues::{Error, MAX_DELAY, Queues};
use messages::Queue;
use tokio::task::yield_now;

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub queue: Queue,
    pub body: String,
    pub delay: Duration,
}

/// How a planned send fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// [`Error::Denied`]; nothing is sent.
    Denied,
    /// [`Error::Unavailable`]; nothing is sent.
    Unavailable,
    /// The message is sent, and the answer is [`Error::Unavailable`].
    LostAnswer,
}

/// Queues in memory that nobody receives from.
///
/// A send yields before and after its effect, so that a future which is dropped at each of its
/// awaits also dies between the effect and the answer.
#[derive(Debug, Default)]
pub struct MemoryQueues {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sent: Vec<Sent>,
    calls: usize,
    faults: Vec<(Option<usize>, Fault)>,
}

impl MemoryQueues {
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans the fault for the `nth` send from the beginning, counted from 1.
    #[must_use]
    pub fn failing(self, nth: usize, fault: Fault) -> Self {
        self.state().faults.push((Some(nth), fault));
        self
    }

    /// Plans the fault for every send that has no other plan.
    #[must_use]
    pub fn always_failing(self, fault: Fault) -> Self {
        self.state().faults.push((None, fault));
        self
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// Every message so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.state().sent.clone()
    }

    /// Takes every message that was sent since the last call, in order.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut self.state().sent)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the send; the fault that is planned for it.
    fn next(&self) -> Option<Fault> {
        let mut state = self.state();
        state.calls += 1;
        let now = state.calls;
        let planned = |nth| state.faults.iter().find(|f| f.0 == nth).map(|f| f.1);
        planned(Some(now)).or_else(|| planned(None))
    }
}

#[async_trait]
impl Queues for MemoryQueues {
    async fn send(&self, queue: Queue, body: String, delay: Duration) -> Result<(), Error> {
        yield_now().await;
        let fault = self.next();
        let cause = Cause::new("planned");
        match fault {
            Some(Fault::Denied) => return Err(Error::Denied { queue, cause }),
            Some(Fault::Unavailable) => return Err(Error::Unavailable { queue, cause }),
            Some(Fault::LostAnswer) | None => {}
        }
        self.state().sent.push(Sent { queue, body, delay: delay.min(MAX_DELAY) });
        yield_now().await;
        match fault {
            Some(_) => Err(Error::Unavailable { queue, cause }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send(queues: &MemoryQueues, body: &str) -> Result<(), Error> {
        queues.send(Queue::Runs, body.to_owned(), Duration::MAX).await
    }

    fn bodies(sent: Vec<Sent>) -> Vec<String> {
        sent.into_iter().map(|sent| sent.body).collect()
    }

    #[tokio::test]
    async fn what_is_sent_is_kept_until_it_is_taken() {
        let queues = MemoryQueues::new();
        send(&queues, "a").await.unwrap();
        let sent = Sent { queue: Queue::Runs, body: "a".to_owned(), delay: MAX_DELAY };
        assert_eq!(queues.sent(), std::slice::from_ref(&sent));
        assert_eq!(queues.take(), [sent]);
        assert_eq!(queues.sent(), []);
    }

    #[tokio::test]
    async fn sends_fail_as_planned_and_only_those() {
        let queues = MemoryQueues::new()
            .failing(1, Fault::Denied)
            .failing(3, Fault::LostAnswer)
            .always_failing(Fault::Unavailable);
        assert!(matches!(send(&queues, "a").await, Err(Error::Denied { .. })));
        assert!(matches!(send(&queues, "b").await, Err(Error::Unavailable { .. })));
        assert!(matches!(send(&queues, "c").await, Err(Error::Unavailable { .. })));
        queues.heal();
        assert_eq!(send(&queues, "d").await, Ok(()));
        assert_eq!(bodies(queues.take()), ["c", "d"]);
    }
}
