//! The JSON beside the bytes, from which a file can be understood without the database.

use domain::PublicationId;
use serde::{Deserialize, Serialize};
use store::publications::{Delivery, Published};
use uuid::Uuid;

/// The content type of a stored descriptor.
pub const DESCRIPTOR_CONTENT_TYPE: &str = "application/vnd.cognition.published-file+json";
/// No descriptor is larger: names and media types are short.
pub const MAX_DESCRIPTOR_BYTES: u64 = 64 * 1024;

/// What is known of a published file. No address and no credential.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    pub id: Uuid,
    pub object_key: String,
    /// SHA-256 of the bytes, in lower-case hex.
    pub checksum: String,
    pub size: u64,
    pub filename: String,
    pub media_type: String,
    pub kind: Kind,
}

/// How the file travels to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Raw,
    Url,
}

impl From<Delivery> for Kind {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Raw => Self::Raw,
            Delivery::Url => Self::Url,
        }
    }
}

impl Descriptor {
    /// The stored form. The same file always has the same one, byte for byte.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_else(|_| unreachable!("texts and numbers serialise"))
    }

    /// Whether it describes what the row describes.
    pub(crate) fn agrees_with(&self, row: &Published) -> bool {
        let Self { id, object_key, checksum, size, filename, media_type, kind } = self;
        PublicationId::from_uuid(*id) == row.id
            && *object_key == row.object_key
            && *checksum == row.sha256
            && *size == row.size
            && *filename == row.filename
            && *media_type == row.media_type
            && *kind == row.delivery.into()
    }
}

impl std::fmt::Debug for Descriptor {
    /// Prints neither key nor name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Descriptor")
            .field("id", &self.id)
            .field("size", &self.size)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
