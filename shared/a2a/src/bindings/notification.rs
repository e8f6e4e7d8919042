//! What a webhook is told, in the version of the client that registered it.
//!
//! **1.0 tells what happened, 0.3 how the task stands after it**: the body is a `StreamResponse`
//! (A2A §4.3.3), or the task as 0.3 writes it over JSON-RPC, also for a client that registered the
//! webhook over HTTP. That is what the SDK of 0.3 posts; the compatibility layer of the later Python
//! SDK posts what 1.0 has.

use domain::ProtocolVersion;

use super::v03::{Dialect, Old};
use crate::types::{StreamResponse, Task};

/// The media type of the body.
pub const fn media_type(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::V03 => "application/json",
        ProtocolVersion::V10 => "application/a2a+json",
    }
}

/// The body of 1.0.
pub fn of_update(update: &StreamResponse) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(update)
}

/// The body of 0.3.
pub fn of_task(task: &Task) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Old(task, Dialect::JsonRpc))
}
