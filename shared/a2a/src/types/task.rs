//! Tasks: requested work and where it stands.

use domain::{TaskState, Timestamp};
use serde::Serialize;

use super::artifact::Artifact;
use super::message::Message;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;
use crate::codec::scalar::{write_task_state, write_timestamp};

/// A task as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: String,
    /// Always written: strict clients refuse a task without it.
    pub context_id: String,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

from_object!(Task {
    id: "id",
    context_id: "contextId" | "context_id",
    status: "status",
    artifacts: "artifacts",
    history: "history",
    metadata: "metadata",
});

impl Task {
    /// Keeps the last `length` messages of the history; `None` keeps all (A2A §3.2.4).
    pub fn limit_history(&mut self, length: Option<u32>) {
        if let Some(length) = length {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let surplus = self.history.len().saturating_sub(length);
            self.history.drain(..surplus);
        }
    }
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    #[serde(serialize_with = "write_task_state")]
    pub state: TaskState,
    /// What the client is told about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_timestamp")]
    pub timestamp: Option<Timestamp>,
}

from_object!(TaskStatus { state: "state", message: "message", timestamp: "timestamp" });
