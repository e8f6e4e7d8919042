//! What an operation knows of the request behind it.

use std::sync::Arc;

use a2a::A2aError;
use domain::{AgentKey, ProtocolVersion, Scope, ScopeDigest, Tenant};
use http::HeaderMap;
use tokio::time::Instant;
use view::Reader;

use crate::agents::Agent;
use crate::cards::Cards;

/// Who asks, for which agent, and how long there is time to answer.
#[derive(Debug, Clone)]
pub struct Caller {
    pub scope: Scope,
    pub digest: ScopeDigest,
    pub agent: Arc<Agent>,
    pub cards: Arc<Cards>,
    /// What the request speaks; where we do not, it leads to no operation.
    pub protocol: ProtocolVersion,
    /// Of the request.
    pub headers: HeaderMap,
    /// In every log line and every internal error of the request.
    pub request_id: String,
    /// When an answer must be on its way; `None` where nobody cuts it off.
    pub until: Option<Instant>,
}

impl Caller {
    /// Under what the rows of this request are kept. The binding has refused tenants that the agent
    /// does not know; what is no tenant's name at all is one of those.
    pub fn key(&self, tenant: Option<&str>) -> Result<AgentKey, A2aError> {
        let tenant = tenant.map(|name| Tenant::try_from(name.to_owned()));
        let tenant = tenant.transpose().map_err(|_| A2aError::task_not_found())?;
        Ok(AgentKey::new(&self.agent.definition.name, tenant.as_ref()))
    }

    /// For whom the views of this request are made.
    pub fn reader(&self) -> Reader<'_> {
        Reader { scope: &self.scope, digest: &self.digest }
    }

    /// Logs a failure of ours, and gives the error that tells the client nothing of it.
    pub fn failed(&self, error: &(dyn std::error::Error + 'static)) -> A2aError {
        tracing::error!(request.id = self.request_id, "answer: {}", lambda_kit::chain(error));
        A2aError::internal(self.request_id.clone())
    }

    /// Logs that an answer goes out without something of ours.
    pub fn missed(&self, what: &str, error: &(dyn std::error::Error + 'static)) {
        tracing::warn!(request.id = self.request_id, "{what}: {}", lambda_kit::chain(error));
    }
}
