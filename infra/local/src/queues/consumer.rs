//! One consumer: receives, calls the handler, and settles what it has answered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use messages::Queue;
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::state::{Message, Receipt, Received};

/// Consumes until the queues stop; a handler that works then is waited for.
pub(super) async fn run<H, F>(shared: Arc<Shared>, queue: Queue, handler: Arc<H>)
where
    H: Fn(SqsEvent) -> F + Send + Sync + 'static,
    F: Future<Output = SqsBatchResponse> + Send + 'static,
{
    loop {
        let messages = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => return,
            messages = receive(&shared, queue) => messages,
        };
        let receipts: Vec<Receipt> = messages.iter().map(Message::receipt).collect();
        let event = event(queue, messages);
        let handler = Arc::clone(&handler);
        // A task of its own, so that a panic ends the call and not the consumer. The handler is
        // called within it, since it may panic before it gives a future.
        let answer = tokio::spawn(async move { handler(event).await }).await;
        let failed = if let Ok(response) = answer {
            failed(&receipts, &response)
        } else {
            tracing::error!("the handler of the {queue} queue has panicked");
            receipts.iter().copied().collect()
        };
        settle(&shared, queue, &receipts, &failed);
    }
}

/// Waits for messages and takes them.
async fn receive(shared: &Shared, queue: Queue) -> Vec<Message> {
    loop {
        let mut changed = std::pin::pin!(shared.changed.notified());
        // From here on no change is missed.
        changed.as_mut().enable();
        let wall = shared.clock.now();
        let dead = shared.with(queue, |state| state.dead.len());
        let received =
            shared.with(queue, |state| state.receive(shared.settings, wall, Instant::now()));
        if shared.with(queue, |state| state.dead.len()) > dead {
            tracing::error!("a message of the {queue} queue was given up");
            shared.changed.notify_waiters();
        }
        match received {
            Received::Messages(messages) => return messages,
            Received::Nothing { next: Some(next) } => tokio::select! {
                () = changed => {}
                () = sleep_until(next) => {}
            },
            Received::Nothing { next: None } => changed.await,
        }
    }
}

/// The receipts that the answer names; all, when it names one that is none of these.
fn failed(receipts: &[Receipt], response: &SqsBatchResponse) -> HashSet<Receipt> {
    let known: HashMap<String, Receipt> =
        receipts.iter().map(|receipt| (receipt.id.to_string(), *receipt)).collect();
    let named = response.batch_item_failures.iter();
    let named = named.map(|failure| known.get(&failure.item_identifier).copied());
    named.collect::<Option<_>>().unwrap_or_else(|| receipts.iter().copied().collect())
}

fn settle(shared: &Shared, queue: Queue, receipts: &[Receipt], failed: &HashSet<Receipt>) {
    shared.with(queue, |state| {
        for receipt in receipts {
            if failed.contains(receipt) {
                state.failed(*receipt, Instant::now(), shared.settings.retry_after);
            } else {
                state.done(*receipt);
            }
        }
    });
    shared.changed.notify_waiters();
}

/// The event as Lambda gets it from SQS.
fn event(queue: Queue, messages: Vec<Message>) -> SqsEvent {
    let mut event = SqsEvent::default();
    event.records = messages.into_iter().map(|message| record(queue, message)).collect();
    event
}

fn record(queue: Queue, message: Message) -> SqsMessage {
    let millis = |at: domain::Timestamp| (at.as_micros() / 1000).to_string();
    let Receipt { id, receives } = message.receipt();
    let first = message.first_received_at.unwrap_or(message.sent_at);
    let mut record = SqsMessage::default();
    record.message_id = Some(id.to_string());
    record.receipt_handle = Some(format!("{id}.{receives}"));
    record.body = Some(message.body);
    record.attributes = [
        ("ApproximateReceiveCount", receives.to_string()),
        ("SentTimestamp", millis(message.sent_at)),
        ("ApproximateFirstReceiveTimestamp", millis(first)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    record.event_source = Some("aws:sqs".to_owned());
    record.event_source_arn = Some(format!("arn:aws:sqs:local:000000000000:{queue}"));
    record.aws_region = Some("local".to_owned());
    record
}
