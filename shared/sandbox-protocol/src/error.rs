//! How the server says no: `{"error":{"code":"…","message":"…"}}`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a request was refused. A client branches on this and never on the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The path breaks a rule, or a symbolic link stands where none may.
    InvalidPath,
    NotFound,
    IsDirectory,
    /// Something that is neither a regular file nor, where one is wanted, a directory.
    NotAFile,
    PermissionDenied,
    /// A file, body or result is over the limit for it.
    TooLarge,
    /// The machine is out of something: disk space, most often.
    LimitExceeded,
    /// The state of things forbids it: an exec id with another body, a parent that is a file.
    Conflict,
    /// The file changed while it was read.
    ChangedDuringRead,
    /// A newer owner holds the workspace, or the lease ran out.
    Fenced,
    /// A generation that was never announced with `PUT /v1/lease`.
    UnknownGeneration,
    NotReady,
    Unauthorized,
    BadRequest,
    MethodNotAllowed,
    UnsupportedMediaType,
    Timeout,
    /// Too many at once; try again later.
    Quota,
    Internal,
    /// A code that this version does not know.
    #[serde(other)]
    Other,
}

impl ErrorCode {
    /// The HTTP status that goes with the code.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidPath | Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::PermissionDenied => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::IsDirectory
            | Self::NotAFile
            | Self::Conflict
            | Self::ChangedDuringRead
            | Self::Fenced
            | Self::UnknownGeneration => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Quota => 429,
            Self::Internal | Self::Other => 500,
            Self::NotReady => 503,
            Self::Timeout => 504,
            Self::LimitExceeded => 507,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidPath => "invalid_path",
            Self::NotFound => "not_found",
            Self::IsDirectory => "is_directory",
            Self::NotAFile => "not_a_file",
            Self::PermissionDenied => "permission_denied",
            Self::TooLarge => "too_large",
            Self::LimitExceeded => "limit_exceeded",
            Self::Conflict => "conflict",
            Self::ChangedDuringRead => "changed_during_read",
            Self::Fenced => "fenced",
            Self::UnknownGeneration => "unknown_generation",
            Self::NotReady => "not_ready",
            Self::Unauthorized => "unauthorized",
            Self::BadRequest => "bad_request",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::Timeout => "timeout",
            Self::Quota => "quota",
            Self::Internal => "internal",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The body of every reply that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

/// What [`ErrorBody`] holds. The message is for people and names no path, command or secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDetail {
    pub code: ErrorCode,
    pub message: String,
}

impl ErrorBody {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error: ErrorDetail { code, message: message.into() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_on_the_wire_is_the_one_that_is_printed() {
        for code in [
            ErrorCode::InvalidPath,
            ErrorCode::NotAFile,
            ErrorCode::ChangedDuringRead,
            ErrorCode::UnknownGeneration,
            ErrorCode::LimitExceeded,
            ErrorCode::MethodNotAllowed,
            ErrorCode::UnsupportedMediaType,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn a_code_of_a_later_version_is_still_an_error() {
        let body = r#"{"error":{"code":"thawing","message":"later"}}"#;
        let body: ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(body.error.code, ErrorCode::Other);
    }
}
