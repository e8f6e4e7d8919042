//! `notifications`: "this webhook has something to be told". Sent by whoever appends an event to a
//! task with webhooks, by the notifier itself (a later attempt, or more than fits one invocation),
//! and by the sweeper; received by `push-notifier`.
//!
//! A webhook that is up to date, held by another worker, not yet due or gone is acknowledged without
//! effect.

use domain::{ScopeDigest, WebhookId};
use serde::{Deserialize, Serialize};

use crate::{Message, Queue};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookReady {
    pub v: u32,
    pub webhook: WebhookId,
    pub scope: ScopeDigest,
}

impl WebhookReady {
    pub fn new(webhook: WebhookId, scope: ScopeDigest) -> Self {
        Self { v: Self::VERSION, webhook, scope }
    }
}

impl Message for WebhookReady {
    const QUEUE: Queue = Queue::Notifications;
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.v
    }
}
