//! Messages and Parts of 0.3.

use serde::de::{Deserialize, Deserializer};

use super::super::Dialect;
use crate::codec::base64::Base64;
use crate::codec::json::JsonObject;
use crate::codec::object::{Wire, from_object};
use crate::codec::scalar::{Word, nullable};
use crate::types::{Content, Message, Part, Problems, Role};

/// A message before it is known to be a client's.
pub(super) struct MessageWire {
    message_id: String,
    context_id: Option<String>,
    task_id: Option<String>,
    role: OldRole,
    parts: Vec<PartWire>,
    metadata: Option<JsonObject>,
    extensions: Vec<String>,
    reference_task_ids: Vec<String>,
}

from_object!(MessageWire {
    message_id: "messageId" | "message_id",
    context_id: "contextId" | "context_id",
    task_id: "taskId" | "task_id",
    role: "role",
    parts: "parts" | "content",
    metadata: "metadata",
    extensions: "extensions",
    reference_task_ids: "referenceTaskIds" | "reference_task_ids",
});

impl MessageWire {
    pub(super) fn read(self, dialect: Dialect, problems: &mut Problems) -> Message {
        let field = match dialect {
            Dialect::JsonRpc => "parts",
            Dialect::Rest => "content",
        };
        let found = self.parts.len();
        let parts = self.parts.into_iter().enumerate();
        let parts: Vec<Part> = parts
            .filter_map(|(index, part)| {
                let part = part.read(dialect);
                if let Err(problem) = part {
                    problems.add(&format!("message.{field}[{index}]"), problem);
                }
                part.ok()
            })
            .collect();
        let message = Message {
            message_id: self.message_id,
            context_id: self.context_id,
            task_id: self.task_id,
            role: self.role.0,
            parts,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        };
        // Parts that are wrong have been told of; that there is none left is no news.
        let parts_field = format!("message.{field}");
        let violations = message.violations("message", field).into_iter();
        problems.extend(violations.filter(|v| found == 0 || v.field != parts_field).collect());
        message
    }
}

/// A role in the words of either binding.
#[derive(Clone, Copy)]
struct OldRole(Role);

const ROLES: [(OldRole, &str, u64); 5] = [
    (OldRole(Role::User), "user", 1),
    (OldRole(Role::Agent), "agent", 2),
    (OldRole(Role::User), "ROLE_USER", 1),
    (OldRole(Role::Agent), "ROLE_AGENT", 2),
    (OldRole(Role::Unspecified), "ROLE_UNSPECIFIED", 0),
];

impl Wire for OldRole {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        nullable(deserializer, Word { what: "user (over HTTP+JSON, ROLE_USER)", words: &ROLES })
    }

    fn absent() -> Option<Self> {
        Some(Self(Role::Unspecified))
    }
}

/// A string of which an empty one is there.
struct Text(String);

impl Wire for Text {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Self))
    }

    fn absent() -> Option<Self> {
        None
    }
}

struct PartWire {
    kind: Option<String>,
    text: Option<Text>,
    file: Option<FileWire>,
    data: Option<JsonObject>,
    metadata: Option<JsonObject>,
}

from_object!(PartWire {
    kind: "kind",
    text: "text",
    file: "file",
    data: "data",
    metadata: "metadata",
});

struct FileWire {
    bytes: Option<Base64>,
    uri: Option<Text>,
    name: Option<String>,
    mime_type: Option<String>,
}

from_object!(FileWire {
    bytes: "bytes" | "fileWithBytes" | "file_with_bytes",
    uri: "uri" | "fileWithUri" | "file_with_uri",
    name: "name",
    mime_type: "mimeType" | "mime_type",
});

/// The object around the data of a Part over HTTP.
struct DataWire {
    data: Option<JsonObject>,
}

from_object!(DataWire { data: "data" });

impl PartWire {
    fn read(self, dialect: Dialect) -> Result<Part, &'static str> {
        let mut part = match (self.text, self.file, self.data) {
            (Some(Text(text)), None, None) => Part::new(Content::Text(text)),
            (None, Some(file), None) => file.read()?,
            (None, None, Some(data)) => {
                // A Part that says its kind is JSON-RPC's, wherever it comes.
                let wrapped = dialect == Dialect::Rest && self.kind.is_none();
                let data = if wrapped { unwrapped(&data)? } else { data };
                Part::new(Content::Data(data.into_json()))
            }
            _ => return Err("a Part holds exactly one of text, file and data"),
        };
        part.metadata = self.metadata;
        Ok(part)
    }
}

fn unwrapped(wrapped: &JsonObject) -> Result<JsonObject, &'static str> {
    let inner = serde_json::from_str::<DataWire>(wrapped.as_str()).ok().and_then(|wire| wire.data);
    inner.ok_or("data holds an object called data")
}

impl FileWire {
    fn read(self) -> Result<Part, &'static str> {
        let content = match (self.bytes, self.uri) {
            (Some(bytes), None) => Content::Raw(bytes),
            (None, Some(Text(uri))) => Content::Url(uri),
            _ => return Err("a file has exactly one of bytes and uri"),
        };
        Ok(Part { filename: self.name, media_type: self.mime_type, ..Part::new(content) })
    }
}
