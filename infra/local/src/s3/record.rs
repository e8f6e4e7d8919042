//! What is known of one object: the file whose appearance makes the object appear.

use std::collections::BTreeMap;

use domain::Timestamp;
use serde::{Deserialize, Serialize};

/// One object. Its bytes are in a file of their own, which this names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) key: String,
    /// The name of the file with the bytes.
    pub(super) body: String,
    pub(super) size: u64,
    /// Hex.
    pub(super) md5: String,
    /// Base64, as S3 writes it.
    pub(super) sha256: String,
    pub(super) stored_at: Timestamp,
    #[serde(flatten)]
    pub(super) about: About,
}

/// What the writer said of the object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_disposition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_encoding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tags: BTreeMap<String, String>,
}

/// A lifecycle rule of a bucket: which objects, and how old they become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
    /// The object carries all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tags: BTreeMap<String, String>,
    pub(super) days: i32,
}

impl Rule {
    /// Whether the object's time is over. Counted to the microsecond from when it was stored; S3
    /// rounds up to the next midnight.
    pub(super) fn ends(&self, record: &Record, now: Timestamp) -> bool {
        const DAY: i64 = 24 * 60 * 60 * 1_000_000;
        let over = record.stored_at.as_micros().saturating_add(i64::from(self.days) * DAY);
        self.enabled
            && now.as_micros() >= over
            && self.prefix.as_deref().is_none_or(|prefix| record.key.starts_with(prefix))
            && self.tags.iter().all(|(key, value)| record.about.tags.get(key) == Some(value))
    }
}
