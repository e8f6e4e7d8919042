//! What the controller does first when a run wants a sandbox.

use domain::{Ids, RunId, ScopeDigest, SessionId, limits};
use messages::runs::Reason;

use super::words::{InstanceState, WorkspaceKey};
use super::{CHECK_AFTER, Instance, columns, read, release};
use crate::outbox::Outgoing;
use crate::{Error, Pool, Tx, runs};

/// How many launches in a row may fail before the run is told so.
pub const MAX_LAUNCHES: i64 = 2;

/// What a controller would launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish<'a> {
    pub backend: &'a str,
    /// Another one means another sandbox.
    pub config_digest: &'a str,
    /// The process that would own it, where the backend is bound to one.
    pub runner: Option<&'a str>,
}

/// What is to be done for the run. Every answer but the last four is a row that the controller now
/// works on; a repeated call gives the same answer until it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// Start it, or go on starting it.
    Launch(Instance),
    /// It runs: let it confirm the generation.
    Adopt(Instance),
    /// It must end before there can be another: end it, and acquire again.
    Replace(Instance),
    /// The launches have failed, and the run was told.
    Failed(Option<Outgoing>),
    /// Another live run holds the workspace.
    Busy,
    /// The run has ended.
    Over,
    /// No such run in this scope.
    Unknown,
}

/// Makes the run the holder of its workspace, and finds or reserves the allocation that serves it.
/// Nothing is called yet.
pub async fn acquire(
    pool: &Pool,
    ids: &Ids,
    scope: &ScopeDigest,
    run: RunId,
    wish: &Wish<'_>,
) -> Result<Acquired, Error> {
    let mut tx = pool.begin().await?;
    let applicant = match applicant(&mut tx, scope, run).await? {
        Ok(applicant) => applicant,
        Err(answer) => return Ok(answer),
    };
    let workspace = WorkspaceKey::of(scope, applicant.session, &applicant.agent);
    let Some(generation) = hold(&mut tx, scope, run, &applicant, &workspace).await? else {
        return Ok(Acquired::Busy);
    };
    let answer = match live(&mut tx, &workspace).await? {
        Some(instance) => match decide(&instance, wish) {
            Decision::Launch => Acquired::Launch(instance),
            Decision::Adopt => Acquired::Adopt(instance),
            Decision::Release => Acquired::Replace(begin(&mut tx, instance).await?),
            Decision::Replace => Acquired::Replace(instance),
        },
        None if failed(&mut tx, &workspace, generation).await? >= MAX_LAUNCHES => {
            Acquired::Failed(runs::signal(&mut tx, ids, scope, run, Reason::SandboxReady).await?)
        }
        None => {
            let instance = reserve(&mut tx, ids, scope, workspace, generation, wish).await?;
            Acquired::Launch(instance)
        }
    };
    tx.commit().await?;
    Ok(answer)
}

/// The run that wants a sandbox, locked.
struct Applicant {
    session: SessionId,
    agent: String,
    fence: i64,
}

