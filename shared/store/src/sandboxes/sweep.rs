//! What nobody may be at: found by the sweeper, and by a runner that starts.

use std::time::Duration;

use domain::{Ids, InstanceId, RunId, ScopeDigest};
use messages::sandboxes::{Command, SandboxCommand};

use super::{Instance, columns, read};
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool};

/// Asks the controller again for up to `limit` allocations that have not come to rest, for all
/// scopes: to release what is idle or ending, and to go on with what a run waits for. Each is left
/// alone for `retry_after` then. Two sweepers take different ones.
pub async fn sweep(
    pool: &Pool,
    ids: &Ids,
    limit: i64,
    retry_after: Duration,
) -> Result<Vec<Outgoing>, Error> {
    let mut tx = pool.begin().await?;
    let rows = tx
        .query(
            "-- store::sandboxes::sweep
             select instance_id, scope_digest,
                    case when state = 'releasing' then null
                         else (select l.holder_run_id from sandbox_leases l
                                where l.workspace_key = sandbox_instances.workspace_key)
                    end as holder_run_id
               from sandbox_instances
              where state not in ('terminated', 'failed_launch')
                and next_check_at <= statement_timestamp()
                and (state = 'releasing'
                     or exists (select 1 from sandbox_leases l
                                 where l.workspace_key = sandbox_instances.workspace_key
                                   and l.holder_run_id is null
                                   and l.idle_release_at <= statement_timestamp())
                     or exists (select 1 from sandbox_leases l
                                 where l.workspace_key = sandbox_instances.workspace_key
                                   and l.holder_run_id is not null
                                   and (sandbox_instances.state <> 'ready'
                                        or sandbox_instances.generation < l.generation)))
              order by next_check_at limit $1
                for update skip locked",
            &[limit.into()],
        )
        .await?;
    let mut outgoing = Vec::with_capacity(rows.len());
    for row in rows {
        let instance: InstanceId = row.get("instance_id")?;
        tx.execute(
            "-- store::sandboxes::swept
             update sandbox_instances set next_check_at = seconds_from_now($2)
              where instance_id = $1",
            &[instance.into(), retry_after.as_secs_f64().into()],
        )
        .await?;
        let holder: Option<RunId> = row.get("holder_run_id")?;
        let command = holder.map_or(Command::Release { instance }, |run| Command::Acquire { run });
        let scope: String = row.get("scope_digest")?;
        let scope = ScopeDigest::try_from(scope)
            .map_err(|source| Error::corrupt("sandbox_instances", "scope_digest", source))?;
        let message = SandboxCommand::new(scope.clone(), command);
        outgoing.push(outbox::put(&mut tx, ids, &scope, &message, Duration::ZERO).await?);
    }
    tx.commit().await?;
    Ok(outgoing)
}

/// The live allocations of a backend that other runners own, for all scopes: those of dead ones are
/// lost.
pub async fn of_other_runners(
    pool: &Pool,
    backend: &str,
    runner: &str,
) -> Result<Vec<Instance>, Error> {
    let rows = pool
        .query(
            concat!(
                "-- store::sandboxes::of_other_runners
                 select ",
                columns!(),
                " from sandbox_instances i
                  join sandbox_leases l on l.workspace_key = i.workspace_key
                 where i.state not in ('terminated', 'failed_launch')
                   and i.backend = $1 and i.runner is not null and i.runner <> $2
                 order by i.created_at"
            ),
            &[backend.into(), runner.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}
