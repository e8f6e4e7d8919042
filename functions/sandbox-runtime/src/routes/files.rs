//! Whole files as raw bytes.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::response::IntoResponse as _;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use sandbox_protocol::files::{BoundedRead, WriteReply};
use sandbox_protocol::limits::MAX_BOUNDED_READ;
use sandbox_protocol::{ErrorCode, RelativePath, headers};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::Answer;
use super::body::{Json, Pieces};
use crate::admission::{Owned, Permit};
use crate::refusal::{Refusal, json};
use crate::sandbox::Sandbox;
use crate::workspace::draft::Draft;
use crate::workspace::target;

const NO_PATH: Refusal = Refusal::bad_request("the query needs a path");
const BAD_HEADER: Refusal = Refusal::bad_request("a digest is not text");
const WRONG_BYTES: Refusal = Refusal::bad_request("the body does not have its announced digest");
const OTHER_FILE: Refusal =
    Refusal(ErrorCode::Conflict, "another version of the file stands there");
const BAD_LIMIT: Refusal = Refusal::bad_request("`max_bytes` is 1 to 10485760");
/// Pieces of a body are gathered up to this size.
const GATHER: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct Target {
    path: String,
}

/// Streams a body into a draft, which takes its place when the last byte is there.
pub(super) async fn put(
    State(sandbox): State<Arc<Sandbox>>,
    Owned(instance): Owned,
    permit: Permit,
    query: Result<Query<Target>, QueryRejection>,
    request: Request,
) -> Answer {
    let Query(Target { path }) = query.map_err(|_| NO_PATH)?;
    let path = target(&path)?;
    let announced = text_header(request.headers(), headers::CONTENT_SHA256)?;
    let expected = text_header(request.headers(), header::IF_MATCH.as_str())?;
    let mut pieces = Pieces::new(request.into_body(), instance.max_body)?;
    let mut upload = Upload::begin(&sandbox, &permit, &path, expected).await?;
    while let Some(piece) = pieces.next().await? {
        upload = upload.append(piece).await?;
    }
    let written = upload.land(announced).await?;
    Ok(json(StatusCode::OK, &written))
}

fn text_header(headers: &HeaderMap, name: &str) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| BAD_HEADER)?;
    Ok(Some(text.trim_matches('"').to_ascii_lowercase()))
}

/// A file that is being written. Dropped, it leaves nothing.
pub(super) struct Upload<'a> {
    sandbox: &'a Sandbox,
    permit: &'a Permit,
    path: RelativePath,
    /// The digest of the file that may be replaced.
    expected: Option<String>,
    draft: Draft,
    gathered: BytesMut,
}

impl<'a> Upload<'a> {
    pub(super) async fn begin(
        sandbox: &'a Sandbox,
        permit: &'a Permit,
        path: &RelativePath,
        expected: Option<String>,
    ) -> Result<Self, Refusal> {
        let (workspace, target, begin) = (sandbox.workspace.clone(), path.clone(), permit.clone());
        let draft = sandbox
            .workers
            .run(move || begin.commit(|| Draft::begin(&workspace, &target))?)
            .await?;
        let (path, gathered) = (path.clone(), BytesMut::new());
        Ok(Self { sandbox, permit, path, expected, draft, gathered })
    }

    pub(super) async fn append(mut self, piece: Bytes) -> Result<Self, Refusal> {
        self.gathered.extend_from_slice(&piece);
        if self.gathered.len() >= GATHER { self.flush().await } else { Ok(self) }
    }

    async fn flush(self) -> Result<Self, Refusal> {
        let Self { sandbox, mut draft, mut gathered, .. } = self;
        let bytes = gathered.split();
        let draft = sandbox.workers.run(move || draft.append(&bytes).map(|()| draft)).await?;
        Ok(Self { draft, gathered, ..self })
    }

    /// Puts the file in its place, if it has the digest that was announced for it.
    pub(super) async fn land(self, announced: Option<String>) -> Result<WriteReply, Refusal> {
        let Self { sandbox, permit, path, expected, draft, .. } = self.flush().await?;
        if announced.is_some_and(|announced| announced != draft.sha256()) {
            return Err(WRONG_BYTES);
        }
        let (workspace, permit) = (sandbox.workspace.clone(), permit.clone());
        let land = move || {
            permit.commit(|| {
                if expected.is_some() && workspace.digest(&path)? != expected {
                    return Err(OTHER_FILE);
                }
                draft.land(&path, None)
            })?
        };
        sandbox.workers.run(land).await
    }
}

pub(super) async fn read_bounded(
    State(sandbox): State<Arc<Sandbox>>,
    Json(request): Json<BoundedRead>,
) -> Answer {
    if !(1..=MAX_BOUNDED_READ).contains(&request.max_bytes) {
        return Err(BAD_LIMIT);
    }
    let path = RelativePath::parse(&request.path)?;
    let workspace = sandbox.workspace.clone();
    let read = move || {
        let snapshot = workspace.read_bounded(&path, request.max_bytes)?;
        let digest = hex::encode(Sha256::digest(&snapshot.bytes));
        Ok((snapshot, digest))
    };
    let (snapshot, digest) = sandbox.workers.run(read).await?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (headers::CONTENT_SHA256, digest),
        (headers::MTIME_NS, snapshot.modified_ns.to_string()),
        (headers::INODE, snapshot.inode.to_string()),
    ];
    Ok((headers, snapshot.bytes).into_response())
}
