//! `GET /healthz`: the only route without a bearer. 200 when `status` is `ok`, 503 otherwise.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How the instance is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub status: HealthStatus,
    /// Where commands find the workspace.
    pub workspace_root: String,
    /// The guest's clock, in milliseconds since 1970.
    pub time: i64,
    pub version: String,
    pub instance_id: Option<Uuid>,
    pub generation: Option<i64>,
    pub lease_until: Option<i64>,
    pub workspace: WorkspaceHealth,
    pub caps: Capabilities,
    pub active_execs: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// No `run` hook came yet.
    Starting,
    Ok,
    /// The workspace cannot be written.
    Unmounted,
    Terminating,
    #[serde(other)]
    Other,
}

/// The outcome of the last probe, which writes, reads and removes a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceHealth {
    pub mode: String,
    pub mounted: bool,
    pub writable: bool,
    pub probe_ms: u64,
}

/// What the machine lets the server do. For people; nothing branches on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Commands run as a user of their own.
    pub separate_user: bool,
    /// The server is the first process of its machine or container.
    pub init: bool,
}
