//! Messages: one turn of the conversation.

use serde::Serialize;
use serde::de::Deserializer;
use serde::ser::Serializer;

use super::part::Part;
use crate::codec::json::JsonObject;
use crate::codec::object::{Wire, from_object};
use crate::codec::scalar::{Word, nullable};
use crate::error::FieldViolation;

/// One turn, of the client or of the agent.
///
/// Reading it alone does not ask for the required fields; reading a request does, and tells its
/// client all that is missing at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Chosen by whoever made the message.
    pub message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub role: Role,
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// URIs of the extensions that had a hand in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

from_object!(Message {
    message_id: "messageId" | "message_id",
    context_id: "contextId" | "context_id",
    task_id: "taskId" | "task_id",
    role: "role",
    parts: "parts",
    metadata: "metadata",
    extensions: "extensions",
    reference_task_ids: "referenceTaskIds" | "reference_task_ids",
});

impl Message {
    /// What keeps this from being a client's message. `path` is where the message is, `parts` the
    /// name of that field.
    pub(crate) fn violations(&self, path: &str, parts: &str) -> Vec<FieldViolation> {
        let role = match self.role {
            Role::User => None,
            Role::Unspecified => Some("is required"),
            Role::Agent => Some("is ROLE_USER in a client's message"),
        };
        let mut found = Vec::new();
        let mut note = |field: &str, problem: &'static str| {
            let field = format!("{path}.{field}");
            found.push(FieldViolation { field, description: problem.into() });
        };
        if self.message_id.is_empty() {
            note("messageId", "is required");
        }
        if let Some(problem) = role {
            note("role", problem);
        }
        if self.parts.is_empty() {
            note(parts, "has at least one Part");
        }
        found
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Not said.
    Unspecified,
    User,
    Agent,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "ROLE_UNSPECIFIED",
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }
}

/// The roles with their numbers in `a2a.proto`.
const ROLES: [(Role, &str, u64); 3] = [
    (Role::Unspecified, Role::Unspecified.name(), 0),
    (Role::User, Role::User.name(), 1),
    (Role::Agent, Role::Agent.name(), 2),
];

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Wire for Role {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        nullable(deserializer, Word { what: "ROLE_USER", words: &ROLES })
    }

    fn absent() -> Option<Self> {
        Some(Self::Unspecified)
    }
}
