//! Webhooks: where updates of one task are posted to, in the order of its log.
//!
//! ```text
//!           an event is appended           claim               release, when there is no more
//!  idle ────────────────────────► asked ──────────► held ─────────────────────────────► idle
//!  (no due_at, no lease)          (due_at) ◄────────(lease) put_off: later, or elsewhere
//! ```
//!
//! **No update is passed over and none is forgotten.** An append moves `wanted_sequence` in its own
//! transaction, under the webhook's row lock; a worker lets go only if nothing was appended since it
//! looked. So a worker that holds the webhook finds the new event, and where nobody does, the message
//! that wakes one is in the outbox of the same transaction. `sent_sequence` is moved under the
//! worker's fence, one update at a time.
//!
//! Rows of webhooks are locked last, after the session's.

mod delivery;

use std::fmt;
use std::time::Duration;

use domain::{AgentKey, Ids, ProtocolVersion, ScopeDigest, SessionId, TaskId, WebhookId};
use messages::notifications::WebhookReady;

use crate::events::Source;
use crate::outbox;
use crate::{Error, Pool, Row, Tx};

pub use delivery::{
    Again, Claim, Claimed, DeadLetter, Hold, Release, Why, abandon_all, advance, claim,
    dead_letters, give_up, put_off, release, renew,
};

/// What only the holder of a key can read: address, token and credentials of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub key_id: String,
    pub bytes: Vec<u8>,
}

/// Seals a webhook for its place, which is known only when it is stored.
pub trait Seal: fmt::Debug + Send + Sync {
    fn seal(&self, scope: &ScopeDigest, task: TaskId, config_id: &str) -> Sealed;
}

/// A webhook to be made.
#[derive(Debug)]
pub struct NewWebhook<'a> {
    /// Unique within the task, whose own id is used where there is none. One of the same id is
    /// replaced.
    pub config_id: Option<&'a str>,
    /// What its client speaks, and so its receiver.
    pub protocol: ProtocolVersion,
    pub seal: &'a dyn Seal,
    /// How many webhooks the task may have.
    pub most: u32,
}

/// Whose webhooks are meant.
#[derive(Debug, Clone, Copy)]
pub struct Of<'a> {
    pub scope: &'a ScopeDigest,
    pub agent: &'a AgentKey,
    pub task: TaskId,
}

/// A webhook as its owner reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub config_id: String,
    pub sealed: Sealed,
}

/// Whether a webhook was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Yes,
    /// The task has as many as it may have.
    TooMany,
}

/// Whether a webhook was made for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    Yes,
    TooMany,
    /// No such task in this scope and agent.
    UnknownTask,
}

/// Makes a webhook that is told of everything that is appended from now on, also on a task that has
/// ended. One of the same id is replaced and goes on where that one stood: whoever was telling it
/// something tells it again, at the new address and in the new version. May be repeated.
pub async fn create(
    pool: &Pool,
    ids: &Ids,
    of: Of<'_>,
    webhook: &NewWebhook<'_>,
) -> Result<Created, Error> {
    let mut tx = pool.begin().await?;
    let Some(session) = session(&mut tx, of).await? else { return Ok(Created::UnknownTask) };
    match put(&mut tx, ids, of, session, webhook, 0).await? {
        Put::Yes => {
            tx.commit().await?;
            Ok(Created::Yes)
        }
        Put::TooMany => Ok(Created::TooMany),
    }
}

