//! What the publisher does to a row: looks at it, activates it, fails it.

use std::time::Duration;

use domain::{
    About, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, Ids, InstanceId,
    PublicationFailure, PublicationId, RunId, RunState, Scope, ScopeDigest, SessionId, TaskId,
    Timestamp, limits,
};
use messages::runs::Reason;

use super::{Delivery, State, read_state};
use crate::events::{self, Source};
use crate::outbox::Outgoing;
use crate::{Error, Pool, Row, Tx, runs};

/// What a look at a publication found.
#[derive(Debug)]
pub enum Loaded {
    Requested(Box<Requested>),
    /// Active or failed already: there is nothing left to do.
    Decided,
    /// No such publication in this scope.
    Unknown,
}

/// A publication that waits for its decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    pub id: PublicationId,
    /// The exact scope of its session, from which the storage namespace is derived.
    pub owner: Scope,
    pub path: String,
    pub media_type: String,
    pub filename: String,
    pub instance: InstanceId,
    pub generation: i64,
    /// Where the sandbox can be reached, once that is known.
    pub endpoint: Option<String>,
    /// Why it cannot be activated any more, when something has happened since it was asked for.
    pub lapsed: Option<PublicationFailure>,
    /// How long it has waited.
    pub age: Duration,
}

/// Looks at a publication, without locks: what it says may be over at once, and is asked again when
/// the row is decided.
pub async fn load(
    pool: &Pool,
    scope: &ScopeDigest,
    publication: PublicationId,
) -> Result<Loaded, Error> {
    let row = pool
        .query_opt(
            "-- store::publications::load
             select p.state, p.path, p.media_type, p.filename, p.instance_id, p.generation,
                    p.created_at, statement_timestamp() as at, s.scope, r.state as run_state,
                    i.endpoint, l.generation as held
               from publications p
               join sessions s on s.session_id = p.session_id
               join runs r on r.run_id = p.run_id
               left join sandbox_instances i
                 on i.instance_id = p.instance_id and i.scope_digest = p.scope_digest
               left join sandbox_leases l
                 on l.workspace_key = i.workspace_key and l.instance_id = p.instance_id
                and l.generation = p.generation
              where p.publication_id = $1 and p.scope_digest = $2",
            &[publication.into(), scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Loaded::Unknown) };
    if read_state(&row)? != State::Requested {
        return Ok(Loaded::Decided);
    }
    let owner: String = row.get("scope")?;
    let owner = Scope::from_canonical(&owner)
        .map_err(|source| Error::corrupt("sessions", "scope", source))?;
    let held: Option<i64> = row.get("held")?;
    let created: Timestamp = row.get("created_at")?;
    let at: Timestamp = row.get("at")?;
    let age = u64::try_from(at.as_micros() - created.as_micros()).unwrap_or(0);
    Ok(Loaded::Requested(Box::new(Requested {
        id: publication,
        owner,
        path: row.get("path")?,
        media_type: row.get("media_type")?,
        filename: row.get("filename")?,
        instance: row.get("instance_id")?,
        generation: row.get("generation")?,
        endpoint: row.get("endpoint")?,
        lapsed: lapsed(read_run_state(&row, "run_state")?, held.is_some()),
        age: Duration::from_micros(age),
    })))
}

/// The guard of the activation, in the order in which its parts are told.
fn lapsed(run: RunState, held: bool) -> Option<PublicationFailure> {
    if !run.is_live() {
        Some(PublicationFailure::RunEnded)
    } else if held {
        None
    } else {
        Some(PublicationFailure::SandboxReplaced)
    }
}

fn read_run_state(row: &Row, column: &str) -> Result<RunState, Error> {
    let state: String = row.get(column)?;
    state.parse().map_err(|source| Error::corrupt("runs", "state", source))
}

/// Bytes and descriptor that were stored, read back and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified<'a> {
    pub size: i64,
    /// In lower-case hex.
    pub sha256: &'a str,
    pub object_key: &'a str,
    pub descriptor_key: &'a str,
    pub descriptor_sha256: &'a str,
    /// The bytes of a file that travels inline; without them it travels by address.
    pub inline: Option<&'a [u8]>,
}

impl Verified<'_> {
    pub const fn delivery(&self) -> Delivery {
        if self.inline.is_some() { Delivery::Raw } else { Delivery::Url }
    }
}

/// What became of a publication. The messages wake its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It counts now, and its artifact is announced.
    Active(Option<Outgoing>),
    /// It can no longer count, and now it never will.
    Failed(PublicationFailure, Option<Outgoing>),
    /// It was decided before, and stays as it was.
    Already,
}

