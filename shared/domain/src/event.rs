//! What happened, in the order in which everybody sees it. The log of these is what streams,
//! `GetTask` and webhooks are projections of.

use serde::{Deserialize, Serialize};

use crate::{ArtifactId, CallId, PublicationId, RunId, TaskId, TaskState, Timestamp};

/// One entry of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Gap-free within the session, from 1. The SSE `id:`.
    pub sequence: i64,
    pub task: TaskId,
    pub run: RunId,
    pub at: Timestamp,
    pub body: EventBody,
}

/// The stored payload of an event. Version 1; a later one adds fields or kinds, never changes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The task's state changed (the only kind that changes it), or its status message did.
    Status {
        state: TaskState,
        /// What the client is told, in our words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// A failure code, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// An artifact was made or grew.
    Artifact(ArtifactUpdate),
    /// The run answers its client directly, with a message in place of a task. Its terminal status
    /// follows at once.
    Reply { text: String },
    /// The model asked for a tool. Arguments are not part of events.
    ToolCalled { call: CallId, tool: String },
    /// A tool call got its result. Results are not part of events.
    ToolFinished {
        call: CallId,
        tool: String,
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}

/// A change of one artifact, as A2A §4.2.2 has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactUpdate {
    pub artifact: ArtifactId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// False replaces what the artifact held, true adds to it.
    pub append: bool,
    pub last_chunk: bool,
    pub content: ArtifactContent,
    #[serde(default, skip_serializing_if = "About::is_silent")]
    pub about: About,
}

/// What is said of an update beyond its name and its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Of the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// URIs of the extensions that had a hand in the artifact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

impl About {
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}

/// What an update brings. Bytes and signed URLs are never part of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArtifactContent {
    Text {
        text: String,
    },
    /// A JSON value, as the text that was written.
    Data {
        json: String,
    },
    /// An address that the model gave. Nobody here fetches it.
    Link {
        url: String,
    },
    /// An opaque reference: each reader resolves it into bytes or a fresh URL.
    Published {
        publication: PublicationId,
    },
}
