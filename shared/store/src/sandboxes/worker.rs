//! What a run's worker may do: ask for a sandbox, look whether it is there, keep it.

use std::time::Duration;

use domain::{Ids, InstanceId, limits};
use messages::sandboxes::{Command, SandboxCommand};

use super::acquire::MAX_LAUNCHES;
use super::words::{InstanceState, WorkspaceKey, read_state};
use crate::lease::Lease;
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool};

/// Asks the controller for a sandbox on the run's workspace.
///
/// May be repeated at any time, and should be: when [`held`] says `None`, when it still says
/// `Waiting` after a long rest, and when the sandbox of `Ready` does not answer. The controller looks
/// at what is there, replaces what is dead, and wakes the run either way.
pub async fn ask(pool: &Pool, ids: &Ids, lease: &Lease) -> Result<Outgoing, Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let command = Command::Acquire { run: lease.run };
    let message = SandboxCommand::new(lease.scope.clone(), command);
    let outgoing = outbox::put(&mut tx, ids, &lease.scope, &message, Duration::ZERO).await?;
    tx.commit().await?;
    Ok(outgoing)
}

/// What a run has of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// It is the run's, and takes commands of this generation.
    Ready(HeldSandbox),
    /// The controller is at it; a signal will come.
    Waiting,
    /// Nothing, or no longer: ask.
    None,
    /// It was tried often enough, and this is why it did not work. Final for this run.
    Failed { reason: String },
}

/// A sandbox that a run may use, with the generation that every changing request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSandbox {
    pub instance: InstanceId,
    pub generation: i64,
    pub endpoint: String,
    pub workspace: WorkspaceKey,
    /// Where commands find the workspace.
    pub workspace_root: String,
}

/// What the run has now. A worker that was overtaken is told [`Error::LeaseLost`].
pub async fn held(pool: &Pool, lease: &Lease) -> Result<Held, Error> {
    let row = pool
        .query_opt(
            "-- store::sandboxes::held
             select l.workspace_key, l.generation, i.instance_id, i.state, i.state_reason,
                    i.generation as confirmed, i.endpoint, i.workspace_root,
                    (select count(*) from sandbox_instances f
                      where f.workspace_key = l.workspace_key and f.state = 'failed_launch'
                        and f.generation_at_launch = l.generation) as failed
               from runs r
               left join sandbox_leases l on l.holder_run_id = r.run_id
               left join sandbox_instances i on i.instance_id = l.instance_id
              where r.run_id = $1 and r.scope_digest = $2 and r.fence = $3 and r.state = 'active'",
            &[lease.run.into(), lease.scope.as_str().into(), lease.fence.into()],
        )
        .await?
        .ok_or(Error::LeaseLost)?;
    let Some(instance) = row.get::<Option<InstanceId>>("instance_id")? else {
        return Ok(Held::None);
    };
    let generation: i64 = row.get("generation")?;
    let confirmed: i64 = row.get("confirmed")?;
    let failed: i64 = row.get("failed")?;
    Ok(match read_state(&row)? {
        InstanceState::Ready if confirmed == generation => Held::Ready(HeldSandbox {
            instance,
            generation,
            endpoint: row.get("endpoint")?,
            workspace: row
                .get::<String>("workspace_key")?
                .parse()
                .map_err(|source| Error::corrupt("sandbox_leases", "workspace_key", source))?,
            workspace_root: row.get("workspace_root")?,
        }),
        InstanceState::Terminated => Held::None,
        InstanceState::FailedLaunch if failed >= MAX_LAUNCHES => {
            let reason: Option<String> = row.get("state_reason")?;
            Held::Failed { reason: reason.unwrap_or_default() }
        }
        _ => Held::Waiting,
    })
}

/// Keeps the workspace for another [`limits::LEASE`], and takes it over from an earlier worker of
/// the same run. Without effect when the run holds none, and for a worker that was overtaken.
pub async fn renew(pool: &Pool, lease: &Lease) -> Result<(), Error> {
    pool.execute(
        "-- store::sandboxes::renew
         update sandbox_leases
            set holder_fence = $3, lease_until = seconds_from_now($4),
                updated_at = statement_timestamp()
          where holder_run_id = $1 and scope_digest = $2 and holder_fence <= $3
            and exists (select 1 from runs
                         where run_id = $1 and scope_digest = $2 and fence = $3
                           and state = 'active')",
        &[
            lease.run.into(),
            lease.scope.as_str().into(),
            lease.fence.into(),
            limits::LEASE.as_secs_f64().into(),
        ],
    )
    .await?;
    Ok(())
}
