//! Publishes files: reads one from its sandbox, stores it, looks at it again, and only then lets it
//! count. See README.md.
//!
//! **Nothing is announced before the stored bytes and their descriptor were read back and found
//! equal**, and the row, the artifact event and the run's wake-up are one transaction. An attempt
//! may die anywhere and be made again; the first bytes that are activated win.

pub mod config;
pub mod policy;
mod snapshot;
#[cfg(test)]
mod tests;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use cloud::objects::Objects;
use cloud::queues::Queues;
use domain::{Ids, PublicationFailure, PublicationId, ScopeDigest};
use lambda_kit::chain;
use lambda_kit::env::Secret;
use lambda_kit::sqs::{self, Failure};
use messages::Message as _;
use messages::publications::PublicationRequested;
use published::{Digest, Namespace};
use sandbox_protocol::client::Transport;
use store::publications::{self, Decision, Loaded, Requested};
use store::{Outgoing, Pool};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::policy::Policy;
use crate::snapshot::{File, Snapshot};
use crate::trouble::Trouble;

/// The function: what it needs, and nothing else.
#[derive(Debug)]
pub struct Publisher {
    pub pool: Pool,
    pub objects: Arc<dyn Objects>,
    pub queues: Arc<dyn Queues>,
    pub ids: Ids,
    pub sandboxes: Transport,
    /// Of it the bearers of sandboxes are derived.
    pub runtime_key: Secret,
    /// Of it the storage namespaces of scopes are derived.
    pub scope_key: Secret,
    pub policy: Policy,
    pub patience: Patience,
}

/// How long trouble that may pass is put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Deliveries of one message; fewer than its queue allows, so that the last one that the queue
    /// makes can still write down that we gave up.
    pub max_attempts: u32,
    /// Age of the publication.
    pub max_age: Duration,
}

/// A message whose publication does not exist in its scope.
#[derive(Debug, thiserror::Error)]
#[error("{0} is unknown")]
struct Unknown(PublicationId);

