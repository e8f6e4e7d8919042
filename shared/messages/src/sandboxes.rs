//! `sandboxes`: what the controller is asked to do. Sent by `run-orchestrator` (acquire) and by
//! `sweeper` (release); received by `sandbox-controller`.
//!
//! The answer is the instance row and, for `acquire`, a `runs` message. A command that came too
//! late finds its row in another state and is acknowledged without effect.

use domain::{InstanceId, RunId, ScopeDigest};
use serde::{Deserialize, Serialize};

use crate::{Message, Queue};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxCommand {
    pub v: u32,
    pub scope: ScopeDigest,
    pub command: Command,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Give the run a sandbox on its session's workspace: adopt the live one or launch.
    Acquire { run: RunId },
    /// End this instance and record that it ended.
    Release { instance: InstanceId },
}

impl SandboxCommand {
    pub fn new(scope: ScopeDigest, command: Command) -> Self {
        Self { v: Self::VERSION, scope, command }
    }
}

impl Message for SandboxCommand {
    const QUEUE: Queue = Queue::Sandboxes;
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.v
    }
}
