//! Files that are written once: the port to an object store.
//!
//! **Nothing is ever overwritten.** A key holds one content for as long as it exists, so a write can
//! be repeated and a signed address never changes what it shows.
//!
//! A key is the path below the deployment's own prefix, which the implementation adds; a caller
//! cannot reach outside it.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Cause;

/// The longest life that [`Objects::presign_get`] grants: what signature version 4 permits.
pub const MAX_PRESIGN_LIFE: Duration = Duration::from_hours(7 * 24);

/// An object store.
///
/// Every call may be repeated. A call that failed with [`Error::Unavailable`] may have had its
/// effect all the same.
#[async_trait]
pub trait Objects: Send + Sync + fmt::Debug {
    /// Stores `bytes` under `key`, together with its tag, unless something is there already.
    ///
    /// The store compares the bytes with `options.sha256` before it keeps them. The tag goes in the
    /// same request: where the store denies tagging, nothing is stored.
    ///
    /// [`Put::AlreadyThere`] says nothing about *what* is there: it may be this very content, from an
    /// attempt whose answer was lost. Whoever needs to know reads it back.
    async fn put_new(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<Put, Error>;

    /// The bytes as the store holds them, or `None` when there is no object. Reads no more than
    /// `max_bytes`; a larger object is [`Error::TooLarge`].
    ///
    /// Does not compare the bytes with a checksum: whoever needs certainty compares the digest that
    /// it knows, so that one place decides what counts as damaged.
    async fn get(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, Error>;

    /// Whether the object is there. [`Presence::Missing`] is only answered after the store has shown
    /// that the bucket is there and open to us; every doubt is an error.
    async fn head(&self, key: &str) -> Result<Presence, Error>;

    /// A fresh address that anybody can read the object with, for `options.life`. It may live
    /// shorter when the credentials that signed it expire first. Does not look whether the object
    /// exists.
    async fn presign_get(&self, key: &str, options: PresignOptions) -> Result<SignedUrl, Error>;

    /// The keys that begin with `prefix`, in order, those after `after` when it is given: at most
    /// one page of 1000. An empty answer ends the list.
    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, Error>;

    /// Removes the object; true afterwards also when there was none.
    async fn delete(&self, key: &str) -> Result<(), Error>;
}

/// How a new object is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOptions {
    pub content_type: String,
    pub tag: Option<Tag>,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
}

/// What lifecycle rules filter on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    pub key: String,
    pub value: String,
}

impl Tag {
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

/// What [`Objects::put_new`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The object is new, and holds these bytes.
    Stored,
    /// The key was taken; nothing was written.
    AlreadyThere,
}

/// What [`Objects::head`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Here { size: u64 },
    Missing,
}

/// How an object is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresignOptions {
    /// At most [`MAX_PRESIGN_LIFE`].
    pub life: Duration,
    pub content_type: String,
    /// See [`attachment`].
    pub content_disposition: String,
}

/// An address that works without credentials, and so is a secret: it is never stored or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedUrl(String);

impl SignedUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The address itself, for the answer to the client who may have it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn into_exposed(self) -> String {
        self.0
    }
}

impl fmt::Debug for SignedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignedUrl")
    }
}

/// Why the object store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Our role may not do it. Another attempt will not help; a person should look.
    #[error("{doing}: denied")]
    Denied {
        doing: Doing,
        #[source]
        cause: Cause,
    },
    /// No answer, or "not now". Worth another try; the effect may have happened.
    #[error("{doing}: unavailable")]
    Unavailable {
        doing: Doing,
        #[source]
        cause: Cause,
    },
    /// The store does not take the request as it is: no such bucket, a wrong setting, a fault of
    /// ours. Another attempt will not help.
    #[error("{doing}: refused")]
    Refused {
        doing: Doing,
        #[source]
        cause: Cause,
    },
    /// The bytes that arrived were not those of the checksum; nothing was stored.
    #[error("{doing}: the bytes do not match their checksum")]
    Mismatch {
        doing: Doing,
        #[source]
        cause: Cause,
    },
    /// The object is larger than the caller takes.
    #[error("{doing}: too large")]
    TooLarge { doing: Doing },
}

impl Error {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Mismatch { .. } => true,
            Self::Denied { .. } | Self::Refused { .. } | Self::TooLarge { .. } => false,
        }
    }
}

/// The call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doing {
    Put,
    Get,
    Head,
    Presign,
    List,
    Delete,
    ReadTags,
    CreateBucket,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put => "put the object",
            Self::Get => "get the object",
            Self::Head => "look for the object",
            Self::Presign => "sign an address for the object",
            Self::List => "list the objects",
            Self::Delete => "delete the object",
            Self::ReadTags => "read the tags of the object",
            Self::CreateBucket => "make the bucket",
        })
    }
}

/// What RFC 8187 (once RFC 5987) lets stand in an extended value; all else is percent-encoded.
const ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The Content-Disposition that makes a browser save the object as `filename`, in any script.
pub fn attachment(filename: &str) -> String {
    format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(filename, ATTR_CHAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_is_named_in_any_script_and_cannot_break_out() {
        assert_eq!(attachment("report.csv"), "attachment; filename*=UTF-8''report.csv");
        assert_eq!(attachment("été 1.csv"), "attachment; filename*=UTF-8''%C3%A9t%C3%A9%201.csv");
        assert_eq!(
            attachment("a\"; x=\r\ny'(*)%"),
            "attachment; filename*=UTF-8''a%22%3B%20x%3D%0D%0Ay%27%28%2A%29%25"
        );
    }

    #[test]
    fn a_signed_address_is_not_printed() {
        let url = SignedUrl::new("http://127.0.0.1/bucket/key?X-Amz-Signature=abc");
        assert_eq!(format!("{url:?}"), "SignedUrl");
    }
}
