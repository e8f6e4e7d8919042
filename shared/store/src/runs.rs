//! Runs: claimed, kept alive, put to rest, ended.
//!
//! ```text
//!            claim                       finish
//!  queued ──────────► active (leased) ──────────► done | failed | interrupted | rejected
//!                      ▲ │  ▲  │ heartbeat
//!                claim │ │  └──┘
//!                      │ ▼ rest, or the lease expires
//!                     active (free)          cancel, from any live state: ─► aborted
//! ```

mod ending;
mod rest;

use std::time::Duration;

use domain::{EventBody, RunId, RunState, ScopeDigest, SessionId, TaskState, limits};

use crate::events::{self, Place, Source};
use crate::lease::Lease;
use crate::{Error, Pool, Row, Tx};

pub use ending::{Ending, finish};
pub(crate) use ending::{end, let_go_of_sandbox};
pub(crate) use rest::signal;
pub use rest::{Rest, Wake, rest};

/// What a claim found.
#[derive(Debug)]
pub enum Claim {
    Yes(Box<Claimed>),
    /// Another worker holds it; that one, or the sweeper after it, goes on.
    Busy,
    /// It has ended.
    Over,
    /// No such run in this scope.
    Unknown,
}

/// A claimed run and where it stands.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub agent: String,
    pub manifest: String,
    pub manifest_digest: String,
    pub progress: Progress,
    /// Claims in a row that committed nothing.
    pub crash_count: i32,
    /// Whether this is the run's first claim.
    pub first: bool,
    /// How long the run may still take; zero when its deadline has passed.
    pub time_left: Duration,
}

/// The counters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The model step to do next, from 1.
    pub next_step: i32,
    pub model_calls: i32,
    pub tool_calls: i32,
    pub output_bytes: i64,
    pub output_artifacts: i32,
    pub signal: i64,
}

/// P1: takes the run if nobody holds it, and tells the world at the first time. The fence is higher
/// than every earlier one; a predecessor can write no more.
pub async fn claim(
    pool: &Pool,
    scope: &ScopeDigest,
    run: RunId,
    owner: &str,
) -> Result<Claim, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::runs::claim
             update runs
                set fence = fence + 1, lease_owner = $3, lease_until = seconds_from_now($4),
                    crash_count = crash_count + (case when lease_until is null then 0 else 1 end),
                    state = 'active', wake_at = null,
                    started_at = coalesce(started_at, statement_timestamp())
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')
                and (lease_until is null or lease_until < statement_timestamp())
             returning run_id, task_id, session_id, fence, attempt, next_step, model_calls,
                       tool_calls, output_bytes, output_artifacts, signal, crash_count, manifest,
                       manifest_digest, deadline_at, statement_timestamp() as at",
            &[run.into(), scope.as_str().into(), owner.into(), limits::LEASE.as_secs_f64().into()],
        )
        .await?;
    let Some(row) = row else { return unclaimed(&mut tx, scope, run).await };
    let lease = Lease {
        run,
        task: row.get("task_id")?,
        session: row.get("session_id")?,
        scope: scope.clone(),
        fence: row.get("fence")?,
    };
    let first = begin_task(&mut tx, &lease).await?;
    let agent = tx
        .query_opt(
            "-- store::runs::claim_agent
             select agent_name from tasks where task_id = $1 and scope_digest = $2",
            &[lease.task.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?
        .get("agent_name")?;
    let deadline: domain::Timestamp = row.get("deadline_at")?;
    let at: domain::Timestamp = row.get("at")?;
    let left = u64::try_from(deadline.as_micros() - at.as_micros()).unwrap_or(0);
    let claimed = Claimed {
        agent,
        manifest: row.get("manifest")?,
        manifest_digest: row.get("manifest_digest")?,
        progress: progress(&row)?,
        crash_count: row.get("crash_count")?,
        first,
        time_left: Duration::from_micros(left),
        lease,
    };
    tx.commit().await?;
    Ok(Claim::Yes(Box::new(claimed)))
}

async fn unclaimed(tx: &mut Tx, scope: &ScopeDigest, run: RunId) -> Result<Claim, Error> {
    let row = tx
        .query_opt(
            "-- store::runs::unclaimed
             select state from runs where run_id = $1 and scope_digest = $2",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Claim::Unknown) };
    Ok(if read_state(&row)?.is_live() { Claim::Busy } else { Claim::Over })
}

/// The task's way from `submitted` to `working`, with its event; `false` when it went already.
async fn begin_task(tx: &mut Tx, lease: &Lease) -> Result<bool, Error> {
    let changed = tx
        .execute(
            "-- store::runs::begin_task
             update tasks set state = 'working',
                              status_at = case when status_at > statement_timestamp()
                                               then status_at else statement_timestamp() end,
                              status_tx = this_transaction()
              where task_id = $1 and scope_digest = $2 and state = 'submitted'",
            &[lease.task.into(), lease.scope.as_str().into()],
        )
        .await?;
    if changed == 1 {
        let status = EventBody::Status { state: TaskState::Working, message: None, code: None };
        events::append(tx, lease.source(), None, &status).await?;
    }
    Ok(changed == 1)
}

/// Keeps the lease for another [`limits::LEASE`], and tells what changed meanwhile.
pub async fn heartbeat(pool: &Pool, lease: &Lease) -> Result<Beat, Error> {
    let row = pool
        .query_opt(
            "-- store::runs::heartbeat
             update runs set lease_until = seconds_from_now($4)
              where run_id = $1 and scope_digest = $2 and fence = $3 and state = 'active'
             returning signal, case when deadline_at < statement_timestamp() then 1 else 0 end as overdue",
            &[
                lease.run.into(),
                lease.scope.as_str().into(),
                lease.fence.into(),
                limits::LEASE.as_secs_f64().into(),
            ],
        )
        .await?
        .ok_or(Error::LeaseLost)?;
    let overdue: i32 = row.get("overdue")?;
    Ok(Beat { signal: row.get("signal")?, overdue: overdue == 1 })
}

/// What a heartbeat learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    pub signal: i64,
    /// The run's deadline has passed.
    pub overdue: bool,
}

/// An event of a run, with the place that makes its append repeatable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEvent {
    pub place: Place,
    pub body: EventBody,
}

