//! `publications`: "publish this file". Sent by `run-orchestrator` when a publication row is made;
//! received by `artifact-publisher`.
//!
//! A publication that is already decided is acknowledged without effect.

use domain::{PublicationId, ScopeDigest};
use serde::{Deserialize, Serialize};

use crate::{Message, Queue};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationRequested {
    pub v: u32,
    pub publication: PublicationId,
    pub scope: ScopeDigest,
}

impl PublicationRequested {
    pub fn new(publication: PublicationId, scope: ScopeDigest) -> Self {
        Self { v: Self::VERSION, publication, scope }
    }
}

impl Message for PublicationRequested {
    const QUEUE: Queue = Queue::Publications;
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.v
    }
}
