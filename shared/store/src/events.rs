//! The log of a session: appended in the transaction that makes the fact, read by tails.
//!
//! **The sequence has no gap and no repetition, whoever appends:** the counter on the session's row
//! is moved in the same transaction, and the row stays locked until it ends.

use domain::{Event, EventBody, RunId, ScopeDigest, SessionId, TaskId};
use serde::{Deserialize, Serialize};

use crate::driver::{Statement, Wake};
use crate::{Error, Lease, Pool, Row, Tx, webhooks};

/// The version of the stored payload.
pub const VERSION: u32 = 1;

/// Whose events they are.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub scope: &'a ScopeDigest,
    pub session: SessionId,
    pub task: TaskId,
    pub run: RunId,
}

/// Where in a run an event is made. The same place writes the same event only once: a second
/// append at a place changes nothing.
///
/// Attempts count from 1 and place what a model says while it speaks; 0 places the result of the call
/// with that ordinal, and the run's last word; [`Place::ARTIFACT`] places the artifact of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub step: i32,
    pub attempt: i32,
    pub ordinal: i32,
}

impl Place {
    /// The attempt at which artifacts of calls are placed.
    pub const ARTIFACT: i32 = -1;
}

/// The payload as it is stored and as `events/store/` holds samples of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Payload {
    pub v: u32,
    #[serde(flatten)]
    pub body: EventBody,
}

/// Appends one event and returns its sequence, or `None` when its place is taken already.
pub(crate) async fn append(
    tx: &mut Tx,
    source: Source<'_>,
    place: Option<Place>,
    body: &EventBody,
) -> Result<Option<i64>, Error> {
    if let Some(place) = place {
        let taken = tx
            .query_opt(
                "-- store::events::taken
                 select sequence from events
                  where run_id = $1 and step = $2 and attempt = $3 and ordinal = $4
                    and scope_digest = $5",
                &[
                    source.run.into(),
                    place.step.into(),
                    place.attempt.into(),
                    place.ordinal.into(),
                    source.scope.as_str().into(),
                ],
            )
            .await?;
        if taken.is_some() {
            return Ok(None);
        }
    }
    let row = tx
        .query_opt(
            "-- store::events::next_sequence
             update sessions set last_sequence = last_sequence + 1
              where session_id = $1 and scope_digest = $2
             returning last_sequence, has_webhooks",
            &[source.session.into(), source.scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let sequence: i64 = row.get("last_sequence")?;
    tx.announce(source.task.as_uuid());
    let Statement { sql, params } = put(source, sequence, place, body)?;
    tx.execute(sql, &params).await?;
    if row.get("has_webhooks")? && is_for_clients(body) {
        let ends = matches!(body, EventBody::Status { state, .. } if state.is_terminal());
        webhooks::tell(tx, source, sequence, ends).await?;
    }
    Ok(Some(sequence))
}

/// Writes an event at a sequence of its session's log that is its own. Who uses this instead of
/// [`append`] announces it and tells the webhooks.
pub(crate) fn put(
    source: Source<'_>,
    sequence: i64,
    place: Option<Place>,
    body: &EventBody,
) -> Result<Statement, Error> {
    let kind = match body {
        EventBody::Status { .. } => "status",
        EventBody::Artifact(_) => "artifact",
        EventBody::Reply { .. } => "reply",
        EventBody::ToolCalled { .. } => "tool_called",
        EventBody::ToolFinished { .. } => "tool_finished",
    };
    let payload = serde_json::to_string(&Payload { v: VERSION, body: body.clone() })
        .map_err(|source| Error::corrupt("events", "payload", source))?;
    Ok(Statement {
        sql: "-- store::events::append
             insert into events (session_id, sequence, scope_digest, task_id, run_id, step, attempt,
                                 ordinal, kind, payload, created_at, created_tx)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
                     case when $9 = 'status'
                          then (select t.status_at from tasks t where t.task_id = $4)
                          else statement_timestamp() end,
                     case when $9 = 'status' then this_transaction() end)",
        params: vec![
            source.session.into(),
            sequence.into(),
            source.scope.as_str().into(),
            source.task.into(),
            source.run.into(),
            place.map(|p| p.step).into(),
            place.map(|p| p.attempt).into(),
            place.map(|p| p.ordinal).into(),
            kind.into(),
            payload.into(),
        ],
    })
}

/// Whether clients may get to see such an event.
const fn is_for_clients(body: &EventBody) -> bool {
    !matches!(body, EventBody::ToolCalled { .. } | EventBody::ToolFinished { .. })
}

/// The task's events after `sequence`, oldest first: what a tail polls. One indexed query.
pub async fn after(
    pool: &Pool,
    scope: &ScopeDigest,
    task: TaskId,
    sequence: i64,
    limit: i64,
) -> Result<Vec<Event>, Error> {
    let rows = pool
        .query(
            "-- store::events::after
             select sequence, task_id, run_id, created_at, payload from events
              where task_id = $1 and scope_digest = $2 and sequence > $3
              order by sequence limit $4",
            &[task.into(), scope.as_str().into(), sequence.into(), limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// The event with which the task's run answered its client directly, if it did. It never changes
/// once the task has ended.
pub async fn reply(pool: &Pool, scope: &ScopeDigest, task: TaskId) -> Result<Option<Event>, Error> {
    let row = pool
        .query_opt(
            "-- store::events::reply
             select sequence, task_id, run_id, created_at, payload from events
              where task_id = $1 and scope_digest = $2 and kind = 'reply'",
            &[task.into(), scope.as_str().into()],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

/// Wakes when this process has appended to the task's log; `None` where only looking helps.
pub fn wake(pool: &Pool, task: TaskId) -> Option<Wake> {
    pool.wake(task.as_uuid())
}

/// Whether clients were shown text of this model step of the run: an attempt that was not committed
/// may have put out some.
pub async fn shown_in_step(pool: &Pool, lease: &Lease, step: i32) -> Result<bool, Error> {
    let row = pool
        .query_opt(
            "-- store::events::shown_in_step
             select sequence from events
              where run_id = $1 and step = $2 and scope_digest = $3 and kind = 'artifact'
                and attempt > 0
              limit 1",
            &[lease.run.into(), step.into(), lease.scope.as_str().into()],
        )
        .await?;
    Ok(row.is_some())
}

/// Whether clients were shown any text of the task's answer: what an attempt at a model step put
/// out. Published files, which no step places, and artifacts of calls, which no attempt places, do
/// not count.
pub async fn answer_shown(pool: &Pool, lease: &Lease) -> Result<bool, Error> {
    let row = pool
        .query_opt(
            "-- store::events::answer_shown
             select sequence from events
              where task_id = $1 and scope_digest = $2 and kind = 'artifact' and attempt > 0
              limit 1",
            &[lease.task.into(), lease.scope.as_str().into()],
        )
        .await?;
    Ok(row.is_some())
}

pub(crate) fn read(row: &Row) -> Result<Event, Error> {
    let payload: String = row.get("payload")?;
    let payload: Payload = serde_json::from_str(&payload)
        .map_err(|source| Error::corrupt("events", "payload", source))?;
    if payload.v != VERSION {
        return Err(Error::corrupt("events", "payload", UnknownVersion(payload.v)));
    }
    Ok(Event {
        sequence: row.get("sequence")?,
        task: row.get("task_id")?,
        run: row.get("run_id")?,
        at: row.get("created_at")?,
        body: payload.body,
    })
}

/// A stored version that this code does not know.
#[derive(Debug, thiserror::Error)]
#[error("version {0} is unknown here")]
pub(crate) struct UnknownVersion(pub(crate) u32);
