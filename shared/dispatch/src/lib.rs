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
    send_all(pool, queues, [outgoing]).await;
}

/// Sends what committed transactions of this pool have left for whoever comes first: messages that
/// tell of appended events. For every function that has appended some.
pub async fn flush(pool: &Pool, queues: &dyn Queues) {
    send_all(pool, queues, pool.take_hints()).await;
}

/// [`send`], for all that a transaction has made, in its order. They are forgotten together: who
/// dies before that leaves them all to be sent again.
pub async fn send_all(
    pool: &Pool,
    queues: &dyn Queues,
    outgoing: impl IntoIterator<Item = Outgoing>,
) {
    let mut sent = Vec::new();
    for Outgoing { id, queue, body, delay } in outgoing {
        match queues.send(queue, body, delay).await {
            Ok(()) => sent.push(id),
            Err(error) => {
                tracing::warn!(outbox.id = %id, "{id} stays for the sweeper: {}", chain(&error));
            }
        }
    }
    if let Err(error) = outbox::all_sent(pool, &sent).await {
        for id in sent {
            tracing::warn!(outbox.id = %id, "{id} is sent and will be sent again: {}", chain(&error));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use messages::Queue;
    use store::Pool;
    use testkit::queues::Fault;
    use testkit::{MemoryQueues, on_both};
    use uuid::Uuid;

    use super::*;

    /// A committed message, as a transaction leaves it.
    async fn committed(pool: &Pool, number: u128) -> Outgoing {
        let id = domain::OutboxId::from_uuid(Uuid::from_u128(number));
        let (queue, delay) = (Queue::Runs, Duration::from_secs(1));
        let outgoing = Outgoing { id, queue, body: format!("message {number}"), delay };
        let sql =
            "insert into outbox (outbox_id, scope_digest, queue, body, not_before, created_at)
             values ($1, 'scope', 'runs', $2, statement_timestamp(), statement_timestamp())";
        pool.execute(sql, &[id.into(), outgoing.body.as_str().into()]).await.unwrap();
        outgoing
    }

    async fn left(pool: &Pool) -> Vec<String> {
        let rows = pool.query("select body from outbox order by body", &[]).await.unwrap();
        rows.iter().map(|row| row.get("body").unwrap()).collect()
    }

    #[tokio::test]
    async fn what_is_sent_is_forgotten_and_what_is_not_stays_for_the_sweeper() {
        on_both(async |pool| {
            let queues = MemoryQueues::new()
                .failing(2, Fault::Unavailable)
                .failing(3, Fault::LostAnswer)
                .failing(4, Fault::Denied);
            let mut all = Vec::new();
            for number in 1..=5 {
                all.push(committed(&pool, number).await);
            }
            send_all(&pool, &queues, all).await;
            let sent: Vec<_> =
                queues.take().into_iter().map(|sent| (sent.body, sent.delay)).collect();
            let message = |number| (format!("message {number}"), Duration::from_secs(1));
            assert_eq!(sent, [message(1), message(3), message(5)]);
            assert_eq!(left(&pool).await, ["message 2", "message 3", "message 4"]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_message_that_was_forgotten_already_is_sent_all_the_same() {
        on_both(async |pool| {
            let queues = MemoryQueues::new();
            let outgoing = committed(&pool, 1).await;
            for _ in 0..2 {
                send(&pool, &queues, outgoing.clone()).await;
            }
            assert_eq!(queues.take().len(), 2);
            assert_eq!(left(&pool).await, Vec::<String>::new());
        })
        .await;
    }
}
