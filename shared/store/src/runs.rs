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

use std::time::Duration;

use domain::{
    EventBody, FailureCode, Ids, RunId, RunState, ScopeDigest, SessionId, TaskState, limits,
};
use messages::runs::{Reason, RunReady};

use crate::events::{self, Place, Source};
use crate::lease::Lease;
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Row, Tx, tasks};

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
                                               then status_at else statement_timestamp() end
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

/// How a resting run comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// By a message that the queue holds back this long (at most 15 minutes).
    After(Duration),
    /// By whoever gives the signal; the sweeper looks after this long at the latest.
    OnSignal { at_latest: Duration },
}

/// Whether a run went to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    Resting(Option<Outgoing>),
    /// Something happened since `seen`: the lease is still held, look again.
    Signalled(i64),
}

/// P9: gives the lease back without ending the run, unless a signal came that the worker has not
/// seen. So a wake-up that arrives while the worker goes to rest is never lost. A late heartbeat of
/// the resting worker cannot take the lease back: the fence has moved on.
pub async fn rest(
    pool: &Pool,
    ids: &Ids,
    lease: &Lease,
    seen: i64,
    wake: Wake,
) -> Result<Rest, Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let wait = match wake {
        Wake::After(wait) => wait,
        Wake::OnSignal { at_latest } => at_latest,
    };
    let changed = tx
        .execute(
            "-- store::runs::rest
             update runs set fence = fence + 1, lease_owner = null, lease_until = null,
                             crash_count = 0, wake_at = seconds_from_now($5)
              where run_id = $1 and scope_digest = $2 and fence = $3 and signal = $4",
            &[
                lease.run.into(),
                lease.scope.as_str().into(),
                lease.fence.into(),
                seen.into(),
                wait.as_secs_f64().into(),
            ],
        )
        .await?;
    if changed == 0 {
        let row = tx
            .query_opt(
                "-- store::runs::signal_now
                 select signal from runs where run_id = $1 and scope_digest = $2",
                &[lease.run.into(), lease.scope.as_str().into()],
            )
            .await?
            .ok_or(Error::LeaseLost)?;
        return Ok(Rest::Signalled(row.get("signal")?));
    }
    let outgoing = match wake {
        Wake::After(delay) => {
            let ready = RunReady::new(lease.run, lease.scope.clone(), Reason::Due);
            Some(outbox::put(&mut tx, ids, &lease.scope, &ready, delay).await?)
        }
        Wake::OnSignal { .. } => None,
    };
    tx.commit().await?;
    Ok(Rest::Resting(outgoing))
}

/// Tells a live run that something it may wait for has happened. In the transaction of what
/// happened; `None` when the run has ended.
pub(crate) async fn signal(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    run: RunId,
    reason: Reason,
) -> Result<Option<Outgoing>, Error> {
    let changed = tx
        .execute(
            "-- store::runs::signal
             update runs set signal = signal + 1, wake_at = statement_timestamp()
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
    if changed == 0 {
        return Ok(None);
    }
    let ready = RunReady::new(run, scope.clone(), reason);
    outbox::put(tx, ids, scope, &ready, Duration::ZERO).await.map(Some)
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

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Completed,
    /// Completed, with a word about it.
    Concluded {
        message: String,
    },
    /// Completed, with a message to the client in place of a task, where this is the task's first
    /// run: the client of a later one knows the task, and gets the message with its status.
    Replied {
        text: String,
    },
    /// The agent will not do what was asked.
    Rejected {
        message: String,
    },
    Failed {
        code: FailureCode,
        message: String,
    },
    /// The task waits for its client.
    InputRequired {
        message: String,
    },
    /// The task waits until its client has authorised something, elsewhere.
    AuthRequired {
        message: String,
    },
}

impl Ending {
    fn states(&self) -> (RunState, TaskState) {
        match self {
            Self::Completed | Self::Concluded { .. } | Self::Replied { .. } => {
                (RunState::Done, TaskState::Completed)
            }
            Self::Rejected { .. } => (RunState::Rejected, TaskState::Rejected),
            Self::Failed { .. } => (RunState::Failed, TaskState::Failed),
            Self::InputRequired { .. } => (RunState::Interrupted, TaskState::InputRequired),
            Self::AuthRequired { .. } => (RunState::Interrupted, TaskState::AuthRequired),
        }
    }

    fn words(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Completed => (None, None),
            Self::Failed { code, message } => (Some(message), Some(code.as_str())),
            Self::Concluded { message }
            | Self::Replied { text: message }
            | Self::Rejected { message }
            | Self::InputRequired { message }
            | Self::AuthRequired { message } => (Some(message), None),
        }
    }
}

/// P10 and P8: last events, the run's end, the task's status and the sandbox's release from the
/// run, in one transaction. The status event is the last that the run ever appends.
pub async fn finish(
    pool: &Pool,
    lease: Lease,
    last: &[PlacedEvent],
    ending: &Ending,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    append_placed(&mut tx, &lease, last, Output::default()).await?;
    end(&mut tx, lease.source(), ending).await?;
    tx.commit().await
}

/// Ends a run whose row the transaction has locked.
pub(crate) async fn end(tx: &mut Tx, source: Source<'_>, ending: &Ending) -> Result<(), Error> {
    let (run_state, task_state) = ending.states();
    let (message, code) = ending.words();
    if let Ending::Replied { text } = ending
        && is_first(tx, source).await?
    {
        let reply = EventBody::Reply { text: text.clone() };
        events::append(tx, source, None, &reply).await?;
    }
    tx.execute(
        "-- store::runs::end
         update runs set state = $3, failure_code = $4, fence = fence + 1, lease_owner = null,
                         lease_until = null, wake_at = null, ended_at = statement_timestamp()
          where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
        &[source.run.into(), source.scope.as_str().into(), run_state.as_str().into(), code.into()],
    )
    .await?;
    tasks::change(tx, source, None, task_state, message, code).await?;
    let_go_of_sandbox(tx, source.scope, source.run).await
}

/// Whether the run is the first of its task.
async fn is_first(tx: &mut Tx, source: Source<'_>) -> Result<bool, Error> {
    let row = tx
        .query_opt(
            "-- store::runs::is_first
             select run_id from runs where run_id = $1 and scope_digest = $2 and attempt = 1",
            &[source.run.into(), source.scope.as_str().into()],
        )
        .await?;
    Ok(row.is_some())
}

/// Frees the workspace that the run held. Its sandbox stays for the session's next run until it has
/// been idle for long.
pub(crate) async fn let_go_of_sandbox(
    tx: &mut Tx,
    scope: &ScopeDigest,
    run: RunId,
) -> Result<(), Error> {
    tx.execute(
        "-- store::runs::let_go_of_sandbox
         update sandbox_leases
            set holder_run_id = null, lease_until = null, idle_release_at = seconds_from_now($3),
                updated_at = statement_timestamp()
          where holder_run_id = $1 and scope_digest = $2",
        &[run.into(), scope.as_str().into(), limits::SANDBOX_IDLE.as_secs_f64().into()],
    )
    .await?;
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
