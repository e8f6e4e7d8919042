//! Tells webhooks what happens to their tasks. See README.md.
//!
//! **Each update is posted at least once, in the order of the log, or given up in writing.** A webhook
//! is in one worker's hands at a time; its place in the log moves under that worker's fence, one update
//! at a time, after the receiver has answered. What a receiver gets is what a stream shows; one of
//! protocol 0.3 gets the task instead, as it is then.

pub mod config;
mod delivery;
mod post;
mod resolver;
mod subject;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use cloud::queues::Queues;
use domain::Ids;
use lambda_kit::deadline::Budget;
use lambda_kit::sqs::{self, Failure};
use messages::Message as _;
use messages::notifications::WebhookReady;
use sealing::Keyring;
use store::webhooks::{self, Claim};
use tracing::{Instrument as _, info_span};
use view::Viewer;

pub use post::{NoClient, Post};
pub use resolver::{Lookup, SystemLookup};

use delivery::Delivery;

/// The function: what it needs, and nothing else.
#[derive(Debug)]
pub struct Notifier {
    pub viewer: Viewer,
    pub queues: Arc<dyn Queues>,
    pub ids: Ids,
    /// Who holds the leases: one name per execution environment.
    pub owner: String,
    /// Open what is secret.
    pub keys: Arc<Keyring>,
    pub post: Post,
    pub patience: Patience,
}

/// How long an update is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts at one update. After one that was given up, the next ones get fewer each time, until
    /// one succeeds; one that ends or interrupts the task always gets all.
    pub attempts: u32,
    /// The wait after the first attempt; each later one is four times as long, up to
    /// [`Patience::LONGEST`].
    pub first_wait: Duration,
}

impl Patience {
    /// The longest wait: the queues keep a message for 15 minutes.
    pub const LONGEST: Duration = Duration::from_mins(10);
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 6, first_wait: Duration::from_secs(5) }
    }
}

impl Notifier {
    /// Tells the webhooks of the messages what they have not been told yet, within `budget`.
    ///
    /// Safe to repeat and to drop anywhere: an update may then be posted again, and none is skipped.
    /// What a receiver answers is written to the webhook's row; only trouble with our own database
    /// brings a message back.
    pub async fn handle(&self, event: SqsEvent, budget: Budget) -> SqsBatchResponse {
        sqs::for_each(event, WebhookReady::parse, |message| self.notify(message, budget)).await
    }

    async fn notify(&self, message: WebhookReady, budget: Budget) -> Result<(), Failure> {
        let WebhookReady { webhook, scope, .. } = message;
        let span = info_span!("webhook", webhook.id = %webhook);
        async {
            let claim = webhooks::claim(&self.viewer.pool, &scope, webhook, &self.owner).await;
            let claimed = match claim.map_err(failure)? {
                Claim::Yes(claimed) => *claimed,
                // Its worker or the sweeper goes on with it; or its client has deleted it.
                Claim::No | Claim::Gone => return Ok(()),
            };
            let told = Delivery::new(self, scope, claimed).run(budget).await;
            dispatch::flush(&self.viewer.pool, &*self.queues).await;
            match told {
                Ok(()) => Ok(()),
                Err(store::Error::LeaseLost) => {
                    tracing::info!("{webhook} is not ours any more");
                    Ok(())
                }
                Err(error) => Err(failure(error)),
            }
        }
        .instrument(span)
        .await
    }
}

/// Which store errors are worth another try. The lease expires, and the sweeper finds the webhook when
/// this message is gone.
fn failure(error: store::Error) -> Failure {
    if error.is_retryable() { Failure::retry(error) } else { Failure::reject(error) }
}
