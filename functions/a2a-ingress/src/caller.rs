//! What an operation knows of the request behind it.

use std::sync::Arc;

use a2a::A2aError;
use domain::{Scope, ScopeDigest};
use tokio::time::Instant;

use crate::agents::Agent;

/// Who asks, for which agent, and how long there is time to answer.
#[derive(Debug, Clone)]
pub struct Caller {
    pub scope: Scope,
    pub digest: ScopeDigest,
    pub agent: Arc<Agent>,
    /// In every log line and every internal error of the request.
    pub request_id: String,
    /// When an answer must be on its way; `None` where nobody cuts it off.
    pub until: Option<Instant>,
}

impl Caller {
    /// Logs a failure of ours, and gives the error that tells the client nothing of it.
    pub fn failed(&self, error: &(dyn std::error::Error + 'static)) -> A2aError {
        tracing::error!(request.id = self.request_id, "answer: {}", lambda_kit::chain(error));
        A2aError::internal(self.request_id.clone())
    }
}
