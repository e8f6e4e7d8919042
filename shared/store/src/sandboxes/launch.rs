//! An allocation on its way to `ready`, and off it.
//!
//! Each step is recorded before, or after, the call that it stands for, and may be repeated. `false`
//! or [`Ready::Moved`] means that the allocation has gone elsewhere meanwhile: look again, touch
//! nothing.

use std::time::Duration;

use domain::{Ids, RunId, limits};
use messages::runs::Reason;
use messages::sandboxes::{Command, SandboxCommand};

use super::{CHECK_AFTER, Instance};
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Tx, runs};

/// The backend is about to be called.
pub async fn launching(pool: &Pool, instance: &Instance) -> Result<bool, Error> {
    let changed = pool
        .execute(
            "-- store::sandboxes::launching
             update sandbox_instances
                set state = 'launching',
                    launch_requested_at = coalesce(launch_requested_at, statement_timestamp()),
                    next_check_at = seconds_from_now($3)
              where instance_id = $1 and scope_digest = $2 and state in ('reserved', 'launching')",
            &[instance.id.into(), instance.scope.as_str().into(), CHECK_AFTER.as_secs_f64().into()],
        )
        .await?;
    Ok(changed == 1)
}

/// The backend says where it is.
pub async fn initializing(pool: &Pool, instance: &Instance, endpoint: &str) -> Result<bool, Error> {
    let changed = pool
        .execute(
            "-- store::sandboxes::initializing
             update sandbox_instances set state = 'initializing', endpoint = $3
              where instance_id = $1 and scope_digest = $2
                and state in ('launching', 'initializing')",
            &[instance.id.into(), instance.scope.as_str().into(), endpoint.into()],
        )
        .await?;
    Ok(changed == 1)
}

/// What became of [`ready`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It counts. The message wakes the run, unless that has ended.
    Yes(Option<Outgoing>),
    /// The allocation is on its way out, or has confirmed a newer generation.
    Moved,
}

/// The sandbox has confirmed `instance.generation`: the run has it, and is woken.
pub async fn ready(
    pool: &Pool,
    ids: &Ids,
    instance: &Instance,
    run: RunId,
    workspace_root: &str,
) -> Result<Ready, Error> {
    let mut tx = pool.begin().await?;
    // The run first: rows are locked in this order everywhere.
    let woken = runs::signal(&mut tx, ids, &instance.scope, run, Reason::SandboxReady).await?;
    tx.execute(
        "-- store::sandboxes::begin_lease
         update sandbox_leases
            set lease_until = seconds_from_now($4), updated_at = statement_timestamp()
          where workspace_key = $1 and scope_digest = $2 and holder_run_id = $3",
        &[
            instance.workspace.as_str().into(),
            instance.scope.as_str().into(),
            run.into(),
            limits::LEASE.as_secs_f64().into(),
        ],
    )
    .await?;
    let changed = tx
        .execute(
            "-- store::sandboxes::ready
             update sandbox_instances
                set state = 'ready', generation = $3, workspace_root = $4,
                    ready_at = coalesce(ready_at, statement_timestamp()),
                    next_check_at = seconds_from_now($5)
              where instance_id = $1 and scope_digest = $2 and generation <= $3
                and state in ('initializing', 'ready')",
            &[
                instance.id.into(),
                instance.scope.as_str().into(),
                instance.generation.into(),
                workspace_root.into(),
                CHECK_AFTER.as_secs_f64().into(),
            ],
        )
        .await?;
    if changed == 0 {
        return Ok(Ready::Moved);
    }
    tx.commit().await?;
    Ok(Ready::Yes(woken))
}

/// The launch did not work, and it is proven that nothing runs. The next [`super::acquire()`] reserves
/// another allocation, or gives up.
pub async fn failed(pool: &Pool, instance: &Instance, reason: &str) -> Result<bool, Error> {
    let changed = pool
        .execute(
            "-- store::sandboxes::failed
             update sandbox_instances
                set state = 'failed_launch', state_reason = $3,
                    terminated_at = statement_timestamp()
              where instance_id = $1 and scope_digest = $2
                and state in ('reserved', 'launching', 'initializing')",
            &[instance.id.into(), instance.scope.as_str().into(), reason.into()],
        )
        .await?;
    Ok(changed == 1)
}

/// It has ended without our doing, and that is proven. The generation grows; what ran in it is lost.
pub async fn lost(pool: &Pool, instance: &Instance, reason: &str) -> Result<bool, Error> {
    let mut tx = pool.begin().await?;
    let lost = lose(&mut tx, instance, reason).await?;
    tx.commit().await?;
    Ok(lost)
}

/// [`lost`], found by somebody who does not go on with it: if a run holds the workspace, the
/// controller is asked for another sandbox.
pub async fn orphaned(
    pool: &Pool,
    ids: &Ids,
    instance: &Instance,
    reason: &str,
) -> Result<Option<Outgoing>, Error> {
    let mut tx = pool.begin().await?;
    let mut outgoing = None;
    if lose(&mut tx, instance, reason).await?
        && let Some(run) = holder(&mut tx, instance).await?
    {
        let message = SandboxCommand::new(instance.scope.clone(), Command::Acquire { run });
        outgoing =
            Some(outbox::put(&mut tx, ids, &instance.scope, &message, Duration::ZERO).await?);
    }
    tx.commit().await?;
    Ok(outgoing)
}

async fn lose(tx: &mut Tx, instance: &Instance, reason: &str) -> Result<bool, Error> {
    // The lease first: rows are locked in this order everywhere.
    tx.query_opt(
        "-- store::sandboxes::lock_workspace
         select workspace_key from sandbox_leases
          where workspace_key = $1 and scope_digest = $2
            for update",
        &[instance.workspace.as_str().into(), instance.scope.as_str().into()],
    )
    .await?;
    let changed = tx
        .execute(
            "-- store::sandboxes::lost
             update sandbox_instances
                set state = 'terminated', state_reason = $3,
                    terminated_at = statement_timestamp()
              where instance_id = $1 and scope_digest = $2
                and state not in ('terminated', 'failed_launch')",
            &[instance.id.into(), instance.scope.as_str().into(), reason.into()],
        )
        .await?;
    if changed == 0 {
        return Ok(false);
    }
    grow(tx, instance).await?;
    Ok(true)
}

async fn holder(tx: &mut Tx, instance: &Instance) -> Result<Option<RunId>, Error> {
    let row = tx
        .query_opt(
            "-- store::sandboxes::holder_now
             select holder_run_id from sandbox_leases
              where workspace_key = $1 and scope_digest = $2",
            &[instance.workspace.as_str().into(), instance.scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    row.get("holder_run_id")
}

/// Locks the workspace and moves its generation on.
pub(super) async fn grow(tx: &mut Tx, instance: &Instance) -> Result<i64, Error> {
    tx.query_opt(
        "-- store::sandboxes::grow
         update sandbox_leases
            set generation = generation + 1, updated_at = statement_timestamp()
          where workspace_key = $1 and scope_digest = $2
         returning generation",
        &[instance.workspace.as_str().into(), instance.scope.as_str().into()],
    )
    .await?
    .ok_or(Error::NotFound)?
    .get("generation")
}
