//! Finds what nobody is at, every minute, and takes it further. See README.md.
//!
//! **Liveness of the whole system rests here, correctness does not:** a sweep decides nothing that a
//! row's own guards do not permit, so it may come late, twice, or at the same moment as another one.
//! Each part is independent: one that fails stops no other.

pub mod config;
mod parts;
mod rounds;
mod swept;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use cloud::queues::Queues;
use domain::Ids;
use serde::de::IgnoredAny;
use store::Pool;

pub use swept::{Part, Swept};

/// The function: what it needs, and nothing else.
#[derive(Debug)]
pub struct Sweeper {
    pub pool: Pool,
    pub queues: Arc<dyn Queues>,
    pub ids: Ids,
    pub pace: Pace,
}

/// How patient and how busy a sweep is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rows that one search returns.
    pub batch: i64,
    /// Searches that one part makes as long as they find something to do.
    pub rounds: u32,
    /// How long a sender has for a message that it has committed.
    pub outbox_grace: Duration,
    /// When a message is sent again that could not be sent.
    pub outbox_retry: Duration,
    /// How long a wake-up may be on its way.
    pub due_grace: Duration,
    /// When a run is woken again that did not come.
    pub due_again: Duration,
    /// When the controller is asked again.
    pub sandbox_again: Duration,
    /// When the publisher is asked again.
    pub publication_again: Duration,
    /// How long a webhook's message may be on its way, and when it is sent again.
    pub webhook_grace: Duration,
    /// When a publication is given up that was asked for again and again. Later than the publisher
    /// itself gives up.
    pub publication_give_up: Duration,
    /// How long a webhook is kept after the end of its task, and an update after it was given up.
    pub webhook_retention: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            batch: 50,
            rounds: 10,
            outbox_grace: Duration::from_secs(15),
            outbox_retry: Duration::from_mins(1),
            due_grace: Duration::from_mins(1),
            due_again: Duration::from_mins(5),
            sandbox_again: Duration::from_mins(1),
            publication_again: Duration::from_mins(2),
            webhook_grace: Duration::from_mins(1),
            publication_give_up: Duration::from_mins(15),
            webhook_retention: Duration::from_hours(30 * 24),
        }
    }
}

/// A sweep in which a part did not get to its end. What it left is found by the next one.
#[derive(Debug, thiserror::Error)]
#[error("sweep: {} did not get to their end", swept::names(.0))]
pub struct Incomplete(Vec<Part>);

impl Sweeper {
    /// Sweeps once for an event of the schedule. The event says nothing that a sweep needs, so that
    /// any schedule can trigger it.
    ///
    /// An error makes Lambda count the invocation as failed, which an alarm watches; the causes are
    /// in the log.
    pub async fn handle(&self, _event: IgnoredAny) -> Result<Swept, Incomplete> {
        let swept = self.sweep().await;
        if swept.failed.is_empty() { Ok(swept) } else { Err(Incomplete(swept.failed)) }
    }

    /// Looks once for everything that nobody is at. May be repeated.
    pub async fn sweep(&self) -> Swept {
        let mut swept = Swept::default();
        // What crashed before what is late: a run whose worker died after its deadline ends here
        // and now. Publications last: those of ended runs are no longer wanted.
        for part in Part::ALL {
            let outcome = match part {
                Part::Outbox => self.send_what_is_left(&mut swept).await,
                Part::Crashes => self.after_crashes(&mut swept).await,
                Part::Deadlines => self.end_what_is_late(&mut swept).await,
                Part::WakeUps => self.wake_what_is_due(&mut swept).await,
                Part::Sandboxes => self.ask_for_sandboxes(&mut swept).await,
                Part::Publications => self.ask_for_publications(&mut swept).await,
                Part::Webhooks => self.ask_for_notifications(&mut swept).await,
                Part::Retention => self.forget_what_was_kept(&mut swept).await,
            };
            if let Err(error) = outcome {
                swept::failed(part, &error);
                swept.failed.push(part);
            }
        }
        // What the sweep itself has told tasks.
        dispatch::flush(&self.pool, &*self.queues).await;
        swept.log();
        swept
    }
}
