//! Artifacts: what a task has produced.

use serde::Serialize;

use super::part::Part;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;

/// One product of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within the task.
    pub artifact_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

from_object!(Artifact {
    artifact_id: "artifactId" | "artifact_id",
    name: "name",
    description: "description",
    parts: "parts",
    metadata: "metadata",
    extensions: "extensions",
});
