//! What a receiver is told, and in which version of the protocol.
//!
//! **A task that is told as a whole is read when it is told**, so it is the task after the update or
//! later, and never an older one than the receiver has had.

use a2a::bindings::notification;
use a2a::project::Identity;
use domain::{AgentKey, Event, ProtocolVersion, Scope, ScopeDigest};
use lambda_kit::chain;
use store::tasks::{self, Want};
use store::webhooks::Why;
use view::{Reader, Viewer};

use crate::post::Refusal;

/// Whose task it is, and how its receiver wants to hear of it.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) scope: ScopeDigest,
    pub(crate) owner: Scope,
    pub(crate) agent: AgentKey,
    pub(crate) protocol: ProtocolVersion,
    pub(crate) identity: Identity,
}

impl Subject {
    /// What is posted for an event that is shown. An error is trouble with our own database, which
    /// passes; what does not pass is a refusal.
    pub(crate) async fn body(
        &self,
        viewer: &Viewer,
        event: &Event,
    ) -> Result<Result<Vec<u8>, Refusal>, store::Error> {
        let made = match self.protocol {
            ProtocolVersion::V10 => self.update(viewer, event).await,
            ProtocolVersion::V03 => self.task(viewer).await,
        };
        match made {
            Err(Unmade::View(view::Error::Store(error))) if error.is_retryable() => Err(error),
            Err(error) => {
                tracing::error!("an update cannot be shown: {}", chain(&error));
                Ok(Err(Refusal::new(Why::Unreadable)))
            }
            Ok(body) => Ok(Ok(body)),
        }
    }

    /// The update as a stream shows it.
    async fn update(&self, viewer: &Viewer, event: &Event) -> Result<Vec<u8>, Unmade> {
        let shown = viewer.event(self.reader(), &self.identity, event).await?;
        Ok(notification::of_update(&shown.ok_or(Unmade::Missing)?)?)
    }

    /// The task as it is now.
    async fn task(&self, viewer: &Viewer) -> Result<Vec<u8>, Unmade> {
        let whole = Want { history: None, artifacts: true };
        let task = self.identity.task;
        let found = tasks::view(&viewer.pool, &self.scope, &self.agent, task, whole).await;
        let found = found.map_err(view::Error::from)?.ok_or(Unmade::Missing)?;
        let shown = viewer.task(self.reader(), &self.agent.agent(), found).await?;
        Ok(notification::of_task(&shown)?)
    }

    fn reader(&self) -> Reader<'_> {
        Reader { scope: &self.owner, digest: &self.scope }
    }
}

/// Why there is nothing to post.
#[derive(Debug, thiserror::Error)]
enum Unmade {
    #[error("view it")]
    View(#[from] view::Error),
    #[error("write it down")]
    Json(#[from] serde_json::Error),
    #[error("find what it is about")]
    Missing,
}
