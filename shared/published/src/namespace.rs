//! Where a scope's published files are.

use std::fmt;

use domain::{PublicationId, Scope};

/// The part of the object store that belongs to one exact scope. Published files have a prefix of
/// their own in it, which nothing else writes to or reads from.
///
/// Keys are below the deployment's own prefix, which the object store adds.
#[derive(Clone, PartialEq, Eq)]
pub struct Namespace {
    digest: String,
}

impl Namespace {
    /// `key` is the deployment's HMAC key; with another one, every file is in another place.
    pub fn new(scope: &Scope, key: &[u8]) -> Self {
        Self { digest: scope.storage_digest(key) }
    }

    /// Where the bytes of a publication are. `sha256` in lower-case hex.
    pub fn object_key(&self, publication: PublicationId, sha256: &str) -> String {
        format!("scopes/{}/published/{}/{sha256}", self.digest, publication.as_uuid())
    }

    /// Where its descriptor is. `sha256`, in lower-case hex, is that of the descriptor.
    pub fn descriptor_key(&self, publication: PublicationId, sha256: &str) -> String {
        format!("scopes/{}/published/{}/descriptor/{sha256}", self.digest, publication.as_uuid())
    }
}

impl fmt::Debug for Namespace {
    /// Prints nothing: the digest is a scope's pseudonym.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Namespace")
    }
}
