//! A webhook in the hands of the worker that tells it what happens.
//!
//! **Every write carries the fence of the claim**: a worker that was overtaken, or whose webhook was
//! replaced or deleted, moves nothing.

use std::time::Duration;

use domain::{
    AgentKey, Ids, ProtocolVersion, Scope, ScopeDigest, SessionId, TaskId, Timestamp, WebhookId,
    limits,
};

use super::{Sealed, ask, sealed};
use crate::{Error, Pool, Row, Tx};

/// How much earlier than its time a message may come and still be the one that was sent for it:
/// queues and database have different clocks.
const EARLY: Duration = Duration::from_secs(1);

/// The right to move one webhook on.
#[derive(Debug, Clone)]
pub struct Hold {
    webhook: WebhookId,
    scope: ScopeDigest,
    fence: i64,
}

impl Hold {
    pub fn webhook(&self) -> WebhookId {
        self.webhook
    }
}

/// What a claim found.
#[derive(Debug)]
pub enum Claim {
    Yes(Box<Claimed>),
    /// Nothing is to be told, somebody else is at it, or it is not yet time for the next attempt.
    No,
    /// No such webhook in this scope.
    Gone,
}

/// A webhook that was claimed, and where it stands.
#[derive(Debug)]
pub struct Claimed {
    pub hold: Hold,
    pub owner: Scope,
    pub agent: AgentKey,
    /// In which version it is told.
    pub protocol: ProtocolVersion,
    pub task: TaskId,
    pub context_id: String,
    pub config_id: String,
    pub sealed: Sealed,
    /// Up to here, everything was told or given up.
    pub sent: i64,
    /// The last update that there is.
    pub wanted: i64,
    /// Attempts at the next update, the one that begins now included. Crashes count too.
    pub attempts: i32,
    /// Updates in a row that were given up.
    pub given_up: i32,
}

