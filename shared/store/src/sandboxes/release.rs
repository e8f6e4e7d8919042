//! How an allocation ends on purpose: meant first, done then, recorded last.

use domain::{InstanceId, ScopeDigest};

use super::words::InstanceState;
use super::{CHECK_AFTER, Instance, columns, launch, read};
use crate::{Error, Pool, Tx};

/// What is to be done to end an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Releasing {
    /// End it, then say [`released`].
    Terminate(Instance),
    /// Nothing: it has ended, or was never started. The row is the receipt.
    Ended,
    /// A run holds it, or its workspace has not been idle for long enough: the request came late.
    InUse,
    /// No such allocation in this scope.
    Unknown,
}

/// Decides that an idle allocation ends. From here on its generation is fenced, and it cannot be
/// adopted any more. May be repeated.
pub async fn begin_release(
    pool: &Pool,
    scope: &ScopeDigest,
    instance: InstanceId,
    reason: &str,
) -> Result<Releasing, Error> {
    let mut tx = pool.begin().await?;
    // The lease first: rows are locked in this order everywhere.
    let lease = tx
        .query_opt(
            "-- store::sandboxes::lock_lease
             select workspace_key from sandbox_leases
              where scope_digest = $2
                and workspace_key = (select workspace_key from sandbox_instances
                                      where instance_id = $1 and scope_digest = $2)
                for update",
            &[instance.into(), scope.as_str().into()],
        )
        .await?;
    if lease.is_none() {
        return Ok(Releasing::Unknown);
    }
    let row = tx
        .query_opt(
            concat!(
                "-- store::sandboxes::releasable
                 select ",
                columns!(),
                ", case when l.holder_run_id is null
                         and (l.idle_release_at is null
                              or l.idle_release_at <= statement_timestamp())
                        then 1 else 0 end as idle
                  from sandbox_instances i
                  join sandbox_leases l on l.workspace_key = i.workspace_key
                 where i.instance_id = $1 and i.scope_digest = $2"
            ),
            &[instance.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let found = read(&row)?;
    let idle: i32 = row.get("idle")?;
    match found.state {
        InstanceState::Terminated | InstanceState::FailedLaunch => return Ok(Releasing::Ended),
        InstanceState::Releasing => return Ok(Releasing::Terminate(found)),
        _ if idle == 0 => return Ok(Releasing::InUse),
        _ => {}
    }
    let generation = mark(&mut tx, &found, reason).await?;
    tx.commit().await?;
    let state = InstanceState::Releasing;
    Ok(Releasing::Terminate(Instance { state, generation, ..found }))
}

/// Moves a live allocation to `releasing`, and the generation on.
pub(super) async fn mark(tx: &mut Tx, instance: &Instance, reason: &str) -> Result<i64, Error> {
    let generation = launch::grow(tx, instance).await?;
    let changed = tx
        .execute(
            "-- store::sandboxes::releasing
             update sandbox_instances
                set state = 'releasing', release_requested_at = statement_timestamp(),
                    release_reason = $3, next_check_at = seconds_from_now($4)
              where instance_id = $1 and scope_digest = $2
                and state in ('reserved', 'launching', 'initializing', 'ready')",
            &[
                instance.id.into(),
                instance.scope.as_str().into(),
                reason.into(),
                CHECK_AFTER.as_secs_f64().into(),
            ],
        )
        .await?;
    if changed == 1 { Ok(generation) } else { Err(Error::Conflict) }
}

/// It is proven that the allocation has ended. May be repeated.
pub async fn released(pool: &Pool, instance: &Instance) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    tx.execute(
        "-- store::sandboxes::unassign
         update sandbox_leases
            set instance_id = null, idle_release_at = null, updated_at = statement_timestamp()
          where workspace_key = $1 and scope_digest = $2 and instance_id = $3",
        &[instance.workspace.as_str().into(), instance.scope.as_str().into(), instance.id.into()],
    )
    .await?;
    tx.execute(
        "-- store::sandboxes::released
         update sandbox_instances
            set state = 'terminated', state_reason = release_reason,
                terminated_at = statement_timestamp()
          where instance_id = $1 and scope_digest = $2 and state = 'releasing'",
        &[instance.id.into(), instance.scope.as_str().into()],
    )
    .await?;
    tx.commit().await
}
