//! The original's three routes, on top of the journal and the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use sandbox_protocol::compat::{
    CommandLine, DownloadReply, DownloadRequest, ExecuteReply, ExecuteRequest, UploadReply,
    UploadRequest,
};
use sandbox_protocol::exec::{ExecState, StartExec};
use sandbox_protocol::limits::{MAX_BOUNDED_READ, MAX_SYNC_TIMEOUT_S};
use sandbox_protocol::path::RelativePath;

use super::Answer;
use super::body::Json;
use super::execs::{Begun, begin};
use super::files::Upload;
use crate::admission::{CompatPermit, Owned};
use crate::execs::Plan;
use crate::refusal::{Refusal, json};
use crate::sandbox::Sandbox;
use crate::workspace::draft::random;
use crate::workspace::target;

const TOO_LONG: Refusal = Refusal::bad_request("the time limit is over 120 seconds: use /v1/execs");
const NO_CONTENT: Refusal = Refusal::bad_request("exactly one of the two contents is needed");
const NOT_BASE64: Refusal = Refusal::bad_request("the content is not base64");
const ENCODING: Refusal = Refusal::bad_request("the encoding is utf-8 or base64");
const NO_PATH: Refusal = Refusal::bad_request("the query needs a path");
const BAD_LIMIT: Refusal = Refusal::bad_request("`max_bytes` is 1 to 10485760");
const LOST: Refusal = Refusal::internal("the command was lost");

pub(super) async fn execute(
    State(sandbox): State<Arc<Sandbox>>,
    Owned(instance): Owned,
    CompatPermit(permit): CompatPermit,
    Json(request): Json<ExecuteRequest>,
) -> Answer {
    let plan = Plan::new(modern(request)?, &instance.base)?;
    let limit = plan.limit;
    let id = format!("execute.{}", hex::encode(random()?));
    let (Begun::New(record) | Begun::Known(record)) =
        begin(&sandbox, &instance, &permit, &id, plan).await?;
    // The limit, what it takes to end everything, and a margin.
    record.wait(limit + std::time::Duration::from_secs(10)).await;
    let status = record.status(0, 0);
    let [(stdout, stdout_bytes, stdout_truncated), (stderr, stderr_bytes, stderr_truncated)] =
        record.streams();
    sandbox.journal.acknowledge(&id)?;
    Ok(json(
        StatusCode::OK,
        &ExecuteReply {
            exit_code: status.exit_code.ok_or(LOST)?,
            stdout,
            stderr,
            timed_out: status.state == ExecState::TimedOut,
            duration_ms: status.duration_ms,
            stdout_truncated,
            stderr_truncated,
            stdout_bytes,
            stderr_bytes,
            signal: status.signal,
        },
    ))
}

fn modern(request: ExecuteRequest) -> Result<StartExec, Refusal> {
    let limit = request.timeout_seconds.unwrap_or(MAX_SYNC_TIMEOUT_S);
    if limit == 0 || limit > MAX_SYNC_TIMEOUT_S {
        return Err(TOO_LONG);
    }
    let (shell, argv) = match (request.command, request.args) {
        (CommandLine::Shell(line), None) => (Some(line), None),
        (CommandLine::Shell(program), Some(args)) => (None, Some([vec![program], args].concat())),
        (CommandLine::Argv(argv), args) => (None, Some([argv, args.unwrap_or_default()].concat())),
    };
    Ok(StartExec {
        shell,
        argv,
        cwd: request.cwd,
        env: request.env.into_iter().collect::<BTreeMap<_, _>>(),
        stdin_b64: request.stdin.map(|stdin| STANDARD.encode(stdin)),
        timeout_s: Some(limit),
        capture: None,
    })
}

pub(super) async fn upload(
    State(sandbox): State<Arc<Sandbox>>,
    CompatPermit(permit): CompatPermit,
    Json(request): Json<UploadRequest>,
) -> Answer {
    let path = target(&relative(&sandbox, request.path)?)?;
    let content = match (request.content_base64, request.content, request.encoding.as_deref()) {
        (Some(text), None, _) | (None, Some(text), Some("base64")) => {
            STANDARD.decode(text).map_err(|_| NOT_BASE64)?
        }
        (None, Some(text), None | Some("utf-8" | "utf8")) => text.into_bytes(),
        (None, Some(_), Some(_)) => return Err(ENCODING),
        (Some(_), Some(_), _) | (None, None, _) => return Err(NO_CONTENT),
    };
    let upload = Upload::begin(&sandbox, &permit, &path, None).await?;
    let written = upload.append(Bytes::from(content)).await?.land(None).await?;
    let status = "ok".to_owned();
    Ok(json(StatusCode::OK, &UploadReply { status, path: written.path, bytes: written.bytes }))
}

pub(super) async fn download(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<DownloadRequest>,
) -> Answer {
    read(&sandbox, request).await
}

pub(super) async fn download_query(
    State(sandbox): State<Arc<Sandbox>>,
    query: Result<Query<DownloadRequest>, QueryRejection>,
) -> Answer {
    let Query(request) = query.map_err(|_| NO_PATH)?;
    read(&sandbox, request).await
}

async fn read(sandbox: &Sandbox, request: DownloadRequest) -> Answer {
    let max = request.max_bytes.unwrap_or(MAX_BOUNDED_READ);
    if !(1..=MAX_BOUNDED_READ).contains(&max) {
        return Err(BAD_LIMIT);
    }
    let path = RelativePath::parse(&relative(sandbox, request.path)?)?;
    let workspace = sandbox.workspace.clone();
    let read = move || {
        let content = workspace.read_all(&path, max)?;
        Ok(DownloadReply {
            path: path.as_str().to_owned(),
            bytes: content.len() as u64,
            content_base64: STANDARD.encode(content),
        })
    };
    Ok(json(StatusCode::OK, &sandbox.workers.run(read).await?))
}

/// The original's clients also send paths as commands see them.
fn relative(sandbox: &Sandbox, path: String) -> Result<String, Refusal> {
    if path.starts_with('/') {
        let root = sandbox.settings.root.to_string_lossy();
        Ok(RelativePath::below(&root, &path)?.as_str().to_owned())
    } else {
        Ok(path)
    }
}
