//! The HTTP client of the control port, and of the hooks where the caller may reach them.
//!
//! **A reply is never trusted**: its size is bounded while it streams in, bounded reads are
//! compared with their length and digest, and redirects are not followed.

mod error;
mod execs;
mod files;
mod hooks;
mod transport;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::Error;
pub use execs::Started;
pub use files::BoundedFile;
pub use hooks::Hooks;
pub use transport::Transport;

use crate::headers;
use crate::health::Health;
use crate::lease::{LeaseReply, LeaseRequest};
use crate::secret::Secret;

/// What one small call may take.
const CALL: Duration = Duration::from_secs(15);
/// What a search or a large edit may take: the server's own budget, and a margin.
const FILE_CALL: Duration = Duration::from_secs(30);
/// The largest JSON reply that is read.
const MAX_REPLY: usize = 16 * 1024 * 1024;

/// One instance's control port, seen by one owner.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    base: String,
    token: Secret,
    generation: Option<i64>,
    run_fence: Option<i64>,
    headers: Vec<(String, Secret)>,
}

impl Client {
    /// `endpoint` is `http://…` or `https://…`; without a scheme, `https://` is meant, which is
    /// how AWS returns it.
    pub fn new(transport: &Transport, endpoint: &str, token: Secret) -> Self {
        Self {
            transport: transport.clone(),
            base: transport::base(endpoint),
            token,
            generation: None,
            run_fence: None,
            headers: Vec::new(),
        }
    }

    /// Sends the generation with every call. Without it, calls that change something are refused.
    #[must_use]
    pub fn with_generation(self, generation: i64) -> Self {
        Self { generation: Some(generation), ..self }
    }

    /// Sends the run's fence with every call.
    #[must_use]
    pub fn with_run_fence(self, fence: i64) -> Self {
        Self { run_fence: Some(fence), ..self }
    }

    /// Sends one more header with every call: the proxy's token, for one.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.headers.push((name.into(), value));
        self
    }

    /// How the instance is. Also answers while it is not ready: look at `status`.
    pub async fn health(&self) -> Result<Health, Error> {
        let request = self.request("GET", "/healthz", CALL)?;
        let reply = transport::send(request).await?;
        let status = reply.status().as_u16();
        let body = transport::read(reply, MAX_REPLY).await?;
        match serde_json::from_slice(&body) {
            Ok(health) => Ok(health),
            Err(_) => Err(error::refusal(status, &body)),
        }
    }

    /// Announces or renews the owner of the workspace.
    pub async fn lease(&self, lease: &LeaseRequest) -> Result<LeaseReply, Error> {
        self.json("PUT", "/v1/lease", CALL, lease).await
    }

    fn request(
        &self,
        method: &'static str,
        path: &str,
        limit: Duration,
    ) -> Result<reqwest::RequestBuilder, Error> {
        let url = format!("{}{path}", self.base);
        let mut request = self.transport.request(method, &url)?.timeout(limit);
        request = request.header("authorization", format!("Bearer {}", self.token.expose()));
        if let Some(generation) = self.generation {
            request = request.header(headers::GENERATION, generation);
        }
        if let Some(fence) = self.run_fence {
            request = request.header(headers::RUN_FENCE, fence);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.expose());
        }
        Ok(request)
    }

    async fn json<Q: Serialize + Sync, R: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        limit: Duration,
        body: &Q,
    ) -> Result<R, Error> {
        let request = self.request(method, path, limit)?;
        transport::reply(transport::send(transport::with_json(request, body)?).await?).await
    }
}

#[cfg(test)]
mod tests;
