//! Messages that are committed together with what they tell, and sent afterwards.

use std::time::Duration;

use domain::{Ids, OutboxId, ScopeDigest, Timestamp};
use messages::{Message, Queue};

use crate::driver::{Statement, places};
use crate::{Error, Pool, Tx};

/// Ids in one statement.
const CHUNK: usize = 500;

/// A committed message. Sending it twice is harmless; not sending it is the sweeper's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub id: OutboxId,
    pub queue: Queue,
    pub body: String,
    /// How long the queue holds it back.
    pub delay: Duration,
}

/// Writes a message into the transaction.
pub(crate) async fn put<M: Message>(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    message: &M,
    delay: Duration,
) -> Result<Outgoing, Error> {
    let outgoing = Outgoing::new(ids, message, delay);
    let Statement { sql, params } = outgoing.put(scope);
    tx.execute(sql, &params).await?;
    Ok(outgoing)
}

impl Outgoing {
    pub(crate) fn new<M: Message>(ids: &Ids, message: &M, delay: Duration) -> Self {
        Self { id: ids.outbox(), queue: M::QUEUE, body: message.body(), delay }
    }

    /// Writes the message.
    pub(crate) fn put(&self, scope: &ScopeDigest) -> Statement {
        Statement {
            sql: "-- store::outbox::put
                 insert into outbox (outbox_id, scope_digest, queue, body, not_before, created_at)
                 values ($1, $2, $3, $4, seconds_from_now($5), statement_timestamp())",
            params: vec![
                self.id.into(),
                scope.as_str().into(),
                self.queue.as_str().into(),
                self.body.as_str().into(),
                self.delay.as_secs_f64().into(),
            ],
        }
    }
}

/// Forgets a message that the queue has accepted. May be repeated.
pub async fn sent(pool: &Pool, id: OutboxId) -> Result<(), Error> {
    all_sent(pool, &[id]).await
}

/// [`sent`], of several messages in one statement.
pub async fn all_sent(pool: &Pool, ids: &[OutboxId]) -> Result<(), Error> {
    for ids in ids.chunks(CHUNK) {
        let mut params = Vec::with_capacity(ids.len());
        let places = places(&mut params, ids);
        let sql = format!(
            "-- store::outbox::sent
             delete from outbox where outbox_id in ({places})"
        );
        pool.execute(&sql, &params).await?;
    }
    Ok(())
}

/// Takes up to `limit` messages that are due and were left by their senders, moves them
/// `retry_after` into the future, and returns them for sending. Two sweepers take different ones;
/// one that dies after this leaves them due again later. Messages for queues that this version does
/// not know are left alone: a newer one has written them.
pub async fn take_due(
    pool: &Pool,
    limit: i64,
    grace: Duration,
    retry_after: Duration,
) -> Result<Vec<Outgoing>, Error> {
    let mut tx = pool.begin().await?;
    let known = Queue::ALL.map(|queue| format!("'{queue}'")).join(", ");
    let rows = tx
        .query(
            &format!(
                "-- store::outbox::take_due
                 select outbox_id, queue, body from outbox
                  where not_before <= seconds_from_now($1) and queue in ({known})
                  order by not_before limit $2 for update skip locked"
            ),
            &[(-grace.as_secs_f64()).into(), limit.into()],
        )
        .await?;
    let mut due = Vec::with_capacity(rows.len());
    for row in rows {
        let id: OutboxId = row.get("outbox_id")?;
        tx.execute(
            "-- store::outbox::postpone
             update outbox set not_before = seconds_from_now($2) where outbox_id = $1",
            &[id.into(), retry_after.as_secs_f64().into()],
        )
        .await?;
        let queue: String = row.get("queue")?;
        due.push(Outgoing {
            id,
            queue: queue.parse().map_err(|source| Error::corrupt("outbox", "queue", source))?,
            body: row.get("body")?,
            delay: Duration::ZERO,
        });
    }
    tx.commit().await?;
    Ok(due)
}

/// How many messages wait, and since when the oldest was due: for operators.
pub async fn backlog(pool: &Pool) -> Result<(i64, Option<Timestamp>), Error> {
    let row = pool
        .query_opt(
            "-- store::outbox::backlog
             select count(*) as waiting, min(not_before) as oldest from outbox",
            &[],
        )
        .await?
        .ok_or(Error::NotFound)?;
    Ok((row.get("waiting")?, row.get("oldest")?))
}
