//! `PUT /v1/lease`: who may change the workspace.

use serde::{Deserialize, Serialize};

/// Announces or renews an owner. The bearer is enough; no generation header is needed.
///
/// An equal generation renews, a higher one adopts (the run fence then starts anew), a lower one
/// is refused as `fenced`. When the reply to an adoption is out, no change of an older generation
/// can take place any more, not even one that was under way, and the commands that an older owner
/// had running have ended. What its finished commands left running on purpose goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRequest {
    pub generation: i64,
    /// Milliseconds since 1970. Never moves backwards within one generation.
    pub lease_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_fence: Option<i64>,
}

/// The owner after the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseReply {
    pub generation: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<i64>,
    pub state: LeaseState,
}

/// What the server does with requests that change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// It takes them, from this generation.
    Admitted,
}