/// Takes a webhook that has something to be told, if nobody holds it and it is time. The fence is
/// higher than every earlier one.
pub async fn claim(
    pool: &Pool,
    scope: &ScopeDigest,
    webhook: WebhookId,
    owner: &str,
) -> Result<Claim, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::webhooks::claim
             update webhooks
                set fence = fence + 1, lease_owner = $3, lease_until = seconds_from_now($4),
                    due_at = null, attempts = attempts + 1
              where webhook_id = $1 and scope_digest = $2 and sent_sequence < wanted_sequence
                and (lease_until is null or lease_until < statement_timestamp())
                and (due_at is null or due_at <= seconds_from_now($5))
             returning session_id, agent_name, protocol, task_id, config_id, sealed, key_id, fence,
                       sent_sequence, wanted_sequence, attempts, given_up",
            &[
                webhook.into(),
                scope.as_str().into(),
                owner.into(),
                limits::LEASE.as_secs_f64().into(),
                EARLY.as_secs_f64().into(),
            ],
        )
        .await?;
    let Some(row) = row else { return unclaimed(&mut tx, scope, webhook).await };
    let session: SessionId = row.get("session_id")?;
    let of = tx
        .query_opt(
            "-- store::webhooks::claim_session
             select scope, context_id from sessions where session_id = $1 and scope_digest = $2",
            &[session.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let canonical: String = of.get("scope")?;
    let (agent, protocol): (String, String) = (row.get("agent_name")?, row.get("protocol")?);
    let claimed = Claimed {
        hold: Hold { webhook, scope: scope.clone(), fence: row.get("fence")? },
        owner: Scope::from_canonical(&canonical)
            .map_err(|source| Error::corrupt("sessions", "scope", source))?,
        agent: AgentKey::from_stored(&agent)
            .map_err(|source| Error::corrupt("webhooks", "agent_name", source))?,
        protocol: { protocol.parse() }
            .map_err(|source| Error::corrupt("webhooks", "protocol", source))?,
        task: row.get("task_id")?,
        context_id: of.get("context_id")?,
        config_id: row.get("config_id")?,
        sealed: sealed(&row)?,
        sent: row.get("sent_sequence")?,
        wanted: row.get("wanted_sequence")?,
        attempts: row.get("attempts")?,
        given_up: row.get("given_up")?,
    };
    tx.commit().await?;
    Ok(Claim::Yes(Box::new(claimed)))
}

async fn unclaimed(tx: &mut Tx, scope: &ScopeDigest, webhook: WebhookId) -> Result<Claim, Error> {
    let row = tx
        .query_opt(
            "-- store::webhooks::unclaimed
             select webhook_id from webhooks where webhook_id = $1 and scope_digest = $2",
            &[webhook.into(), scope.as_str().into()],
        )
        .await?;
    Ok(if row.is_some() { Claim::No } else { Claim::Gone })
}

/// Notes that the update at `sequence` was told, and keeps the lease for another
/// [`limits::LEASE`].
pub async fn advance(pool: &Pool, hold: &Hold, sequence: i64) -> Result<(), Error> {
    let moved = pool
        .execute(
            "-- store::webhooks::advance
             update webhooks
                set sent_sequence = $4, attempts = 1, given_up = 0,
                    lease_until = seconds_from_now($5)
              where webhook_id = $1 and scope_digest = $2 and fence = $3 and sent_sequence < $4",
            &[
                hold.webhook.into(),
                hold.scope.as_str().into(),
                hold.fence.into(),
                sequence.into(),
                limits::LEASE.as_secs_f64().into(),
            ],
        )
        .await?;
    if moved == 1 { Ok(()) } else { Err(Error::LeaseLost) }
}

/// Keeps the lease for another [`limits::LEASE`].
pub async fn renew(pool: &Pool, hold: &Hold) -> Result<(), Error> {
    let kept = pool
        .execute(
            "-- store::webhooks::renew
             update webhooks set lease_until = seconds_from_now($4)
              where webhook_id = $1 and scope_digest = $2 and fence = $3",
            &[
                hold.webhook.into(),
                hold.scope.as_str().into(),
                hold.fence.into(),
                limits::LEASE.as_secs_f64().into(),
            ],
        )
        .await?;
    if kept == 1 { Ok(()) } else { Err(Error::LeaseLost) }
}

/// Why an update was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Its address is none that may be called.
    Forbidden,
    /// There was no connection.
    Unreachable,
    /// There was no answer in time, or none that is one.
    NoAnswer,
    /// The answer was no success.
    Refused,
    /// The answer sends us elsewhere, where we do not go.
    Redirected,
    /// The receiver says that it is gone for good.
    Gone,
    /// The update, or the webhook's own record, could not be read.
    Unreadable,
    /// Workers died at it.
    Crashed,
}

impl Why {
    pub const ALL: [Self; 8] = [
        Self::Forbidden,
        Self::Unreachable,
        Self::NoAnswer,
        Self::Refused,
        Self::Redirected,
        Self::Gone,
        Self::Unreadable,
        Self::Crashed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Unreachable => "unreachable",
            Self::NoAnswer => "no_answer",
            Self::Refused => "refused",
            Self::Redirected => "redirected",
            Self::Gone => "gone",
            Self::Unreadable => "unreadable",
            Self::Crashed => "crashed",
        }
    }
}

/// Passes over the update at `sequence` and writes down that it was never told; the lease is kept
/// for another [`limits::LEASE`].
pub async fn give_up(
    pool: &Pool,
    hold: &Hold,
    sequence: i64,
    why: Why,
    attempts: i32,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::webhooks::give_up
             update webhooks
                set sent_sequence = $4, attempts = 1, given_up = given_up + 1,
                    lease_until = seconds_from_now($5)
              where webhook_id = $1 and scope_digest = $2 and fence = $3 and sent_sequence < $4
             returning task_id",
            &[
                hold.webhook.into(),
                hold.scope.as_str().into(),
                hold.fence.into(),
                sequence.into(),
                limits::LEASE.as_secs_f64().into(),
            ],
        )
        .await?
        .ok_or(Error::LeaseLost)?;
    let task: TaskId = row.get("task_id")?;
    tx.execute(
        "-- store::webhooks::dead_letter
         insert into webhook_dead_letters (webhook_id, sequence, scope_digest, task_id, why,
                                           attempts, given_up_at)
         values ($1, $2, $3, $4, $5, $6, statement_timestamp())",
        &[
            hold.webhook.into(),
            sequence.into(),
            hold.scope.as_str().into(),
            task.into(),
            why.as_str().into(),
            attempts.into(),
        ],
    )
    .await?;
    tx.commit().await
}

