//! The control port. Each handler reads its body only after [`crate::admission`] let it in.

pub(crate) mod body;
mod compat;
mod execs;
mod files;
mod fs;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post, put};
use http::StatusCode;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::health::HealthStatus;
use sandbox_protocol::lease::LeaseRequest;

use crate::admission::{HEALTH, LEASE, Owned, admit};
use crate::log::{self, Log};
use crate::refusal::{Refusal, json};
use crate::sandbox::{PATIENCE, Sandbox};
use body::Json;

type Answer = Result<Response, Refusal>;

const NO_ROUTE: Refusal = Refusal(ErrorCode::NotFound, "there is no such route");
const NO_METHOD: Refusal = Refusal(ErrorCode::MethodNotAllowed, "the route has another method");

pub(crate) fn router(sandbox: &Arc<Sandbox>, log: &Log) -> Router {
    let router = Router::new()
        .route(HEALTH, get(health))
        .route(LEASE, put(lease))
        .route("/v1/execs", get(execs::list))
        .route("/v1/execs/{id}", put(execs::start).get(execs::status).delete(execs::acknowledge))
        .route("/v1/execs/{id}/kill", post(execs::kill))
        .route("/v1/files", put(files::put))
        .route("/v1/read-bounded", post(files::read_bounded))
        .route("/v1/fs/ls", post(fs::ls))
        .route("/v1/fs/stat", post(fs::stat))
        .route("/v1/fs/read", post(fs::read))
        .route("/v1/fs/write", post(fs::write))
        .route("/v1/fs/edit", post(fs::edit))
        .route("/v1/fs/delete", post(fs::delete))
        .route("/v1/fs/mkdir", post(fs::mkdir))
        .route("/v1/fs/glob", post(fs::glob))
        .route("/v1/fs/grep", post(fs::grep))
        .route("/execute", post(compat::execute))
        .route("/upload", post(compat::upload))
        .route("/download", get(compat::download_query).post(compat::download));
    or_refuse(router)
        .layer(from_fn_with_state(Arc::clone(sandbox), admit))
        .layer(from_fn_with_state(log.clone(), log::each))
        .with_state(Arc::clone(sandbox))
}

/// What is no route is refused in the same form as everything else.
pub(crate) fn or_refuse<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.fallback(async || NO_ROUTE).method_not_allowed_fallback(async || NO_METHOD)
}

async fn health(State(sandbox): State<Arc<Sandbox>>) -> Response {
    let health = sandbox.health().await;
    let status = match health.status {
        HealthStatus::Ok => StatusCode::OK,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    json(status, &health)
}

/// An adoption ends the commands that an older owner has left running: nobody waits for them any
/// more, and they would go on changing the workspace.
async fn lease(
    State(sandbox): State<Arc<Sandbox>>,
    Owned(instance): Owned,
    Json(request): Json<LeaseRequest>,
) -> Answer {
    let (reply, left) = instance.fence.lease(&request, || sandbox.stop_commands())?;
    if let Some(left) = left {
        left.gone(PATIENCE).await;
    }
    Ok(json(StatusCode::OK, &reply))
}
