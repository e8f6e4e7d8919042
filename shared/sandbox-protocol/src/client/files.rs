//! Files.

use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{CALL, Client, Error, FILE_CALL, error, transport};
use crate::files::{
    BoundedRead, DeleteReply, DeleteRequest, EditReply, EditRequest, LsReply, LsRequest,
    MkdirReply, MkdirRequest, ReadReply, ReadRequest, StatReply, StatRequest, WriteReply,
    WriteRequest,
};
use crate::headers;
use crate::path::RelativePath;
use crate::search::{GlobReply, GlobRequest, GrepReply, GrepRequest};

/// A file as it was at one moment, compared with its length and digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedFile {
    pub bytes: Bytes,
    /// Lower-case hex, computed here.
    pub sha256: String,
}

/// What moving this many bytes may take, at a quarter of a megabyte per second.
pub(super) fn transfer(bytes: u64) -> Duration {
    FILE_CALL + Duration::from_secs(bytes / 250_000)
}

impl Client {
    pub async fn ls(&self, request: &LsRequest) -> Result<LsReply, Error> {
        self.json("POST", "/v1/fs/ls", FILE_CALL, request).await
    }

    pub async fn stat(&self, request: &StatRequest) -> Result<StatReply, Error> {
        self.json("POST", "/v1/fs/stat", FILE_CALL, request).await
    }

    pub async fn read(&self, request: &ReadRequest) -> Result<ReadReply, Error> {
        self.json("POST", "/v1/fs/read", FILE_CALL, request).await
    }

    pub async fn write(&self, request: &WriteRequest) -> Result<WriteReply, Error> {
        let limit = transfer(request.content.len() as u64);
        self.json("POST", "/v1/fs/write", limit, request).await
    }

    pub async fn edit(&self, request: &EditRequest) -> Result<EditReply, Error> {
        self.json("POST", "/v1/fs/edit", FILE_CALL, request).await
    }

    pub async fn delete(&self, request: &DeleteRequest) -> Result<DeleteReply, Error> {
        self.json("POST", "/v1/fs/delete", FILE_CALL, request).await
    }

    pub async fn mkdir(&self, request: &MkdirRequest) -> Result<MkdirReply, Error> {
        self.json("POST", "/v1/fs/mkdir", CALL, request).await
    }

    pub async fn glob(&self, request: &GlobRequest) -> Result<GlobReply, Error> {
        self.json("POST", "/v1/fs/glob", FILE_CALL, request).await
    }

    pub async fn grep(&self, request: &GrepRequest) -> Result<GrepReply, Error> {
        self.json("POST", "/v1/fs/grep", FILE_CALL, request).await
    }

    /// Writes a whole file of any bytes.
    pub async fn put_file(&self, path: &RelativePath, bytes: Bytes) -> Result<WriteReply, Error> {
        let limit = transfer(bytes.len() as u64);
        let digest = hex::encode(Sha256::digest(&bytes));
        let request = self
            .request("PUT", &format!("/v1/files?path={}", query(path.as_str())), limit)?
            .header(headers::CONTENT_SHA256, digest)
            .header("content-type", "application/octet-stream")
            .body(bytes);
        transport::reply(transport::send(request).await?).await
    }

    /// Reads a regular file of at most `max_bytes` bytes, which may be 10 MiB.
    ///
    /// [`Error::TooLarge`] where it is larger, also where only the reply is; [`Error::BadReply`]
    /// where the bytes are not those that the reply's headers announce.
    pub async fn read_bounded(
        &self,
        path: &RelativePath,
        max_bytes: u64,
    ) -> Result<BoundedFile, Error> {
        let limit = transfer(max_bytes);
        let body = BoundedRead { path: path.as_str().to_owned(), max_bytes };
        let request = self.request("POST", "/v1/read-bounded", limit)?;
        let reply = transport::send(transport::with_json(request, &body)?).await?;
        if !reply.status().is_success() {
            let status = reply.status().as_u16();
            return Err(error::refusal(status, &transport::read(reply, super::MAX_REPLY).await?));
        }
        let header = |name: &str| reply.headers().get(name)?.to_str().ok().map(str::to_owned);
        let announced = header(headers::CONTENT_SHA256);
        let length = header("content-length").and_then(|length| length.parse::<usize>().ok());
        let cap = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let bytes = transport::read(reply, cap).await?;
        if length != Some(bytes.len()) {
            return Err(Error::BadReply("a file without its announced length"));
        }
        let sha256 = hex::encode(Sha256::digest(&bytes));
        if announced.as_deref() != Some(&sha256) {
            return Err(Error::BadReply("a file without its announced digest"));
        }
        Ok(BoundedFile { bytes: bytes.into(), sha256 })
    }
}

/// A value for a query string: everything but unreserved characters and `/` is escaped.
fn query(value: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
