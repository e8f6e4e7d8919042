//! The hook port: what the machine's host tells the instance. No bearer: in the cloud nobody else
//! reaches the port, and what a stranger could do here is to end the instance. Where others do reach
//! it (`COG_SHARED_HOST`), an instance that is somebody's takes no hook from anyone.
//!
//! `suspend` and `resume` are not offered yet, and 404 says so.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use http::StatusCode;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::bootstrap::HOOK_PREFIX;
use sandbox_protocol::exec::StartExec;

use crate::execs::{Base, Plan, Reserved, start};
use crate::identity::Instance;
use crate::log::{self, Log};
use crate::refusal::{Refusal, json};
use crate::routes::body;
use crate::sandbox::Sandbox;

/// The largest body of a hook.
const MAX_BODY: usize = 64 * 1024;

const NOT_WRITABLE: Refusal = Refusal(ErrorCode::NotReady, "the workspace cannot be written");
const CLOSED: Refusal = Refusal(ErrorCode::PermissionDenied, "hooks are over for this instance");
const NO_COMMAND: Refusal = Refusal(ErrorCode::NotReady, "a command cannot be run");

pub(crate) fn router(sandbox: &Arc<Sandbox>, log: &Log) -> Router {
    let hook = |name: &str| format!("{HOOK_PREFIX}{name}");
    let router = Router::new()
        .route(&hook("ready"), post(ready))
        .route(&hook("validate"), post(validate))
        .route(&hook("run"), post(run))
        .route(&hook("terminate"), post(terminate));
    crate::routes::or_refuse(router)
        .layer(from_fn_with_state(Arc::clone(sandbox), closed))
        .layer(from_fn_with_state(log.clone(), log::each))
        .with_state(Arc::clone(sandbox))
}

/// Turns strangers away from an instance that is somebody's. `run` answers for itself: it takes
/// nothing but the same payload again.
async fn closed(State(sandbox): State<Arc<Sandbox>>, request: Request, next: Next) -> Response {
    let is_run = request.uri().path().strip_prefix(HOOK_PREFIX) == Some("run");
    if sandbox.settings.shared_host && !is_run && sandbox.identity.instance().is_ok() {
        return CLOSED.into_response();
    }
    next.run(request).await
}

type Answer = Result<Response, Refusal>;

fn done() -> Response {
    json(StatusCode::OK, &serde_json::json!({ "status": "ok" }))
}

/// Whether a snapshot may be taken: we listen, and the workspace can be written. Nothing random and
/// nothing secret was made so far.
async fn ready(State(sandbox): State<Arc<Sandbox>>) -> Answer {
    sandbox.probe().await.map_err(|_| NOT_WRITABLE)?;
    Ok(done())
}

/// Whether the image works: a command runs as it will later.
async fn validate(State(sandbox): State<Arc<Sandbox>>) -> Answer {
    sandbox.probe().await.map_err(|_| NOT_WRITABLE)?;
    let base = Base::new(&sandbox.settings, &std::collections::BTreeMap::new())?;
    let plan = Plan::new(StartExec { timeout_s: Some(10), ..StartExec::shell("true") }, &base)?;
    let limits = crate::execs::Limits { running: usize::MAX, kept_bytes: 0 };
    let id = format!("validate.{}", hex::encode(crate::workspace::draft::random()?));
    let Reserved::New(record, kills) = sandbox.journal.reserve(&id, plan.digest, limits)? else {
        return Err(NO_COMMAND);
    };
    start(&sandbox.launch(0), Arc::clone(&record), plan, kills).map_err(|_| NO_COMMAND)?;
    record.wait(std::time::Duration::from_secs(15)).await;
    let succeeded = record.status(0, 0).exit_code == Some(0);
    sandbox.journal.release(&record);
    if succeeded { Ok(done()) } else { Err(NO_COMMAND) }
}

/// Makes the instance somebody's, once. A shared workspace is mounted here, when there is one.
async fn run(State(sandbox): State<Arc<Sandbox>>, request: Request) -> Answer {
    let body = body::whole(request.into_body(), MAX_BODY).await?;
    let instance = Instance::from_hook(&body, &sandbox.settings)?;
    sandbox.probe().await?;
    sandbox.identity.claim(instance)?;
    Ok(done())
}

async fn terminate(State(sandbox): State<Arc<Sandbox>>) -> Answer {
    sandbox.terminate().await;
    Ok(done())
}
