//! [`Queues`] on Amazon SQS.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use lambda_kit::env::Reader;
use messages::Queue;

use crate::Cause;
use crate::aws::{self, Fault, Kind};
use crate::queues::{Error, MAX_DELAY, Queues};

/// The addresses of the queues that a function sends to.
#[derive(Clone, Default)]
pub struct SqsSettings {
    pub runs_url: Option<String>,
    pub sandboxes_url: Option<String>,
    pub publications_url: Option<String>,
    pub notifications_url: Option<String>,
}

impl SqsSettings {
    /// Reads `COGNITION_QUEUE_RUNS_URL`, `COGNITION_QUEUE_SANDBOXES_URL`,
    /// `COGNITION_QUEUE_PUBLICATIONS_URL` and `COGNITION_QUEUE_NOTIFICATIONS_URL`. Those of the queues
    /// in `needed` must be there.
    pub fn read(read: &mut Reader<'_>, needed: &[Queue]) -> Option<Self> {
        let mut settings = Self::default();
        let mut complete = true;
        for queue in Queue::ALL {
            let needed = needed.contains(&queue);
            let name = setting(queue);
            let url = if needed { read.required(name) } else { read.optional(name) };
            complete &= url.is_some() || !needed;
            *settings.url_mut(queue) = url;
        }
        complete.then_some(settings)
    }

    const fn url(&self, queue: Queue) -> Option<&String> {
        match queue {
            Queue::Runs => self.runs_url.as_ref(),
            Queue::Sandboxes => self.sandboxes_url.as_ref(),
            Queue::Publications => self.publications_url.as_ref(),
            Queue::Notifications => self.notifications_url.as_ref(),
        }
    }

    const fn url_mut(&mut self, queue: Queue) -> &mut Option<String> {
        match queue {
            Queue::Runs => &mut self.runs_url,
            Queue::Sandboxes => &mut self.sandboxes_url,
            Queue::Publications => &mut self.publications_url,
            Queue::Notifications => &mut self.notifications_url,
        }
    }
}

impl fmt::Debug for SqsSettings {
    /// Prints the queues that are known; an address names the account.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(Queue::ALL.iter().filter(|q| self.url(**q).is_some())).finish()
    }
}

/// The setting that holds the address of `queue`.
const fn setting(queue: Queue) -> &'static str {
    match queue {
        Queue::Runs => "COGNITION_QUEUE_RUNS_URL",
        Queue::Sandboxes => "COGNITION_QUEUE_SANDBOXES_URL",
        Queue::Publications => "COGNITION_QUEUE_PUBLICATIONS_URL",
        Queue::Notifications => "COGNITION_QUEUE_NOTIFICATIONS_URL",
    }
}

/// The queues of this deployment.
#[derive(Debug, Clone)]
pub struct SqsQueues {
    client: Client,
    settings: SqsSettings,
}

impl SqsQueues {
    /// Makes the client; region, credentials and endpoint come from the environment. Sends nothing.
    pub async fn connect(settings: SqsSettings) -> Self {
        Self { client: Client::new(&aws::loader().load().await), settings }
    }
}

#[async_trait]
impl Queues for SqsQueues {
    async fn send(&self, queue: Queue, body: String, delay: Duration) -> Result<(), Error> {
        let Some(url) = self.settings.url(queue) else {
            let cause = Cause::new("its address is not among the settings");
            return Err(Error::Refused { queue, cause });
        };
        let request = self.client.send_message().queue_url(url).message_body(body);
        let Err(error) = request.delay_seconds(seconds(delay)).send().await else { return Ok(()) };
        let Fault { kind, cause, .. } = Fault::read(&error);
        Err(match kind {
            Kind::Denied => Error::Denied { queue, cause },
            Kind::Unavailable => Error::Unavailable { queue, cause },
            Kind::Refused => Error::Refused { queue, cause },
        })
    }
}

/// Whole seconds, rounded up so that nothing comes early, and no more than the queues keep.
fn seconds(delay: Duration) -> i32 {
    let delay = delay.min(MAX_DELAY);
    let whole = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
    i32::try_from(whole).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
