//! `/v1/execs`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use sandbox_protocol::exec::{KillExec, StartExec};
use sandbox_protocol::limits::MAX_WAIT_MS;
use serde::Deserialize;

use super::Answer;
use super::body::Json;
use crate::admission::{Owned, Permit};
use crate::execs::{Plan, Record, Reserved};
use crate::identity::Instance;
use crate::refusal::{Refusal, json};
use crate::sandbox::Sandbox;

const BAD_QUERY: Refusal = Refusal::bad_request("the query is not understood");
const DEFAULT_GRACE_MS: u64 = 2_000;
const MAX_GRACE_MS: u64 = 10_000;

pub(super) async fn start(
    State(sandbox): State<Arc<Sandbox>>,
    Owned(instance): Owned,
    permit: Permit,
    Path(id): Path<String>,
    Json(request): Json<StartExec>,
) -> Answer {
    let plan = Plan::new(request, &instance.base)?;
    let reserved = begin(&sandbox, &instance, &permit, &id, plan).await?;
    let (status, record) = match reserved {
        Begun::New(record) => (StatusCode::CREATED, record),
        Begun::Known(record) => (StatusCode::OK, record),
    };
    Ok(json(status, &record.status(0, 0)))
}

/// Whether a command was begun by this request.
pub(super) enum Begun {
    New(Arc<Record>),
    Known(Arc<Record>),
}

/// Starts a command under an id, unless the id is known.
///
/// Where it cannot be started, or the client goes away before it is, the id is free again.
pub(super) async fn begin(
    sandbox: &Sandbox,
    instance: &Instance,
    permit: &Permit,
    id: &str,
    plan: Plan,
) -> Result<Begun, Refusal> {
    let reserve = || sandbox.journal.reserve(id, plan.digest, instance.limits);
    let (record, kills) = match permit.commit(reserve)?? {
        Reserved::Known(record) => return Ok(Begun::Known(record)),
        Reserved::New(record, kills) => (record, kills),
    };
    let mut place = Place { sandbox, record: &record, taken: false };
    let (workspace, cwd, make) = (sandbox.workspace.clone(), plan.cwd.clone(), permit.clone());
    let made = move || make.commit(|| workspace.make_directory(&cwd))?;
    sandbox.workers.run(made).await?;
    let launch = sandbox.launch(instance.max_stream);
    permit.commit(|| {
        // From here to the start nothing waits: an end of the instance comes before or after.
        sandbox.identity.instance()?;
        crate::execs::start(&launch, Arc::clone(&record), plan, kills).map_err(Refusal::from)
    })??;
    place.taken = true;
    Ok(Begun::New(Arc::clone(&record)))
}

/// An id that is given back unless a command took it.
struct Place<'a> {
    sandbox: &'a Sandbox,
    record: &'a Record,
    taken: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.sandbox.journal.release(self.record);
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Poll {
    #[serde(default)]
    wait_ms: u64,
    #[serde(default)]
    stdout_from: u64,
    #[serde(default)]
    stderr_from: u64,
}

pub(super) async fn status(
    State(sandbox): State<Arc<Sandbox>>,
    Path(id): Path<String>,
    poll: Result<Query<Poll>, QueryRejection>,
) -> Answer {
    let Query(poll) = poll.map_err(|_| BAD_QUERY)?;
    let record = sandbox.journal.find(&id)?;
    record.wait(Duration::from_millis(poll.wait_ms.min(MAX_WAIT_MS))).await;
    Ok(json(StatusCode::OK, &record.status(poll.stdout_from, poll.stderr_from)))
}

pub(super) async fn kill(
    State(sandbox): State<Arc<Sandbox>>,
    _permit: Permit,
    Path(id): Path<String>,
    Json(request): Json<KillExec>,
) -> Answer {
    let record = sandbox.journal.find(&id)?;
    let grace = request.grace_ms.unwrap_or(DEFAULT_GRACE_MS).min(MAX_GRACE_MS);
    record.kill(Duration::from_millis(grace)).await;
    Ok(json(StatusCode::OK, &record.status(0, 0)))
}

pub(super) async fn acknowledge(
    State(sandbox): State<Arc<Sandbox>>,
    permit: Permit,
    Path(id): Path<String>,
) -> Answer {
    permit.commit(|| sandbox.journal.acknowledge(&id))??;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn list(State(sandbox): State<Arc<Sandbox>>) -> Response {
    json(StatusCode::OK, &sandbox.journal.list())
}
