//! One webhook in the hands of this worker: update after update, until it is up to date.

use std::time::Duration;

use a2a::bindings::notification;
use a2a::project::Identity;
use domain::{Event, EventBody, ScopeDigest, limits};
use lambda_kit::chain;
use lambda_kit::deadline::Budget;
use store::webhooks::{self, Again, Claimed, Hold, Release, Why};
use store::{Error, events};
use tokio::time::Instant;
use webhook::{Place, Record};

use crate::Notifier;
use crate::post::{Refusal, Sendable};
use crate::subject::Subject;

/// Updates read at once.
const PAGE: i64 = 50;
/// What must be left of the invocation, beyond one attempt, to begin it.
const RESERVE: Duration = Duration::from_secs(5);

pub(crate) struct Delivery<'a> {
    on: &'a Notifier,
    hold: Hold,
    subject: Subject,
    /// Where updates go, or why they go nowhere.
    receiver: Result<Sendable, Refusal>,
    /// Up to here, everything was told, given up, or is nothing that clients see.
    position: i64,
    /// The last update that was known to be there before the page was read. What is known later may
    /// be missing in the page.
    wanted: i64,
    /// Attempts at the next update, the one that begins now included.
    attempts: u32,
    /// Updates in a row that were given up.
    given_up: u32,
    /// When the lease was renewed.
    renewed: Instant,
}

/// What became of an update.
enum Told {
    /// It is behind us.
    Done,
    /// This invocation does no more.
    PutOff(Again),
}

impl<'a> Delivery<'a> {
    pub(crate) fn new(on: &'a Notifier, scope: ScopeDigest, claimed: Claimed) -> Self {
        let Claimed { hold, owner, agent, protocol, task, context_id, config_id, .. } = claimed;
        let place = Place { scope: &scope, task, config_id: &config_id };
        let webhooks::Sealed { key_id, bytes } = claimed.sealed;
        let sealed = sealing::Sealed { key_id, bytes };
        let receiver = match Record::open(&on.keys, place, &sealed) {
            Ok(record) => on.post.prepare(&record, notification::media_type(protocol)),
            Err(error) => {
                tracing::error!("{} cannot be opened: {}", hold.webhook(), chain(&error));
                Err(Refusal::new(Why::Unreadable))
            }
        };
        Self {
            on,
            subject: Subject {
                scope,
                owner,
                agent,
                protocol,
                identity: Identity { task, context_id },
            },
            receiver,
            position: claimed.sent,
            wanted: claimed.wanted,
            attempts: claimed.attempts.unsigned_abs(),
            given_up: claimed.given_up.unsigned_abs(),
            renewed: Instant::now(),
            hold,
        }
    }

    /// Tells the webhook everything, or as much as it takes and the budget allows. An error leaves the
    /// lease to its end.
    pub(crate) async fn run(mut self, budget: Budget) -> Result<(), Error> {
        let pool = &self.on.viewer.pool;
        loop {
            let Subject { scope, identity, .. } = &self.subject;
            let page = events::after(pool, scope, identity.task, self.position, PAGE).await?;
            let last_page = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            for event in page {
                match self.tell(&event, budget).await? {
                    Told::Done => self.position = event.sequence,
                    Told::PutOff(again) => {
                        return webhooks::put_off(pool, &self.on.ids, &self.hold, again).await;
                    }
                }
            }
            if !last_page {
                continue;
            }
            // What was wanted before the page was read was in it, if it is there at all.
            self.position = self.position.max(self.wanted);
            match webhooks::release(pool, &self.hold, self.position).await? {
                Release::Yes => return Ok(()),
                Release::More(wanted) => self.wanted = wanted,
            }
        }
    }

    async fn tell(&mut self, event: &Event, budget: Budget) -> Result<Told, Error> {
        if !a2a::project::is_shown(&event.body) {
            return Ok(Told::Done);
        }
        if budget.remaining() < self.on.post.timeout() + RESERVE {
            return Ok(Told::PutOff(Again::Elsewhere));
        }
        if self.attempts > self.allowed(event) {
            // Each of them was begun, and none came to an end.
            return self.give_up(event, Why::Crashed).await;
        }
        let body = self.subject.body(&self.on.viewer, event).await?;
        // An attempt never outlives the lease, also when this worker was held up before it: so nobody
        // tells the receiver anything newer before this.
        if self.renewed.elapsed() + self.on.post.timeout() + RESERVE > limits::LEASE {
            webhooks::renew(&self.on.viewer.pool, &self.hold).await?;
            self.renewed = Instant::now();
        }
        let posted = match (&self.receiver, body) {
            (Ok(receiver), Ok(body)) => self.on.post.send(receiver, body).await,
            (Err(refusal), _) => Err(*refusal),
            (_, Err(refusal)) => Err(refusal),
        };
        match posted {
            Ok(()) => {
                let pool = &self.on.viewer.pool;
                webhooks::advance(pool, &self.hold, event.sequence).await?;
                (self.attempts, self.given_up, self.renewed) = (1, 0, Instant::now());
                Ok(Told::Done)
            }
            Err(refusal) if refusal.is_final() || self.attempts >= self.allowed(event) => {
                self.give_up(event, refusal.why).await
            }
            Err(refusal) => {
                let wait = self.wait().max(refusal.after.unwrap_or_default());
                tracing::info!(
                    attempts = self.attempts,
                    "an update is tried again: {}",
                    refusal.why.as_str()
                );
                Ok(Told::PutOff(Again::Later(wait)))
            }
        }
    }

    /// Writes down that the receiver was not told, and goes on to the next update.
    async fn give_up(&mut self, event: &Event, why: Why) -> Result<Told, Error> {
        let attempts = i32::try_from(self.attempts).unwrap_or(i32::MAX);
        let pool = &self.on.viewer.pool;
        webhooks::give_up(pool, &self.hold, event.sequence, why, attempts).await?;
        tracing::warn!(
            attempts,
            event.sequence = event.sequence,
            "an update is given up: {}",
            why.as_str()
        );
        (self.attempts, self.renewed) = (1, Instant::now());
        self.given_up += 1;
        Ok(Told::Done)
    }

    /// How many attempts this update gets. A receiver that is away for long would otherwise be tried
    /// for days, chunk by chunk.
    fn allowed(&self, event: &Event) -> u32 {
        let all = self.on.patience.attempts;
        match event.body {
            EventBody::Status { state, .. } if state.is_terminal() || state.is_interrupted() => all,
            _ => all.checked_shr(self.given_up).unwrap_or(0).max(1),
        }
    }

    /// How long to wait before the next attempt: longer each time, and never the same for two.
    fn wait(&self) -> Duration {
        let first = self.on.patience.first_wait;
        let steps = self.attempts.saturating_sub(1).min(8);
        let full = first.saturating_mul(4_u32.pow(steps)).min(crate::Patience::LONGEST);
        // The last bits of a new id are as good as any dice.
        let [.., low] = self.on.ids.uuid().into_bytes();
        full.mul_f64(0.5 + f64::from(low) / 512.0)
    }
}
