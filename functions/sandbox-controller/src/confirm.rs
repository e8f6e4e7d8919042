//! The sandbox's own word: from when on it takes changes of the holder's generation, and of no
//! older one.

use std::time::Duration;

use sandbox_protocol::client::{Client, Error, Transport};
use sandbox_protocol::health::HealthStatus;
use sandbox_protocol::lease::LeaseRequest;
use sandbox_protocol::runtime_token;
use store::sandboxes::Instance;
use tokio::time::{Instant, sleep};

use crate::backend::{Backend, Fate};

/// The pauses between two attempts grow from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// What the sandbox said.
#[derive(Debug)]
pub(crate) enum Confirmation {
    /// The generation is its own now, and this is where commands find the workspace.
    Yes { workspace_root: String },
    /// It knows a newer generation: this acquisition is over.
    Fenced,
    /// It runs no more; proven.
    Gone,
    /// It did not answer in time, or what it said makes no sense.
    No(Error),
}

/// Tells the sandbox its generation, for as long as `patience` lasts. May be repeated.
pub(crate) async fn confirm(
    backend: &Backend,
    transport: &Transport,
    runtime_key: &[u8],
    instance: &Instance,
    patience: Duration,
) -> Confirmation {
    let Some(endpoint) = &instance.endpoint else {
        return Confirmation::No(Error::BadReply("it has no endpoint"));
    };
    let token = runtime_token(runtime_key, instance.id.as_uuid());
    let client = Client::new(transport, endpoint, token);
    let until = Instant::now() + patience;
    let (mut pause, longest) = PAUSES;
    loop {
        let error = match attempt(&client, instance).await {
            Ok(workspace_root) => return Confirmation::Yes { workspace_root },
            Err(Error::Fenced) => return Confirmation::Fenced,
            Err(error) => error,
        };
        if backend.fate(instance).await == Fate::Gone {
            return Confirmation::Gone;
        }
        if !passes(&error) || Instant::now() + pause > until {
            return Confirmation::No(error);
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn attempt(client: &Client, instance: &Instance) -> Result<String, Error> {
    // No end of the lease and no fence: the run's worker tells both with its own heartbeat.
    let lease =
        LeaseRequest { generation: instance.generation, lease_until: None, run_fence: None };
    client.lease(&lease).await?;
    let health = client.health().await?;
    if health.instance_id != Some(instance.id.as_uuid()) {
        return Err(Error::BadReply("it is another instance"));
    }
    match health.status {
        HealthStatus::Ok => Ok(health.workspace_root),
        _ => Err(Error::NotReady),
    }
}

/// Whether the trouble may pass by itself.
const fn passes(error: &Error) -> bool {
    matches!(error, Error::Unreachable(_) | Error::Interrupted(_) | Error::NotReady | Error::Busy)
}
