//! Why a publication did not come about, and what that calls for. Decided once, here, from the
//! errors of the sandbox and of the object store.

use cloud::objects;
use domain::PublicationFailure;
use sandbox_protocol::{ErrorCode, client};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an attempt ended without verified bytes.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A definite no, which the model gets to see.
    Refused(PublicationFailure),
    /// The store gave back something else than it was given.
    Differs,
    /// The next attempt may succeed.
    Transient(Cause),
    /// No attempt will succeed until a person has looked.
    Hopeless(Cause),
}

impl From<PublicationFailure> for Trouble {
    fn from(code: PublicationFailure) -> Self {
        Self::Refused(code)
    }
}

impl From<objects::Error> for Trouble {
    fn from(error: objects::Error) -> Self {
        match error {
            objects::Error::Unavailable { .. } | objects::Error::Mismatch { .. } => {
                Self::Transient(error.into())
            }
            objects::Error::Denied { .. } | objects::Error::Refused { .. } => {
                Self::Hopeless(error.into())
            }
            // We never ask for more than we have put there.
            objects::Error::TooLarge { .. } => Self::Differs,
        }
    }
}

impl From<client::Error> for Trouble {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::TooLarge => Self::Refused(PublicationFailure::FileTooLarge),
            client::Error::NotFound => Self::Refused(PublicationFailure::FileNotFound),
            client::Error::Refused { code, .. } => match refused(code) {
                Some(failure) => Self::Refused(failure),
                None => Self::Transient(Said(code).into()),
            },
            // Also a generation or a token that is not accepted: whether somebody else holds the
            // workspace is for the row to tell, and is asked next.
            client::Error::Fenced
            | client::Error::Unreachable(_)
            | client::Error::Interrupted(_)
            | client::Error::NotReady
            | client::Error::UnknownGeneration
            | client::Error::Unauthorized
            | client::Error::Busy
            | client::Error::BadReply(_)
            | client::Error::Request(_) => Self::Transient(error.into()),
        }
    }
}

/// The row stays as it is: an error of the database that passes is worth another attempt, any other
/// one is the end of it.
impl From<store::Error> for Trouble {
    fn from(error: store::Error) -> Self {
        if error.is_retryable() {
            Self::Transient(error.into())
        } else {
            Self::Hopeless(error.into())
        }
    }
}

/// A refusal without the sandbox's own words, which may hold anything.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox refused: {0}")]
struct Said(ErrorCode);

/// What the sandbox says of the file itself; `None` where it speaks of its own state.
fn refused(code: ErrorCode) -> Option<PublicationFailure> {
    match code {
        ErrorCode::InvalidPath => Some(PublicationFailure::InvalidPath),
        ErrorCode::NotFound => Some(PublicationFailure::FileNotFound),
        ErrorCode::IsDirectory | ErrorCode::NotAFile => Some(PublicationFailure::NotAFile),
        ErrorCode::PermissionDenied => Some(PublicationFailure::FileUnreadable),
        ErrorCode::TooLarge => Some(PublicationFailure::FileTooLarge),
        ErrorCode::ChangedDuringRead => Some(PublicationFailure::FileChanged),
        ErrorCode::Fenced
        | ErrorCode::LimitExceeded
        | ErrorCode::Conflict
        | ErrorCode::UnknownGeneration
        | ErrorCode::NotReady
        | ErrorCode::Unauthorized
        | ErrorCode::BadRequest
        | ErrorCode::MethodNotAllowed
        | ErrorCode::UnsupportedMediaType
        | ErrorCode::Timeout
        | ErrorCode::Quota
        | ErrorCode::Internal
        | ErrorCode::Other => None,
    }
}
