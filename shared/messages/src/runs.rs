//! `runs`: "look at this run". Sent by whoever makes a run ready (ingress, the orchestrator's own
//! yield, the controller, the publisher, the sweeper); received by `run-orchestrator`.
//!
//! A run that cannot be claimed is acknowledged: its owner or the sweeper goes on with it.

use domain::{RunId, ScopeDigest};
use serde::{Deserialize, Serialize};

use crate::{Message, Queue};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunReady {
    pub v: u32,
    pub run: RunId,
    pub scope: ScopeDigest,
    pub reason: Reason,
}

/// Why the run is worth a look. For operators only; the receiver does not branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Admitted,
    Continued,
    SandboxReady,
    PublicationDone,
    Due,
    LeaseExpired,
}

impl RunReady {
    pub fn new(run: RunId, scope: ScopeDigest, reason: Reason) -> Self {
        Self { v: Self::VERSION, run, scope, reason }
    }
}

impl Message for RunReady {
    const QUEUE: Queue = Queue::Runs;
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.v
    }
}
