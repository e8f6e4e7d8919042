//! Published files in the object store: where they are, what describes them, how a reader gets at
//! them.
//!
//! **A reader never signs for a key that it has not computed itself**, from the scope that it was
//! given, the publication's id and the digest of the bytes. What row and descriptor say of the key
//! must be equal to that, or nothing is asked of the store.
//!
//! - [`Namespace`] makes the keys, for the publisher and for readers alike.
//! - [`Descriptor`] is the JSON that stands beside the bytes.
//! - [`resolve()`] turns an active row into bytes, a fresh address, or the knowledge that the bytes
//!   are gone.

mod descriptor;
mod namespace;
mod resolve;
#[cfg(test)]
mod tests;

pub use descriptor::{DESCRIPTOR_CONTENT_TYPE, Descriptor, MAX_DESCRIPTOR_BYTES};
pub use namespace::Namespace;
pub use resolve::{Broken, Error, Resolved, resolve};

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes: as the object store wants it, and as rows and keys have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    bytes: [u8; 32],
    hex: String,
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        let bytes: [u8; 32] = Sha256::digest(bytes).into();
        Self { bytes, hex: hex::encode(bytes) }
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// In lower case.
    pub fn as_hex(&self) -> &str {
        &self.hex
    }
}
