//! From rows to what a client sees: history, artifacts, and published files resolved for this
//! reader. The same for answers, streams and webhooks.
//!
//! **Nothing signed outlives the answer that it was made for.**

mod page;

use std::sync::Arc;

use a2a::project::{self, Artifacts, Identity, PublishedContent, Resolved, Said, StatusView};
use a2a::types::{Base64, StreamResponse, Task};
use cloud::objects::Objects;
use domain::{AgentName, ArtifactContent, Event, EventBody, PublicationId, Scope, ScopeDigest};
use published::Namespace;
use store::conversation::{Envelope, Role, StoredMessage};
use store::tasks::{StoredTask, TaskView};
use store::{Pool, publications};

pub use page::Shown;

/// Makes what clients see.
#[derive(Debug, Clone)]
pub struct Viewer {
    pub pool: Pool,
    pub objects: Arc<dyn Objects>,
    /// The key of storage namespaces.
    pub scope_key: Arc<[u8]>,
}

/// For whom a view is made. The two belong together; a caller has both at hand.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub scope: &'a Scope,
    pub digest: &'a ScopeDigest,
}

/// Why a view could not be made. Each is a failure of ours.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read the task")]
    Store(#[from] store::Error),
    #[error("resolve a published file")]
    Published(#[from] published::Error),
    #[error("show the task")]
    Project(#[from] project::Unprojectable),
    #[error("read a message of the loop")]
    Message(#[from] agent::conversation::Unreadable),
}

impl Viewer {
    /// A task of this agent as its client sees it.
    pub async fn task(
        &self,
        reader: Reader<'_>,
        agent: &AgentName,
        view: TaskView,
    ) -> Result<Task, Error> {
        let mut artifacts = Artifacts::default();
        for event in view.artifacts {
            if let EventBody::Artifact(update) = event.body {
                artifacts.apply(update);
            }
        }
        let wanted: Vec<PublicationId> = artifacts.publications().collect();
        let resolved = self.resolve(reader, &wanted).await?;
        let mut history = Vec::with_capacity(view.history.len());
        for message in view.history {
            history.extend(said(message)?);
        }
        let projected = project::TaskView { history, artifacts, ..bare(agent, view.task) };
        Ok(project::task(projected, &resolved)?)
    }

    /// An event as its subscribers see it, or `None` for one that is not for them.
    pub async fn event(
        &self,
        reader: Reader<'_>,
        identity: &Identity,
        event: &Event,
    ) -> Result<Option<StreamResponse>, Error> {
        let wanted = match &event.body {
            EventBody::Artifact(update) => match update.content {
                ArtifactContent::Published { publication } => vec![publication],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let resolved = self.resolve(reader, &wanted).await?;
        Ok(project::event(identity, event, &resolved)?)
    }

    async fn resolve(
        &self,
        reader: Reader<'_>,
        wanted: &[PublicationId],
    ) -> Result<Resolved, Error> {
        let mut resolved = Resolved::new();
        if wanted.is_empty() {
            return Ok(resolved);
        }
        let rows = publications::find(&self.pool, reader.digest, wanted).await?;
        let namespace = Namespace::new(reader.scope, &self.scope_key);
        for (id, row) in rows {
            resolved.insert(id, self.published(&namespace, row).await?);
        }
        Ok(resolved)
    }

    /// A file as this reader gets it now.
    async fn published(
        &self,
        namespace: &Namespace,
        row: publications::Published,
    ) -> Result<project::Published, Error> {
        let content = match published::resolve(&*self.objects, namespace, &row).await? {
            published::Resolved::Inline { bytes } => {
                PublishedContent::Inline(Base64::encode(&bytes))
            }
            published::Resolved::Url(url) => PublishedContent::SignedUrl(url.into_exposed()),
            published::Resolved::Unavailable => PublishedContent::Unavailable,
        };
        Ok(project::Published {
            filename: row.filename,
            media_type: row.media_type,
            content,
            sha256: row.sha256,
            size: row.size,
        })
    }
}

/// A task without history and artifacts.
fn bare(agent: &AgentName, task: StoredTask) -> project::TaskView {
    project::TaskView {
        identity: Identity { task: task.id, context_id: task.context_id },
        agent: agent.clone(),
        status: StatusView {
            run: task.current_run,
            state: task.state,
            at: task.status_at,
            message: task.status_message,
            code: task.status_code,
        },
        history: Vec::new(),
        artifacts: Artifacts::default(),
        current_run: Some(task.current_run),
        last_run: Some(task.current_run),
    }
}

/// A message as part of the history; `None` for one that says nothing, as a turn of tool calls.
fn said(message: StoredMessage) -> Result<Option<Said>, Error> {
    Ok(match message.role {
        Role::User => {
            let envelope = Envelope::parse(&message.body)?;
            Some(Said::ByUser {
                message_id: message.client_message_id.unwrap_or_default(),
                parts: message.parts,
                metadata: envelope.metadata,
                extensions: envelope.extensions,
                reference_task_ids: envelope.reference_task_ids,
            })
        }
        Role::Assistant => {
            let text = agent::conversation::Message::from_json(&message.body)?.text();
            let message_id = message.id.as_uuid().to_string();
            (!text.is_empty()).then_some(Said::ByAgent { message_id, text })
        }
        Role::Tool => None,
    })
}
