//! Sends what a transaction has committed.
//!
//! **A failure here is never an error of the caller:** the message is in the outbox already, and the
//! sweeper sends what stays there. So nothing is decided on whether a send succeeded.

use cloud::queues::Queues;
use lambda_kit::chain;
use store::{Outgoing, Pool, outbox};

/// Sends a committed message and forgets it. When either fails, that is logged and the sweeper does
/// it again: the message is late then, or comes twice.
pub async fn send(pool: &Pool, queues: &dyn Queues, outgoing: Outgoing) {
    let Outgoing { id, queue, body, delay } = outgoing;
    if let Err(error) = queues.send(queue, body, delay).await {
        tracing::warn!(outbox.id = %id, "{id} stays for the sweeper: {}", chain(&error));
        return;
    }
    if let Err(error) = outbox::sent(pool, id).await {
        tracing::warn!(outbox.id = %id, "{id} is sent and will be sent again: {}", chain(&error));
    }
}

/// [`send`], for all that a transaction has made, in its order.
pub async fn send_all(
    pool: &Pool,
    queues: &dyn Queues,
    outgoing: impl IntoIterator<Item = Outgoing>,
) {
    for outgoing in outgoing {
        send(pool, queues, outgoing).await;
    }
}
