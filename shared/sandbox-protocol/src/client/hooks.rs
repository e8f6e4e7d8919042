//! The hook port. In the cloud only AWS reaches it; the local backend calls it in AWS's place.

use std::time::Duration;

use super::{Error, Transport, transport};
use crate::bootstrap::{HOOK_PREFIX, Payload, RunEnvelope, RunPayload};

/// No hook takes longer than this.
const HOOK: Duration = Duration::from_mins(1);

/// One instance's hook port.
#[derive(Debug, Clone)]
pub struct Hooks {
    transport: Transport,
    base: String,
}

impl Hooks {
    pub fn new(transport: &Transport, endpoint: &str) -> Self {
        Self { transport: transport.clone(), base: transport::base(endpoint) }
    }

    /// Whether the server listens and its workspace can be written. [`Error::NotReady`]: ask again.
    pub async fn ready(&self) -> Result<(), Error> {
        self.call("ready", None).await
    }

    pub async fn validate(&self) -> Result<(), Error> {
        self.call("validate", None).await
    }

    /// Makes the instance ours. The same payload may be sent again; another one is refused as
    /// `conflict` and changes nothing.
    pub async fn run(&self, payload: &RunPayload) -> Result<(), Error> {
        let payload = Payload::Text(payload.to_text());
        let envelope = RunEnvelope { microvm_id: None, run_hook_payload: Some(payload) };
        self.call("run", Some(&envelope)).await
    }

    /// Ends all commands; the server then takes nothing any more.
    pub async fn terminate(&self) -> Result<(), Error> {
        self.call("terminate", None).await
    }

    async fn call(&self, hook: &str, body: Option<&RunEnvelope>) -> Result<(), Error> {
        let url = format!("{}{HOOK_PREFIX}{hook}", self.base);
        let mut request = self.transport.request("POST", &url)?.timeout(HOOK);
        if let Some(body) = body {
            request = transport::with_json(request, body)?;
        }
        transport::success(transport::send(request).await?).await.map(drop)
    }
}
