//! The messages of one SQS event, one by one.
//!
//! **One bad message never fails its neighbours.** Each body is parsed by itself; the answer names
//! the messages that SQS shall keep.
//!
//! The event source mapping must have `ReportBatchItemFailures` set, or SQS takes every answer as
//! success and drops the failed messages.

use std::error::Error as StdError;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use tracing::Instrument as _;

use crate::chain;

/// Why a message was not handled, and so what becomes of it. Decided once, by the code that still
/// knows the cause.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The next attempt may succeed: SQS delivers the message again.
    #[error("will be retried")]
    Retry(#[source] Box<dyn StdError + Send + Sync>),
    /// No attempt will succeed, and nothing records why: SQS carries the message to the dead-letter
    /// queue, where a person finds it.
    ///
    /// This is for a message that belongs to nothing we know, such as an unreadable one. Where the
    /// run is known, the handler writes the outcome down and answers `Ok`.
    #[error("is rejected")]
    Reject(#[source] Box<dyn StdError + Send + Sync>),
}

impl Failure {
    pub fn retry(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Retry(cause.into())
    }

    pub fn reject(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Reject(cause.into())
    }
}

/// Parses and handles each message of the event, in its order and one after the other, and names
/// those that failed.
///
/// - A body that `parse` refuses is [`Failure::Reject`]: it stays in the queue until SQS has tried
///   it often enough to move it to the dead-letter queue.
/// - A failed message does not stop those after it.
/// - A failure is logged here, once and with its causes: `warn` when it will be retried, `error`
///   when a person should look.
/// - A failed message without an id makes SQS keep the whole batch, since an unnamed message would
///   be dropped.
pub async fn for_each<M, E, F>(
    event: SqsEvent,
    parse: impl Fn(&str) -> Result<M, E>,
    handle: impl Fn(M) -> F,
) -> SqsBatchResponse
where
    E: StdError + Send + Sync + 'static,
    F: Future<Output = Result<(), Failure>>,
{
    let mut response = SqsBatchResponse::default();
    for record in event.records {
        let id = record.message_id.clone().unwrap_or_default();
        let receives = record.attributes.get("ApproximateReceiveCount").map(String::as_str);
        let span = tracing::info_span!("message", message.id = id, message.receives = receives);
        let handled = async {
            let message = parse(body(&record)).map_err(Failure::reject)?;
            handle(message).await
        };
        let outcome = handled.instrument(span.clone()).await;
        let Err(failure) = outcome else { continue };
        span.in_scope(|| log(&id, &failure));
        response.add_failure(id);
    }
    response
}

/// No body at all is as unreadable as an empty one.
fn body(record: &SqsMessage) -> &str {
    record.body.as_deref().unwrap_or_default()
}

fn log(id: &str, failure: &Failure) {
    match failure {
        Failure::Retry(_) => tracing::warn!(message.id = id, "message {id} {}", chain(failure)),
        Failure::Reject(_) => tracing::error!(message.id = id, "message {id} {}", chain(failure)),
    }
}

#[cfg(test)]
mod tests;