/// Appends events of a running step: text that clients may see at once. Repeatable by place.
pub async fn append(
    pool: &Pool,
    lease: &Lease,
    placed: &[PlacedEvent],
    output: Output,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    append_placed(&mut tx, lease, placed, output).await?;
    tx.commit().await
}

/// How much a commit adds to what the run has put out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Output {
    pub bytes: i64,
    pub artifacts: i32,
}

pub(crate) async fn append_placed(
    tx: &mut Tx,
    lease: &Lease,
    placed: &[PlacedEvent],
    output: Output,
) -> Result<(), Error> {
    for event in placed {
        events::append(tx, lease.source(), Some(event.place), &event.body).await?;
    }
    if output != Output::default() {
        tx.execute(
            "-- store::runs::count_output
             update runs set output_bytes = output_bytes + $3,
                             output_artifacts = output_artifacts + $4
              where run_id = $1 and scope_digest = $2",
            &[
                lease.run.into(),
                lease.scope.as_str().into(),
                output.bytes.into(),
                output.artifacts.into(),
            ],
        )
        .await?;
    }
    Ok(())
}

impl Lease {
    pub(crate) fn source(&self) -> Source<'_> {
        Source { scope: &self.scope, session: self.session, task: self.task, run: self.run }
    }
}

fn read_state(row: &Row) -> Result<RunState, Error> {
    let state: String = row.get("state")?;
    state.parse().map_err(|source| Error::corrupt("runs", "state", source))
}

fn progress(row: &Row) -> Result<Progress, Error> {
    Ok(Progress {
        next_step: row.get("next_step")?,
        model_calls: row.get("model_calls")?,
        tool_calls: row.get("tool_calls")?,
        output_bytes: row.get("output_bytes")?,
        output_artifacts: row.get("output_artifacts")?,
        signal: row.get("signal")?,
    })
}

/// The counters as they are now, for a worker that holds the run.
pub async fn look(pool: &Pool, lease: &Lease) -> Result<Progress, Error> {
    let row = pool
        .query_opt(
            "-- store::runs::look
             select next_step, model_calls, tool_calls, output_bytes, output_artifacts, signal
               from runs
              where run_id = $1 and scope_digest = $2 and fence = $3 and state = 'active'",
            &[lease.run.into(), lease.scope.as_str().into(), lease.fence.into()],
        )
        .await?
        .ok_or(Error::LeaseLost)?;
    progress(&row)
}

/// The canonical scope of a session, from which the storage namespace is derived.
pub async fn session_scope(
    pool: &Pool,
    scope: &ScopeDigest,
    session: SessionId,
) -> Result<domain::Scope, Error> {
    let row = pool
        .query_opt(
            "-- store::runs::session_scope
             select scope from sessions where session_id = $1 and scope_digest = $2",
            &[session.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let text: String = row.get("scope")?;
    domain::Scope::from_canonical(&text)
        .map_err(|source| Error::corrupt("sessions", "scope", source))
}

/// Ends every lease, and makes every live run due. Only for a process that is alone with its
/// database, at its start: whoever held those leases is gone.
pub async fn abandon_all(pool: &Pool) -> Result<u64, Error> {
    pool.execute(
        "-- store::runs::abandon_all
         update runs set fence = fence + 1, lease_owner = null, lease_until = null,
                         crash_count = crash_count + (case when lease_until is null then 0 else 1 end),
                         wake_at = seconds_from_now(-3600)
          where state in ('queued', 'active')",
        &[],
    )
    .await
}

/// Gives back every run that `owner` still holds, at its orderly end: no crash is counted, and each
/// is due at once.
pub async fn hand_back(pool: &Pool, owner: &str) -> Result<u64, Error> {
    pool.execute(
        "-- store::runs::hand_back
         update runs set fence = fence + 1, lease_owner = null, lease_until = null,
                         wake_at = seconds_from_now(-3600)
          where lease_owner = $1 and state = 'active'",
        &[owner.into()],
    )
    .await
}
