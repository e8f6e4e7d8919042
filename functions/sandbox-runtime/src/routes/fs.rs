//! `/v1/fs`: the file tools, natively.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use http::StatusCode;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::{
    DeleteReply, DeleteRequest, EditRequest, LsRequest, MkdirReply, MkdirRequest, ReadRequest,
    StatRequest, WriteRequest,
};
use sandbox_protocol::glob::{InvalidPattern, Pattern};
use sandbox_protocol::limits::{DEFAULT_GREP_MATCHES, MAX_GREP_MATCHES};
use sandbox_protocol::path::RelativePath;
use sandbox_protocol::search::{GlobRequest, GrepRequest};
use serde::Serialize;

use super::Answer;
use super::body::Json;
use super::files::Upload;
use crate::admission::Permit;
use crate::refusal::{Refusal, json};
use crate::sandbox::Sandbox;
use crate::workspace::grep::Grep;
use crate::workspace::{Workspace, target};

/// What a read or a removal may take.
const BUDGET: Duration = Duration::from_secs(20);
/// What a glob may take; it then returns what it has.
const GLOB_BUDGET: Duration = Duration::from_secs(5);
/// What a grep may take; it then returns what it has.
const GREP_BUDGET: Duration = Duration::from_secs(15);

/// Does a job on the files' threads and answers with its result.
async fn answer<T: Serialize + Send + 'static>(
    sandbox: &Sandbox,
    job: impl FnOnce(&Workspace) -> Result<T, Refusal> + Send + 'static,
) -> Answer {
    let workspace = sandbox.workspace.clone();
    let reply = sandbox.workers.run(move || job(&workspace)).await?;
    Ok(json(StatusCode::OK, &reply))
}

fn place(path: Option<&str>) -> Result<RelativePath, Refusal> {
    Ok(RelativePath::parse_or_root(path.unwrap_or("."))?)
}

fn pattern(text: &str) -> Result<Pattern, Refusal> {
    Pattern::parse(text).map_err(|invalid| match invalid {
        InvalidPattern::Empty => Refusal::bad_request("the pattern is empty"),
        InvalidPattern::TooLong => Refusal::bad_request("the pattern is too long"),
        InvalidPattern::Parent => Refusal::bad_request("the pattern has a `..` segment"),
        InvalidPattern::TooManyExpansions => {
            Refusal::bad_request("the pattern's groups expand to too many patterns")
        }
    })
}

pub(super) async fn ls(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<LsRequest>,
) -> Answer {
    let path = place(Some(&request.path))?;
    answer(&sandbox, move |workspace| workspace.list(&path)).await
}

pub(super) async fn stat(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<StatRequest>,
) -> Answer {
    let path = place(Some(&request.path))?;
    answer(&sandbox, move |workspace| workspace.stat(&path, &request)).await
}

pub(super) async fn read(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<ReadRequest>,
) -> Answer {
    let path = RelativePath::parse(&request.path)?;
    let until = Instant::now() + BUDGET;
    answer(&sandbox, move |workspace| workspace.read_page(&path, &request, until)).await
}

pub(super) async fn write(
    State(sandbox): State<Arc<Sandbox>>,
    permit: Permit,
    Json(request): Json<WriteRequest>,
) -> Answer {
    let path = target(&request.path)?;
    let upload = Upload::begin(&sandbox, &permit, &path, None).await?;
    let written = upload.append(request.content.into()).await?.land(None).await?;
    Ok(json(StatusCode::OK, &written))
}

pub(super) async fn edit(
    State(sandbox): State<Arc<Sandbox>>,
    permit: Permit,
    Json(request): Json<EditRequest>,
) -> Answer {
    let path = target(&request.path)?;
    answer(&sandbox, move |workspace| workspace.edit(&path, &request, &permit)).await
}

pub(super) async fn delete(
    State(sandbox): State<Arc<Sandbox>>,
    permit: Permit,
    Json(request): Json<DeleteRequest>,
) -> Answer {
    let path = target(&request.path)?;
    let until = Instant::now() + BUDGET;
    let delete = move |workspace: &Workspace| {
        let removed = workspace.delete(&path, &permit, until)?;
        Ok(DeleteReply { path: request.path, removed })
    };
    answer(&sandbox, delete).await
}

pub(super) async fn mkdir(
    State(sandbox): State<Arc<Sandbox>>,
    permit: Permit,
    Json(request): Json<MkdirRequest>,
) -> Answer {
    let path = target(&request.path)?;
    let make = move |workspace: &Workspace| {
        permit.commit(|| workspace.make_directory(&path))??;
        Ok(MkdirReply { path: request.path })
    };
    answer(&sandbox, make).await
}

pub(super) async fn glob(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<GlobRequest>,
) -> Answer {
    let (start, pattern) = (place(request.path.as_deref())?, pattern(&request.pattern)?);
    let until = Instant::now() + GLOB_BUDGET;
    answer(&sandbox, move |workspace| workspace.glob(&start, &pattern, until)).await
}

pub(super) async fn grep(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<GrepRequest>,
) -> Answer {
    let start = place(request.path.as_deref())?;
    let files = request.glob.as_deref().map(pattern).transpose()?;
    let max = request.max_count.unwrap_or(DEFAULT_GREP_MATCHES);
    if request.pattern.is_empty() || !(1..=MAX_GREP_MATCHES).contains(&max) {
        return Err(Refusal(
            ErrorCode::BadRequest,
            "`pattern` is empty, or `max_count` is not 1 to 10000",
        ));
    }
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let grep = Grep { pattern: request.pattern, files, max };
    let until = Instant::now() + GREP_BUDGET;
    answer(&sandbox, move |workspace| workspace.grep(&start, &grep, until)).await
}
