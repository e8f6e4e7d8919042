//! Runs whose worker died, that were forgotten, or that are late.

use std::time::Duration;

use domain::{Ids, RunId, ScopeDigest, SessionId, TaskId, limits};
use messages::runs::{Reason, RunReady};

use crate::events::Source;
use crate::outbox::{self, Outgoing};
use crate::runs::{Ending, end};
use crate::{Error, Pool, Row, Tx};

/// A run that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRef {
    pub run: RunId,
    pub scope: ScopeDigest,
}

/// Up to `limit` runs whose worker did not renew its lease, those that wait longest first.
pub async fn crashed(pool: &Pool, limit: i64) -> Result<Vec<RunRef>, Error> {
    let rows = pool
        .query(
            "-- store::sweeps::crashed
             select run_id, scope_digest from runs
              where state in ('queued', 'active') and lease_until < statement_timestamp()
              order by lease_until limit $1",
            &[limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// What became of a run whose worker died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Crash {
    /// It is free again, and the message wakes it.
    Revived(Outgoing),
    /// It crashed too often, and has ended.
    GivenUp,
    /// Somebody is at it after all.
    Passed,
}

/// Takes the lease of a dead worker away and counts its crash, which is then counted: a claim counts
/// only leases that it finds. The worker, should it live after all, writes no more.
///
/// A run that has crashed [`limits::MAX_CRASHES`] times without a commit ends as `poisoned` says.
pub async fn after_crash(
    pool: &Pool,
    ids: &Ids,
    run: &RunRef,
    poisoned: &Ending,
) -> Result<Crash, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::sweeps::lock_crashed
             select session_id, task_id, crash_count from runs
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')
                and lease_until < statement_timestamp()
                for update skip locked",
            &[run.run.into(), run.scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Crash::Passed) };
    let crashes: i32 = row.get("crash_count")?;
    tx.execute(
        "-- store::sweeps::count_crash
         update runs set crash_count = crash_count + 1, fence = fence + 1, lease_owner = null,
                         lease_until = null, wake_at = statement_timestamp()
          where run_id = $1 and scope_digest = $2",
        &[run.run.into(), run.scope.as_str().into()],
    )
    .await?;
    if crashes + 1 >= limits::MAX_CRASHES {
        end_locked(&mut tx, run, &row, poisoned).await?;
        tx.commit().await?;
        return Ok(Crash::GivenUp);
    }
    let outgoing = wake(&mut tx, ids, run, Reason::LeaseExpired).await?;
    tx.commit().await?;
    Ok(Crash::Revived(outgoing))
}

/// Up to `limit` runs that nobody holds and that should have been woken `grace` ago, the earliest
/// first.
pub async fn due(pool: &Pool, grace: Duration, limit: i64) -> Result<Vec<RunRef>, Error> {
    let rows = pool
        .query(
            "-- store::sweeps::due
             select run_id, scope_digest from runs
              where state in ('queued', 'active') and lease_until is null
                and wake_at <= seconds_from_now($1)
              order by wake_at limit $2",
            &[(-grace.as_secs_f64()).into(), limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// Wakes a run that is due, and leaves it alone for `again` then. `None` when it is not due any more.
pub async fn remind(
    pool: &Pool,
    ids: &Ids,
    run: &RunRef,
    grace: Duration,
    again: Duration,
) -> Result<Option<Outgoing>, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::sweeps::lock_due
             select run_id from runs
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')
                and lease_until is null and wake_at <= seconds_from_now($3)
                for update skip locked",
            &[run.run.into(), run.scope.as_str().into(), (-grace.as_secs_f64()).into()],
        )
        .await?;
    if row.is_none() {
        return Ok(None);
    }
    tx.execute(
        "-- store::sweeps::reminded
         update runs set wake_at = seconds_from_now($3) where run_id = $1 and scope_digest = $2",
        &[run.run.into(), run.scope.as_str().into(), again.as_secs_f64().into()],
    )
    .await?;
    let outgoing = wake(&mut tx, ids, run, Reason::Due).await?;
    tx.commit().await?;
    Ok(Some(outgoing))
}

/// Up to `limit` runs that nobody holds and whose deadline has passed. One that is held is its
/// worker's to end.
pub async fn overdue(pool: &Pool, limit: i64) -> Result<Vec<RunRef>, Error> {
    let rows = pool
        .query(
            "-- store::sweeps::overdue
             select run_id, scope_digest from runs
              where state in ('queued', 'active') and lease_until is null
                and deadline_at < statement_timestamp()
              order by deadline_at limit $1",
            &[limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// Ends a run whose deadline has passed. `false` when that is not so, or somebody is at it.
pub async fn time_out(pool: &Pool, run: &RunRef, ending: &Ending) -> Result<bool, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::sweeps::lock_overdue
             select session_id, task_id from runs
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')
                and lease_until is null and deadline_at < statement_timestamp()
                for update skip locked",
            &[run.run.into(), run.scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(false) };
    end_locked(&mut tx, run, &row, ending).await?;
    tx.commit().await?;
    Ok(true)
}

async fn end_locked(tx: &mut Tx, run: &RunRef, row: &Row, ending: &Ending) -> Result<(), Error> {
    let session: SessionId = row.get("session_id")?;
    let task: TaskId = row.get("task_id")?;
    end(tx, Source { scope: &run.scope, session, task, run: run.run }, ending).await
}

async fn wake(tx: &mut Tx, ids: &Ids, run: &RunRef, reason: Reason) -> Result<Outgoing, Error> {
    let ready = RunReady::new(run.run, run.scope.clone(), reason);
    outbox::put(tx, ids, &run.scope, &ready, Duration::ZERO).await
}

fn read(row: &Row) -> Result<RunRef, Error> {
    let scope: String = row.get("scope_digest")?;
    let scope = scope.try_into().map_err(|e| Error::corrupt("runs", "scope_digest", e))?;
    Ok(RunRef { run: row.get("run_id")?, scope })
}
