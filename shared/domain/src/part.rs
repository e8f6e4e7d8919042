//! The canonical record of one Part that a client sent (a2a-and-publication.md §4.3): the source of
//! truth, of which every rendering is derived.

use serde::{Deserialize, Serialize};

use crate::TaskId;

/// One Part of a client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPart {
    /// `a2a-input-` and 32 hex digits; see [`part_id`].
    pub part_id: String,
    pub kind: PartKind,
    /// Text as sent; a JSON value as serialised text, exactly as sent; base64; or the URL, which
    /// nobody fetches.
    pub value: String,
    pub media_type: Option<String>,
    pub filename: Option<String>,
    /// A JSON object as serialised text, exactly as sent.
    pub metadata: Option<String>,
}

/// A Part before its task is known, which its id depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPart {
    pub kind: PartKind,
    pub value: String,
    pub media_type: Option<String>,
    pub filename: Option<String>,
    pub metadata: Option<String>,
}

impl NewPart {
    /// Its canonical record as the `index`-th Part of a client's message to a task.
    pub fn stored(self, task: TaskId, client_message_id: &str, index: usize) -> StoredPart {
        StoredPart {
            part_id: part_id(&task.as_uuid().to_string(), client_message_id, index),
            kind: self.kind,
            value: self.value,
            media_type: self.media_type,
            filename: self.filename,
            metadata: self.metadata,
        }
    }
}

/// The four content variants of A2A 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    Text,
    Data,
    Raw,
    Url,
}

impl PartKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Data => "data",
            Self::Raw => "raw",
            Self::Url => "url",
        }
    }

    /// How `value` is to be read, in the original's words.
    pub const fn content_encoding(self) -> &'static str {
        match self {
            Self::Text => "utf-8",
            Self::Data => "json",
            Self::Raw => "base64",
            Self::Url => "uri",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Text, Self::Data, Self::Raw, Self::Url].into_iter().find(|k| k.as_str() == word)
    }
}

/// The server-made id of a Part: a UUIDv5 in the URL namespace over task, message and index, so
/// that the same message always has the same Parts.
pub fn part_id(task: &str, client_message_id: &str, index: usize) -> String {
    let name = format!("{task}/{client_message_id}/{index}");
    let uuid = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, name.as_bytes());
    format!("a2a-input-{}", uuid.simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_ids_are_deterministic() {
        let id = part_id("task-1", "message-1", 0);
        assert_eq!(id.len(), "a2a-input-".len() + 32);
        assert_eq!(id, part_id("task-1", "message-1", 0));
        assert_ne!(id, part_id("task-1", "message-1", 1));
        assert_ne!(id, part_id("task-1", "message-2", 0));
    }
}