/// Whether a webhook was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    Yes,
    /// There is a newer update, up to this one: it is still held, look again.
    More(i64),
}

/// Lets go of a webhook that is up to date: everything up to `position` was looked at. An update
/// that was appended meanwhile is never missed: then it is not let go.
pub async fn release(pool: &Pool, hold: &Hold, position: i64) -> Result<Release, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::webhooks::look
             select wanted_sequence from webhooks
              where webhook_id = $1 and scope_digest = $2 and fence = $3 for update",
            &[hold.webhook.into(), hold.scope.as_str().into(), hold.fence.into()],
        )
        .await?
        .ok_or(Error::LeaseLost)?;
    let wanted: i64 = row.get("wanted_sequence")?;
    if wanted > position {
        return Ok(Release::More(wanted));
    }
    tx.execute(
        "-- store::webhooks::release
         update webhooks
            set sent_sequence = wanted_sequence, attempts = 0, lease_owner = null,
                lease_until = null, due_at = null
          where webhook_id = $1 and scope_digest = $2 and fence = $3",
        &[hold.webhook.into(), hold.scope.as_str().into(), hold.fence.into()],
    )
    .await?;
    tx.commit().await?;
    Ok(Release::Yes)
}

/// Why a webhook is let go before it is up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The attempt at the next update did not succeed; another one is made after this long.
    Later(Duration),
    /// There is more than fits into one invocation.
    Elsewhere,
}

/// Lets go of a webhook that has more to be told, with the message that brings a worker back.
pub async fn put_off(pool: &Pool, ids: &Ids, hold: &Hold, again: Again) -> Result<(), Error> {
    let (delay, kept) = match again {
        Again::Later(delay) => (delay, 1),
        Again::Elsewhere => (Duration::ZERO, 0),
    };
    let mut tx = pool.begin().await?;
    let changed = tx
        .execute(
            "-- store::webhooks::put_off
             update webhooks
                set attempts = attempts * $5, lease_owner = null, lease_until = null,
                    due_at = seconds_from_now($4)
              where webhook_id = $1 and scope_digest = $2 and fence = $3",
            &[
                hold.webhook.into(),
                hold.scope.as_str().into(),
                hold.fence.into(),
                delay.as_secs_f64().into(),
                kept.into(),
            ],
        )
        .await?;
    if changed == 0 {
        return Err(Error::LeaseLost);
    }
    ask(&mut tx, ids, &hold.scope, hold.webhook, delay).await?;
    tx.commit().await
}

/// Ends every lease, and makes what was held due. Only for a process that is alone with its
/// database, at its start: whoever held those leases is gone.
pub async fn abandon_all(pool: &Pool) -> Result<u64, Error> {
    pool.execute(
        "-- store::webhooks::abandon_all
         update webhooks set fence = fence + 1, lease_owner = null, lease_until = null,
                             due_at = case when sent_sequence < wanted_sequence
                                           then seconds_from_now(-3600) end
          where lease_until is not null or due_at is not null",
        &[],
    )
    .await
}

/// An update that a webhook was not told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub webhook: WebhookId,
    pub sequence: i64,
    /// A word of [`Why`].
    pub why: String,
    pub attempts: i32,
    pub at: Timestamp,
}

/// What the webhooks of a task were not told of, in the order of its log.
pub async fn dead_letters(
    pool: &Pool,
    scope: &ScopeDigest,
    task: TaskId,
) -> Result<Vec<DeadLetter>, Error> {
    let rows = pool
        .query(
            "-- store::webhooks::dead_letters
             select webhook_id, sequence, why, attempts, given_up_at from webhook_dead_letters
              where task_id = $1 and scope_digest = $2 order by sequence, webhook_id",
            &[task.into(), scope.as_str().into()],
        )
        .await?;
    rows.iter().map(dead_letter).collect()
}

fn dead_letter(row: &Row) -> Result<DeadLetter, Error> {
    Ok(DeadLetter {
        webhook: row.get("webhook_id")?,
        sequence: row.get("sequence")?,
        why: row.get("why")?,
        attempts: row.get("attempts")?,
        at: row.get("given_up_at")?,
    })
}