async fn applicant(
    tx: &mut Tx,
    scope: &ScopeDigest,
    run: RunId,
) -> Result<Result<Applicant, Acquired>, Error> {
    let row = tx
        .query_opt(
            "-- store::sandboxes::applicant
             select session_id, fence,
                    case when state in ('queued', 'active') then 1 else 0 end as live,
                    (select agent_name from tasks t where t.task_id = runs.task_id) as agent_name
               from runs where run_id = $1 and scope_digest = $2
                for update",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Err(Acquired::Unknown)) };
    let live: i32 = row.get("live")?;
    if live == 0 {
        return Ok(Err(Acquired::Over));
    }
    Ok(Ok(Applicant {
        session: row.get("session_id")?,
        agent: row.get("agent_name")?,
        fence: row.get("fence")?,
    }))
}

/// Locks the workspace and makes the run its holder. Returns the generation, or `None` when another
/// live run is in possession.
async fn hold(
    tx: &mut Tx,
    scope: &ScopeDigest,
    run: RunId,
    applicant: &Applicant,
    workspace: &WorkspaceKey,
) -> Result<Option<i64>, Error> {
    tx.execute(
        "-- store::sandboxes::workspace
         insert into sandbox_leases (workspace_key, scope_digest, session_id, agent_name,
                                     generation, holder_fence, updated_at)
         values ($1, $2, $3, $4, 0, 0, statement_timestamp())
         on conflict (workspace_key) do nothing",
        &[
            workspace.as_str().into(),
            scope.as_str().into(),
            applicant.session.into(),
            applicant.agent.as_str().into(),
        ],
    )
    .await?;
    let row = tx
        .query_opt(
            "-- store::sandboxes::holder
             select holder_run_id,
                    (select count(*) from runs r
                      where r.run_id = sandbox_leases.holder_run_id
                        and r.state in ('queued', 'active')) as live
               from sandbox_leases where workspace_key = $1 and scope_digest = $2
                for update",
            &[workspace.as_str().into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let holder: Option<RunId> = row.get("holder_run_id")?;
    let live: i64 = row.get("live")?;
    // A holder whose run has ended can write nothing any more, however long its lease would last.
    if live > 0 && holder != Some(run) {
        return Ok(None);
    }
    let row = tx
        .query_opt(
            "-- store::sandboxes::hold
             update sandbox_leases
                set generation = generation + (case when holder_run_id = $3 then 0 else 1 end),
                    holder_run_id = $3, holder_fence = $4, idle_release_at = null,
                    updated_at = statement_timestamp()
              where workspace_key = $1 and scope_digest = $2
             returning generation",
            &[workspace.as_str().into(), scope.as_str().into(), run.into(), applicant.fence.into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    Ok(Some(row.get("generation")?))
}

/// The workspace's live allocation, locked. There is one at most.
async fn live(tx: &mut Tx, workspace: &WorkspaceKey) -> Result<Option<Instance>, Error> {
    let locked = tx
        .query_opt(
            "-- store::sandboxes::lock_live
             select instance_id from sandbox_instances
              where workspace_key = $1 and state not in ('terminated', 'failed_launch')
                for update",
            &[workspace.as_str().into()],
        )
        .await?;
    let Some(locked) = locked else { return Ok(None) };
    let row = tx
        .query_opt(
            concat!(
                "-- store::sandboxes::live
                 select ",
                columns!(),
                " from sandbox_instances i
                  join sandbox_leases l on l.workspace_key = i.workspace_key
                 where i.instance_id = $1"
            ),
            &[locked.get::<domain::InstanceId>("instance_id")?.into()],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Launch,
    Adopt,
    /// It is to end from now on.
    Release,
    /// It was to end already.
    Replace,
}

/// What a live allocation is good for.
fn decide(instance: &Instance, wish: &Wish<'_>) -> Decision {
    let fits = instance.config_digest == wish.config_digest && instance.backend == wish.backend;
    match instance.state {
        InstanceState::Releasing => Decision::Replace,
        _ if !fits => Decision::Release,
        InstanceState::Ready => Decision::Adopt,
        _ => Decision::Launch,
    }
}

/// Marks an allocation that does not fit as ending; the generation grows, so that whoever still
/// uses it is fenced.
async fn begin(tx: &mut Tx, instance: Instance) -> Result<Instance, Error> {
    let generation = release::mark(tx, &instance, "replaced").await?;
    Ok(Instance { state: InstanceState::Releasing, generation, ..instance })
}

/// How many launches have failed since the holder last changed.
async fn failed(tx: &mut Tx, workspace: &WorkspaceKey, generation: i64) -> Result<i64, Error> {
    tx.query_opt(
        "-- store::sandboxes::failed_launches
         select count(*) as failed from sandbox_instances
          where workspace_key = $1 and state = 'failed_launch' and generation_at_launch = $2",
        &[workspace.as_str().into(), generation.into()],
    )
    .await?
    .ok_or(Error::NotFound)?
    .get("failed")
}

async fn reserve(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    workspace: WorkspaceKey,
    generation: i64,
    wish: &Wish<'_>,
) -> Result<Instance, Error> {
    let instance = Instance {
        id: ids.instance(),
        scope: scope.clone(),
        workspace,
        state: InstanceState::Reserved,
        generation_at_launch: generation,
        confirmed: 0,
        generation,
        backend: wish.backend.to_owned(),
        config_digest: wish.config_digest.to_owned(),
        runner: wish.runner.map(str::to_owned),
        endpoint: None,
        lease_expired: false,
    };
    tx.execute(
        "-- store::sandboxes::reserve
         insert into sandbox_instances (instance_id, workspace_key, scope_digest,
                                        generation_at_launch, generation, backend, config_digest,
                                        runner, state, next_check_at, created_at)
         values ($1, $2, $3, $4, 0, $5, $6, $7, 'reserved', seconds_from_now($8),
                 statement_timestamp())",
        &[
            instance.id.into(),
            instance.workspace.as_str().into(),
            scope.as_str().into(),
            generation.into(),
            wish.backend.into(),
            wish.config_digest.into(),
            wish.runner.into(),
            CHECK_AFTER.as_secs_f64().into(),
        ],
    )
    .await?;
    tx.execute(
        "-- store::sandboxes::assign
         update sandbox_leases set instance_id = $2, lease_until = seconds_from_now($3)
          where workspace_key = $1",
        &[
            instance.workspace.as_str().into(),
            instance.id.into(),
            limits::LEASE.as_secs_f64().into(),
        ],
    )
    .await?;
    Ok(instance)
}