/// Makes verified bytes count: row, artifact event, the run's counters and its wake-up, in one
/// transaction. Fails the row instead when its run has ended, its sandbox was replaced or the run
/// has put out too much. May be repeated: the first decision stays.
pub async fn activate(
    pool: &Pool,
    ids: &Ids,
    scope: &ScopeDigest,
    publication: PublicationId,
    verified: &Verified<'_>,
) -> Result<Decision, Error> {
    let mut tx = pool.begin().await?;
    let Some((run, row)) = lock(&mut tx, scope, publication).await? else {
        return Ok(Decision::Already);
    };
    if let Some(code) = refusal(&mut tx, scope, &run, &row, verified).await? {
        let outgoing = write_failure(&mut tx, ids, scope, publication, &run, code).await?;
        tx.commit().await?;
        return Ok(Decision::Failed(code, outgoing));
    }
    tx.execute(
        "-- store::publications::activate
         update publications
            set state = 'active', delivery = $3, size_bytes = $4, sha256 = $5, object_key = $6,
                descriptor_key = $7, descriptor_sha256 = $8, inline_bytes = $9,
                decided_at = statement_timestamp()
          where publication_id = $1 and scope_digest = $2 and state = 'requested'",
        &[
            publication.into(),
            scope.as_str().into(),
            verified.delivery().as_str().into(),
            verified.size.into(),
            verified.sha256.into(),
            verified.object_key.into(),
            verified.descriptor_key.into(),
            verified.descriptor_sha256.into(),
            verified.inline.into(),
        ],
    )
    .await?;
    tx.execute(
        "-- store::publications::count
         update runs set output_artifacts = output_artifacts + 1, output_bytes = output_bytes + $3
          where run_id = $1 and scope_digest = $2",
        &[run.id.into(), scope.as_str().into(), inline_size(verified).into()],
    )
    .await?;
    let outgoing = runs::signal(&mut tx, ids, scope, run.id, Reason::PublicationDone).await?;
    let source = Source { scope, session: run.session, task: run.task, run: run.id };
    let artifact = EventBody::Artifact(ArtifactUpdate {
        artifact: ArtifactId::from(publication),
        name: Some(row.filename),
        append: false,
        last_chunk: true,
        content: ArtifactContent::Published { publication },
        about: About::default(),
    });
    events::append(&mut tx, source, None, &artifact).await?;
    tx.commit().await?;
    Ok(Decision::Active(outgoing))
}

/// Ends a publication without a file and wakes its run. May be repeated: the first decision stays.
pub async fn fail(
    pool: &Pool,
    ids: &Ids,
    scope: &ScopeDigest,
    publication: PublicationId,
    code: PublicationFailure,
) -> Result<Decision, Error> {
    let mut tx = pool.begin().await?;
    let Some((run, _)) = lock(&mut tx, scope, publication).await? else {
        return Ok(Decision::Already);
    };
    let outgoing = write_failure(&mut tx, ids, scope, publication, &run, code).await?;
    tx.commit().await?;
    Ok(Decision::Failed(code, outgoing))
}

struct Run {
    id: RunId,
    task: TaskId,
    session: SessionId,
    state: RunState,
    output_bytes: i64,
    output_artifacts: i32,
}

struct Locked {
    filename: String,
    instance: InstanceId,
    generation: i64,
}

/// Locks the run and then the publication; `None` when there is nothing left to decide.
async fn lock(
    tx: &mut Tx,
    scope: &ScopeDigest,
    publication: PublicationId,
) -> Result<Option<(Run, Locked)>, Error> {
    let run = tx
        .query_opt(
            "-- store::publications::lock_run
             select run_id, task_id, session_id, state, output_bytes, output_artifacts from runs
              where run_id = (select p.run_id from publications p
                               where p.publication_id = $1 and p.scope_digest = $2)
                and scope_digest = $2
                for update",
            &[publication.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let row = tx
        .query_opt(
            "-- store::publications::lock
             select state, filename, instance_id, generation from publications
              where publication_id = $1 and scope_digest = $2 for update",
            &[publication.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    if read_state(&row)? != State::Requested {
        return Ok(None);
    }
    Ok(Some((
        Run {
            id: run.get("run_id")?,
            task: run.get("task_id")?,
            session: run.get("session_id")?,
            state: read_run_state(&run, "state")?,
            output_bytes: run.get("output_bytes")?,
            output_artifacts: run.get("output_artifacts")?,
        },
        Locked {
            filename: row.get("filename")?,
            instance: row.get("instance_id")?,
            generation: row.get("generation")?,
        },
    )))
}

/// Why verified bytes may not count after all. Locks the workspace, so that the answer holds until
/// the transaction ends.
async fn refusal(
    tx: &mut Tx,
    scope: &ScopeDigest,
    run: &Run,
    row: &Locked,
    verified: &Verified<'_>,
) -> Result<Option<PublicationFailure>, Error> {
    let held = tx
        .query_opt(
            "-- store::publications::lock_workspace
             select workspace_key from sandbox_leases
              where workspace_key = (select i.workspace_key from sandbox_instances i
                                      where i.instance_id = $1 and i.scope_digest = $3)
                and instance_id = $1 and generation = $2 and scope_digest = $3
                for update",
            &[row.instance.into(), row.generation.into(), scope.as_str().into()],
        )
        .await?;
    if let Some(code) = lapsed(run.state, held.is_some()) {
        return Ok(Some(code));
    }
    if i64::from(run.output_artifacts) + 1 > i64::from(limits::MAX_OUTPUT_ARTIFACTS) {
        return Ok(Some(PublicationFailure::OutputArtifactsExceeded));
    }
    let bytes = u64::try_from(run.output_bytes + inline_size(verified)).unwrap_or(0);
    if bytes > limits::MAX_OUTPUT_BYTES {
        return Ok(Some(PublicationFailure::OutputBytesExceeded));
    }
    Ok(None)
}

/// What of a file counts as put out by the run: only bytes that travel inside answers.
fn inline_size(verified: &Verified<'_>) -> i64 {
    match verified.delivery() {
        Delivery::Raw => verified.size,
        Delivery::Url => 0,
    }
}

async fn write_failure(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    publication: PublicationId,
    run: &Run,
    code: PublicationFailure,
) -> Result<Option<Outgoing>, Error> {
    tx.execute(
        "-- store::publications::fail
         update publications
            set state = 'failed', failure_code = $3, decided_at = statement_timestamp()
          where publication_id = $1 and scope_digest = $2 and state = 'requested'",
        &[publication.into(), scope.as_str().into(), code.as_str().into()],
    )
    .await?;
    runs::signal(tx, ids, scope, run.id, Reason::PublicationDone).await
}