impl Publisher {
    /// Publishes what the messages ask for.
    ///
    /// Safe to repeat: a publication that is decided is acknowledged without effect. A failure that
    /// the model should know of is written to the row and acknowledged.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        let mut response = SqsBatchResponse::default();
        for record in event.records {
            // One by one, so that each message knows how often it was delivered.
            let attempt = attempt(&record);
            let mut single = SqsEvent::default();
            single.records.push(record);
            let publish = |message| self.publish(message, attempt);
            let answer = sqs::for_each(single, PublicationRequested::parse, publish).await;
            response.batch_item_failures.extend(answer.batch_item_failures);
        }
        response
    }

    async fn publish(&self, message: PublicationRequested, attempt: u32) -> Result<(), Failure> {
        let PublicationRequested { publication, scope, .. } = message;
        let span = info_span!("publication", publication.id = %publication);
        async {
            let requested = match publications::load(&self.pool, &scope, publication).await {
                Ok(Loaded::Requested(requested)) => requested,
                Ok(Loaded::Decided) => return Ok(()),
                Ok(Loaded::Unknown) => return Err(Failure::reject(Unknown(publication))),
                Err(error) => return Err(store_failure(error)),
            };
            match self.attempt(&scope, &requested).await {
                Ok(decision) => {
                    self.wake(decision).await;
                    Ok(())
                }
                Err(trouble) => self.settle(&scope, &requested, trouble, attempt).await,
            }
        }
        .instrument(span)
        .await
    }

    /// The ten steps of the specification. Nothing counts before the last one, which is one
    /// transaction.
    async fn attempt(
        &self,
        scope: &ScopeDigest,
        requested: &Requested,
    ) -> Result<Decision, Trouble> {
        let path = observed(info_span!("cognition.publication.validate", outcome = Empty), async {
            Ok(policy::validate(requested)?)
        })
        .await?;
        // Whether anything may be published at all, before the sandbox hears of it.
        self.policy.delivery(0)?;
        let bytes = observed(
            info_span!("cognition.publication.download", outcome = Empty),
            snapshot::download(
                &self.sandboxes,
                self.runtime_key.expose().as_bytes(),
                requested,
                &path,
                &self.policy,
            ),
        )
        .await?;
        let delivery = self.policy.delivery(bytes.len() as u64)?;
        let file = observed(info_span!("cognition.publication.hash", outcome = Empty), async {
            Ok(File { digest: Digest::of(&bytes), bytes })
        })
        .await?;

        let objects = &*self.objects;
        let namespace = Namespace::new(&requested.owner, self.scope_key.expose().as_bytes());
        let unchecked = observed(
            info_span!("cognition.publication.upload", outcome = Empty),
            snapshot::upload(objects, &namespace, requested, &file),
        )
        .await?;
        let object = observed(
            info_span!("cognition.publication.verify", outcome = Empty),
            unchecked.verify(objects),
        )
        .await?;
        observed(info_span!("cognition.publication.manifest", outcome = Empty), async {
            let descriptor =
                snapshot::describe(objects, &namespace, requested, &file, &object, delivery)
                    .await?;
            let snapshot = Snapshot::new(file, delivery, object, descriptor);
            let verified = snapshot.verified();
            Ok(publications::activate(&self.pool, &self.ids, scope, requested.id, &verified)
                .await?)
        })
        .await
    }

    /// What becomes of an attempt that did not end in a decision.
    async fn settle(
        &self,
        scope: &ScopeDigest,
        requested: &Requested,
        trouble: Trouble,
        attempt: u32,
    ) -> Result<(), Failure> {
        match trouble {
            Trouble::Refused(code) => self.fail(scope, requested.id, code).await,
            Trouble::Hopeless(cause) => {
                tracing::error!("gave up at once: {}", chain(&*cause));
                self.fail(scope, requested.id, PublicationFailure::PublicationFailed).await
            }
            // Once may be an accident on the way.
            Trouble::Differs if attempt < 2 => Err(Failure::retry(Differs)),
            Trouble::Differs => {
                tracing::error!("gave up: {Differs}");
                self.fail(scope, requested.id, PublicationFailure::VerificationFailed).await
            }
            Trouble::Transient(cause) => {
                if let Some(code) = self.lapsed(scope, requested.id).await? {
                    return self.fail(scope, requested.id, code).await;
                }
                let patience = self.patience;
                if attempt < patience.max_attempts && requested.age < patience.max_age {
                    return Err(Failure::retry(cause));
                }
                tracing::error!(attempt, "gave up: {}", chain(&*cause));
                self.fail(scope, requested.id, PublicationFailure::PublicationFailed).await
            }
        }
    }

    /// Whether trouble with the sandbox has its reason in what happened meanwhile, so that the
    /// model need not wait for another attempt to hear of it.
    async fn lapsed(
        &self,
        scope: &ScopeDigest,
        publication: PublicationId,
    ) -> Result<Option<PublicationFailure>, Failure> {
        match publications::load(&self.pool, scope, publication).await {
            Ok(Loaded::Requested(requested)) => Ok(requested.lapsed),
            Ok(Loaded::Decided | Loaded::Unknown) => Ok(None),
            Err(error) => Err(store_failure(error)),
        }
    }

    async fn fail(
        &self,
        scope: &ScopeDigest,
        publication: PublicationId,
        code: PublicationFailure,
    ) -> Result<(), Failure> {
        let decision = publications::fail(&self.pool, &self.ids, scope, publication, code).await;
        self.wake(decision.map_err(store_failure)?).await;
        Ok(())
    }

    /// Sends the run's wake-up, which is committed already.
    async fn wake(&self, decision: Decision) {
        let outgoing: Option<Outgoing> = match decision {
            Decision::Active(outgoing) => {
                tracing::info!("published");
                outgoing
            }
            Decision::Failed(code, outgoing) => {
                tracing::info!(code = %code, "not published");
                outgoing
            }
            Decision::Already => None,
        };
        dispatch::send_all(&self.pool, &*self.queues, outgoing).await;
        dispatch::flush(&self.pool, &*self.queues).await;
    }
}

/// The store gave back other bytes than it was given.
#[derive(Debug, thiserror::Error)]
#[error("what the object store gave back differs from what it was given")]
struct Differs;

/// How often this message was delivered, this time included.
fn attempt(record: &SqsMessage) -> u32 {
    let count = record.attributes.get("ApproximateReceiveCount");
    count.and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// Which store errors are worth another try. The row stays `requested`, so that the sweeper finds
/// it when this message is gone.
fn store_failure(error: store::Error) -> Failure {
    if error.is_retryable() { Failure::retry(error) } else { Failure::reject(error) }
}

/// Runs one step in its span, which learns how it went.
async fn observed<T>(
    span: Span,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let result = work.instrument(span.clone()).await;
    span.record("outcome", if result.is_ok() { "success" } else { "error" });
    result
}
