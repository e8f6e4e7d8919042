//! What a send or a stream answers with: unions of which exactly one member is there.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

use super::artifact::Artifact;
use super::message::Message;
use super::task::{Task, TaskStatus};
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;

/// The answer to `SendMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendResult {
    Task(Task),
    Message(Message),
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamResponse {
    Task(Task),
    Message(Message),
    StatusUpdate(TaskStatusUpdateEvent),
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// A task's status changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    pub task_id: String,
    pub context_id: String,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

from_object!(TaskStatusUpdateEvent {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    status: "status",
    metadata: "metadata",
});

/// An artifact was made or grew (A2A §4.2.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    pub task_id: String,
    pub context_id: String,
    pub artifact: Artifact,
    /// False replaces what the artifact held, true adds to it.
    #[serde(skip_serializing_if = "is_false")]
    pub append: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

from_object!(TaskArtifactUpdateEvent {
    task_id: "taskId" | "task_id",
    context_id: "contextId" | "context_id",
    artifact: "artifact",
    append: "append",
    last_chunk: "lastChunk" | "last_chunk",
    metadata: "metadata",
});

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// All members side by side, before it is known that only one is there.
struct Members {
    task: Option<Task>,
    message: Option<Message>,
    status_update: Option<TaskStatusUpdateEvent>,
    artifact_update: Option<TaskArtifactUpdateEvent>,
}

from_object!(Members {
    task: "task",
    message: "message",
    status_update: "statusUpdate" | "status_update",
    artifact_update: "artifactUpdate" | "artifact_update",
});

impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::deserialize(deserializer)?;
        let Members { task, message, status_update, artifact_update } = members;
        match (task, message, status_update, artifact_update) {
            (Some(task), None, None, None) => Ok(Self::Task(task)),
            (None, Some(message), None, None) => Ok(Self::Message(message)),
            (None, None, Some(update), None) => Ok(Self::StatusUpdate(update)),
            (None, None, None, Some(update)) => Ok(Self::ArtifactUpdate(update)),
            _ => Err(D::Error::custom(
                "exactly one of task, message, statusUpdate and artifactUpdate is there",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for SendResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members { task, message, .. } = Members::deserialize(deserializer)?;
        match (task, message) {
            (Some(task), None) => Ok(Self::Task(task)),
            (None, Some(message)) => Ok(Self::Message(message)),
            _ => Err(D::Error::custom("exactly one of task and message is there")),
        }
    }
}
