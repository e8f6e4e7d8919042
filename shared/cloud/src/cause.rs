//! What went wrong outside, in words that are safe to log.

use std::borrow::Cow;

/// What a service answered, or why there was no answer: status, error code and request id, never the
/// service's free text, which names buckets, keys and principals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Cause(Cow<'static, str>);

impl Cause {
    /// A cause that this system knows by itself.
    pub const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// `text` is built of nothing but status, code and request id.
    #[cfg(any(feature = "s3", feature = "sqs"))]
    pub(crate) const fn answered(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}
