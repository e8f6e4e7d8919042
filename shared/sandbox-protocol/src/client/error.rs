//! What a caller may branch on.

use crate::error::{ErrorBody, ErrorCode};

/// A call that brought no answer, or the answer no.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody listens there. Nothing was sent, so nothing happened.
    #[error("reach the sandbox")]
    Unreachable(#[source] reqwest::Error),
    /// The connection broke, or the time was up. Whether the request took effect is unknown.
    #[error("hear from the sandbox")]
    Interrupted(#[source] reqwest::Error),
    /// The instance is starting, ending or being restored, or a gateway in front does not see it.
    #[error("the sandbox is not ready")]
    NotReady,
    /// A newer owner holds the workspace, or our lease ran out: stop, and touch nothing.
    #[error("another owner holds the sandbox")]
    Fenced,
    /// Our generation was never announced there: call `lease` first.
    #[error("the sandbox does not know this generation")]
    UnknownGeneration,
    /// The bearer, or the proxy's token, was not accepted.
    #[error("the sandbox refused the token")]
    Unauthorized,
    /// The file, or the reply, is over its limit.
    #[error("it is larger than allowed")]
    TooLarge,
    /// No such file, exec or route.
    #[error("the sandbox knows no such thing")]
    NotFound,
    /// Too many at once; try again later.
    #[error("the sandbox is busy")]
    Busy,
    /// Any other no.
    #[error("the sandbox refused: {message}")]
    Refused { code: ErrorCode, message: String },
    /// The reply breaks the contract.
    #[error("understand the sandbox: {0}")]
    BadReply(&'static str),
    /// The request could not be put together: an endpoint that is no URL, most often.
    #[error("form the request")]
    Request(#[source] reqwest::Error),
}

impl Error {
    /// The server's code, where it is one that the caller may want to pass on.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::NotReady => Some(ErrorCode::NotReady),
            Self::Fenced => Some(ErrorCode::Fenced),
            Self::UnknownGeneration => Some(ErrorCode::UnknownGeneration),
            Self::Unauthorized => Some(ErrorCode::Unauthorized),
            Self::TooLarge => Some(ErrorCode::TooLarge),
            Self::NotFound => Some(ErrorCode::NotFound),
            Self::Busy => Some(ErrorCode::Quota),
            Self::Refused { code, .. } => Some(*code),
            Self::Unreachable(_) | Self::Interrupted(_) | Self::BadReply(_) | Self::Request(_) => {
                None
            }
        }
    }
}

/// Reads a reply that is not a success. The sandbox's own word counts; what a gateway in front
/// says is told by its status.
pub(super) fn refusal(status: u16, body: &[u8]) -> Error {
    let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
        return match status {
            401 | 403 => Error::Unauthorized,
            413 => Error::TooLarge,
            429 => Error::Busy,
            502..=504 => Error::NotReady,
            _ => Error::BadReply("a refusal without a reason"),
        };
    };
    match error.code {
        ErrorCode::NotReady => Error::NotReady,
        ErrorCode::Fenced => Error::Fenced,
        ErrorCode::UnknownGeneration => Error::UnknownGeneration,
        ErrorCode::Unauthorized => Error::Unauthorized,
        ErrorCode::TooLarge => Error::TooLarge,
        ErrorCode::NotFound => Error::NotFound,
        ErrorCode::Quota => Error::Busy,
        code => Error::Refused { code, message: error.message },
    }
}