/// [`create`] in a transaction that knows the task to be the caller's. Locks the session, so that
/// nothing is appended between the position that is noted and the webhook. Of the events that this
/// transaction has appended, the webhook is told of the last `ahead` ones.
pub(crate) async fn put(
    tx: &mut Tx,
    ids: &Ids,
    of: Of<'_>,
    session: SessionId,
    webhook: &NewWebhook<'_>,
    ahead: i64,
) -> Result<Put, Error> {
    let row = tx
        .query_opt(
            "-- store::webhooks::position
             update sessions set has_webhooks = true
              where session_id = $1 and scope_digest = $2
             returning last_sequence",
            &[session.into(), of.scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let position = row.get::<i64>("last_sequence")? - ahead;
    let config_id = match webhook.config_id {
        Some(chosen) => chosen.to_owned(),
        None => of.task.as_uuid().to_string(),
    };
    let sealed = webhook.seal.seal(of.scope, of.task, &config_id);
    if replace(tx, ids, of, &config_id, webhook.protocol, &sealed).await? {
        return Ok(Put::Yes);
    }
    let made = tx
        .execute(
            "-- store::webhooks::put
             insert into webhooks (webhook_id, scope_digest, agent_name, session_id, task_id,
                                   config_id, sealed, key_id, sent_sequence, wanted_sequence, fence,
                                   attempts, given_up, protocol, created_at, ended_at)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, 0, 0, $11, statement_timestamp(),
                    (select statement_timestamp() from tasks t
                      where t.task_id = $5
                        and t.state in ('completed', 'failed', 'canceled', 'rejected'))
              where (select count(*) from webhooks where task_id = $5) < $10",
            &[
                ids.webhook().into(),
                of.scope.as_str().into(),
                of.agent.as_str().into(),
                session.into(),
                of.task.into(),
                config_id.into(),
                sealed.bytes.into(),
                sealed.key_id.into(),
                position.into(),
                webhook.most.into(),
                webhook.protocol.as_str().into(),
            ],
        )
        .await?;
    Ok(if made == 1 { Put::Yes } else { Put::TooMany })
}

/// Gives the webhook of this id what is new of it, and takes it out of the hands of its worker.
/// `false` when there is none.
async fn replace(
    tx: &mut Tx,
    ids: &Ids,
    of: Of<'_>,
    config_id: &str,
    protocol: ProtocolVersion,
    sealed: &Sealed,
) -> Result<bool, Error> {
    let row = tx
        .query_opt(
            "-- store::webhooks::replace
             update webhooks
                set sealed = $4, key_id = $5, protocol = $6, fence = fence + 1,
                    lease_owner = null, lease_until = null, attempts = 0, given_up = 0,
                    ended_at = case when ended_at is not null then statement_timestamp() end,
                    due_at = case when sent_sequence < wanted_sequence
                                  then statement_timestamp() end
              where task_id = $1 and config_id = $2 and scope_digest = $3
             returning webhook_id, case when due_at is null then 0 else 1 end as due",
            &[
                of.task.into(),
                config_id.into(),
                of.scope.as_str().into(),
                (&sealed.bytes).into(),
                sealed.key_id.as_str().into(),
                protocol.as_str().into(),
            ],
        )
        .await?;
    let Some(row) = row else { return Ok(false) };
    if row.get::<i32>("due")? == 1 {
        ask(tx, ids, of.scope, row.get("webhook_id")?, Duration::ZERO).await?;
    }
    Ok(true)
}

async fn session(tx: &mut Tx, of: Of<'_>) -> Result<Option<SessionId>, Error> {
    let row = tx
        .query_opt(
            "-- store::webhooks::session
             select session_id from tasks
              where task_id = $1 and scope_digest = $2 and agent_name = $3",
            &[of.task.into(), of.scope.as_str().into(), of.agent.as_str().into()],
        )
        .await?;
    row.map(|row| row.get("session_id")).transpose()
}

/// A webhook by its id; `None` when the task has none of this id, or is not the caller's.
pub async fn find(pool: &Pool, of: Of<'_>, config_id: &str) -> Result<Option<Stored>, Error> {
    let row = pool
        .query_opt(
            "-- store::webhooks::find
             select config_id, sealed, key_id from webhooks
              where task_id = $1 and scope_digest = $2 and agent_name = $3 and config_id = $4",
            &[of.task.into(), of.scope.as_str().into(), of.agent.as_str().into(), config_id.into()],
        )
        .await?;
    row.as_ref().map(stored).transpose()
}

/// Up to `limit` webhooks of a task, in the order of their ids, after the id `after`. `None` when
/// there is no such task, or it is not the caller's.
pub async fn list(
    pool: &Pool,
    of: Of<'_>,
    after: Option<&str>,
    limit: u32,
) -> Result<Option<Vec<Stored>>, Error> {
    let mut tx = pool.snapshot().await?;
    if session(&mut tx, of).await?.is_none() {
        return Ok(None);
    }
    let rows = tx
        .query(
            "-- store::webhooks::list
             select config_id, sealed, key_id from webhooks
              where task_id = $1 and scope_digest = $2 and agent_name = $3
                and ($4 = '' or config_id > $4)
              order by config_id limit $5",
            &[
                of.task.into(),
                of.scope.as_str().into(),
                of.agent.as_str().into(),
                after.unwrap_or_default().into(),
                limit.into(),
            ],
        )
        .await?;
    rows.iter().map(stored).collect::<Result<_, _>>().map(Some)
}

/// Deletes a webhook, if it is there; a worker that holds it stops at its next step. `false` when
/// there is no such task, or it is not the caller's. May be repeated.
pub async fn delete(pool: &Pool, of: Of<'_>, config_id: &str) -> Result<bool, Error> {
    let mut tx = pool.begin().await?;
    if session(&mut tx, of).await?.is_none() {
        return Ok(false);
    }
    tx.execute(
        "-- store::webhooks::delete
         delete from webhooks
          where task_id = $1 and scope_digest = $2 and agent_name = $3 and config_id = $4",
        &[of.task.into(), of.scope.as_str().into(), of.agent.as_str().into(), config_id.into()],
    )
    .await?;
    tx.commit().await?;
    Ok(true)
}

/// Tells the task's webhooks that there is a new update, with which the task ends or goes on. Where
/// nobody is at work or was asked already, somebody is asked.
pub(crate) async fn tell(
    tx: &mut Tx,
    source: Source<'_>,
    sequence: i64,
    ends: bool,
) -> Result<(), Error> {
    let rows = tx
        .query(
            "-- store::webhooks::tell
             update webhooks
                set wanted_sequence = $3,
                    ended_at = case when $4 = 1 then statement_timestamp() else ended_at end,
                    due_at = case when due_at is null
                                   and (lease_until is null or lease_until < statement_timestamp())
                                  then statement_timestamp() else due_at end
              where task_id = $1 and scope_digest = $2
             returning webhook_id, case when due_at = statement_timestamp() then 1 else 0 end as ask",
            &[
                source.task.into(),
                source.scope.as_str().into(),
                sequence.into(),
                i32::from(ends).into(),
            ],
        )
        .await?;
    for row in rows {
        if row.get::<i32>("ask")? == 1 {
            // Nobody hands us ids here, and nothing depends on this one.
            let webhook = row.get("webhook_id")?;
            ask(tx, &Ids::random(), source.scope, webhook, Duration::ZERO).await?;
        }
    }
    Ok(())
}

/// Leaves the message that makes a worker look at the webhook.
async fn ask(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    webhook: WebhookId,
    delay: Duration,
) -> Result<(), Error> {
    let ready = WebhookReady::new(webhook, scope.clone());
    let outgoing = outbox::put(tx, ids, scope, &ready, delay).await?;
    tx.hint(outgoing);
    Ok(())
}

fn stored(row: &Row) -> Result<Stored, Error> {
    Ok(Stored { config_id: row.get("config_id")?, sealed: sealed(row)? })
}

fn sealed(row: &Row) -> Result<Sealed, Error> {
    Ok(Sealed { key_id: row.get("key_id")?, bytes: row.get("sealed")? })
}
