//! How a request is turned down.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use rustix::io::Errno;
use sandbox_protocol::path::InvalidPath;
use sandbox_protocol::{ErrorBody, ErrorCode};

/// A code, and a sentence for people that names no path, command or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) ErrorCode, pub(crate) &'static str);

impl Refusal {
    pub(crate) const fn bad_request(message: &'static str) -> Self {
        Self(ErrorCode::BadRequest, message)
    }

    pub(crate) const fn internal(message: &'static str) -> Self {
        Self(ErrorCode::Internal, message)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        json(status, &ErrorBody::new(self.0, self.1))
    }
}

/// A JSON reply.
pub(crate) fn json(status: StatusCode, body: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl From<InvalidPath> for Refusal {
    fn from(invalid: InvalidPath) -> Self {
        let message = match invalid {
            InvalidPath::Empty => "the path is empty",
            InvalidPath::Outside => "the path is not below the workspace",
            InvalidPath::Segment => "the path has an empty, `.` or `..` segment",
            InvalidPath::Character => "the path has a backslash or a control character",
            InvalidPath::TooLong => "the path is too long",
        };
        Self(ErrorCode::InvalidPath, message)
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self(ErrorCode::NotFound, "there is no such file"),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => {
                Self(ErrorCode::PermissionDenied, "the file system does not permit it")
            }
            Errno::ISDIR => Self(ErrorCode::IsDirectory, "it is a directory"),
            Errno::NOTDIR => Self(ErrorCode::Conflict, "a parent is not a directory"),
            Errno::EXIST | Errno::NOTEMPTY | Errno::BUSY => {
                Self(ErrorCode::Conflict, "something else stands there")
            }
            Errno::LOOP | Errno::XDEV => {
                Self(ErrorCode::InvalidPath, "a symbolic link stands in the path")
            }
            Errno::NAMETOOLONG => Self(ErrorCode::InvalidPath, "the path is too long"),
            Errno::NXIO | Errno::NODEV => Self(ErrorCode::NotAFile, "it is not a regular file"),
            Errno::NOSPC | Errno::DQUOT => Self(ErrorCode::LimitExceeded, "the disk is full"),
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => {
                Self(ErrorCode::LimitExceeded, "the machine is out of resources")
            }
            Errno::FBIG => Self(ErrorCode::TooLarge, "the file would be too large"),
            _ => Self::internal("the file system failed"),
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).map_or(Self::internal("input or output failed"), Self::from)
    }
}
