//! The domain as A2A clients see it: tasks, events, artifacts.
//!
//! **Pure, and the same for streams, `GetTask` and webhooks.** What a reader may download is
//! resolved before, by whoever may ask the object store; nothing signed is kept here.

mod artifacts;

use std::collections::HashMap;

use domain::{
    About, AgentName, ArtifactContent, ArtifactUpdate, Event, EventBody, PartKind, PublicationId,
    RunId, StoredPart, TaskId, TaskState, Timestamp,
};
use serde_json::json;

use crate::codec::base64::{Base64, InvalidBase64};
use crate::codec::json::{InvalidJson, JsonObject, JsonText};
use crate::types::{
    Artifact, Content, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskStatus, TaskStatusUpdateEvent,
};

pub use artifacts::Artifacts;

/// What cannot be shown. Each is a mistake of ours, never of the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unprojectable {
    /// Nobody resolved this publication.
    #[error("publication {0} was not resolved")]
    Unresolved(PublicationId),
    /// A stored text is not the JSON that was stored.
    #[error("read stored JSON")]
    Json(#[from] InvalidJson),
    /// A stored text is not the base64 that was stored.
    #[error("read stored base64")]
    Base64(#[from] InvalidBase64),
}

/// A task's names: ours, and the client's for its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub task: TaskId,
    pub context_id: String,
}

impl Identity {
    fn task_id(&self) -> String {
        self.task.as_uuid().to_string()
    }
}

/// What is stored of a task.
#[derive(Debug, Clone)]
pub struct TaskView {
    pub identity: Identity,
    pub agent: AgentName,
    pub status: StatusView,
    /// In the order in which it was said.
    pub history: Vec<Said>,
    pub artifacts: Artifacts,
    pub current_run: Option<RunId>,
    pub last_run: Option<RunId>,
}

/// Where a task stands, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusView {
    /// The run that brought it there.
    pub run: RunId,
    pub state: TaskState,
    pub at: Timestamp,
    pub message: Option<String>,
    /// A failure code, where there is one.
    pub code: Option<String>,
}

/// One message of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    ByUser {
        /// The client's own id.
        message_id: String,
        parts: Vec<StoredPart>,
        /// A JSON object as serialised text, exactly as sent.
        metadata: Option<String>,
        extensions: Vec<String>,
        reference_task_ids: Vec<String>,
    },
    ByAgent {
        message_id: String,
        text: String,
    },
}

/// A published file, as this reader gets it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub filename: String,
    pub media_type: String,
    pub content: PublishedContent,
    /// Of the published bytes, in lower-case hex.
    pub sha256: String,
    pub size: u64,
}

/// How a published file is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishedContent {
    Inline(Base64),
    /// Made for this answer; good for a short time.
    SignedUrl(String),
    /// The bytes are gone, and the store that held them is there.
    Unavailable,
}

/// All publications that an answer needs.
pub type Resolved = HashMap<PublicationId, Published>;

/// A task as its client sees it, with its whole history.
pub fn task(view: TaskView, resolved: &Resolved) -> Result<Task, Unprojectable> {
    let TaskView { identity, agent, status, history, artifacts, current_run, last_run } = view;
    let run = |run: Option<RunId>| run.map(|run| run.as_uuid().to_string());
    let metadata = json!({
        "agentName": agent.as_str(),
        "currentRunId": run(current_run),
        "lastRunId": run(last_run),
    });
    let history: Result<Vec<_>, _> = history.into_iter().map(|s| said(&identity, s)).collect();
    Ok(Task {
        id: identity.task_id(),
        status: self::status(&identity, status),
        artifacts: artifacts.into_wire(resolved)?,
        history: history?,
        metadata: Some(object(&metadata)?),
        context_id: identity.context_id,
    })
}

/// Whether subscribers see an event of this kind.
pub const fn is_shown(body: &EventBody) -> bool {
    match body {
        EventBody::Status { .. } | EventBody::Artifact(_) => true,
        // Who follows the task sees the words in the status that comes next.
        EventBody::Reply { .. } | EventBody::ToolCalled { .. } | EventBody::ToolFinished { .. } => {
            false
        }
    }
}

/// An event as its subscribers see it; `None` for one that is not theirs to see.
pub fn event(
    identity: &Identity,
    event: &Event,
    resolved: &Resolved,
) -> Result<Option<StreamResponse>, Unprojectable> {
    match &event.body {
        EventBody::Status { state, message, code } => {
            let view = StatusView {
                run: event.run,
                state: *state,
                at: event.at,
                message: message.clone(),
                code: code.clone(),
            };
            Ok(Some(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: identity.task_id(),
                context_id: identity.context_id.clone(),
                status: status(identity, view),
                metadata: None,
            })))
        }
        EventBody::Artifact(update) => artifact_update(identity, update, resolved).map(Some),
        EventBody::Reply { .. } | EventBody::ToolCalled { .. } | EventBody::ToolFinished { .. } => {
            Ok(None)
        }
    }
}

/// The message with which a run answers in place of a task (A2A §3.1.1); `None` where the event is
/// another. Made of the log alone, so that a repeated request gets the same one. It names no task:
/// its client was never shown one.
pub fn reply(identity: &Identity, event: &Event) -> Option<Message> {
    let EventBody::Reply { text } = &event.body else { return None };
    Some(Message {
        message_id: format!("run-{}-reply", event.run.as_uuid()),
        context_id: Some(identity.context_id.clone()),
        task_id: None,
        role: Role::Agent,
        parts: vec![Part::text(text.clone())],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    })
}

fn artifact_update(
    identity: &Identity,
    update: &ArtifactUpdate,
    resolved: &Resolved,
) -> Result<StreamResponse, Unprojectable> {
    Ok(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: identity.task_id(),
        context_id: identity.context_id.clone(),
        artifact: Artifact {
            artifact_id: update.artifact.0.clone(),
            name: update.name.clone(),
            description: update.about.description.clone(),
            parts: vec![content(Held::of(update), resolved)?],
            metadata: None,
            extensions: update.about.extensions.clone(),
        },
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: None,
    }))
}

/// The status. Its message is the last word of a run, which has only one for a state: so its id is
/// the same for every reader, and no other message of the task has it.
fn status(identity: &Identity, view: StatusView) -> TaskStatus {
    let StatusView { run, state, at, message, code } = view;
    let text = message.or_else(|| code.clone());
    let message = text.map(|text| Message {
        message_id: format!("run-{}-status-{state}", run.as_uuid()),
        context_id: Some(identity.context_id.clone()),
        task_id: Some(identity.task_id()),
        role: Role::Agent,
        parts: vec![Part::text(text)],
        metadata: code
            .and_then(|code| object(&json!({ "cognition": { "failureCode": code } })).ok()),
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    });
    TaskStatus { state, message, timestamp: Some(at) }
}

fn said(identity: &Identity, said: Said) -> Result<Message, Unprojectable> {
    let (context_id, task_id) = (Some(identity.context_id.clone()), Some(identity.task_id()));
    Ok(match said {
        Said::ByUser { message_id, parts, metadata, extensions, reference_task_ids } => Message {
            message_id,
            context_id,
            task_id,
            role: Role::User,
            parts: parts.into_iter().map(part).collect::<Result<_, _>>()?,
            metadata: metadata.map(JsonObject::new).transpose()?,
            extensions,
            reference_task_ids,
        },
        Said::ByAgent { message_id, text } => Message {
            message_id,
            context_id,
            task_id,
            role: Role::Agent,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        },
    })
}

/// A Part as its sender sent it.
fn part(stored: StoredPart) -> Result<Part, Unprojectable> {
    let content = match stored.kind {
        PartKind::Text => Content::Text(stored.value),
        PartKind::Url => Content::Url(stored.value),
        PartKind::Raw => Content::Raw(Base64::parse(&stored.value)?),
        PartKind::Data => Content::Data(JsonText::new(stored.value)?),
    };
    Ok(Part {
        content,
        filename: stored.filename,
        media_type: stored.media_type,
        metadata: stored.metadata.map(JsonObject::new).transpose()?,
    })
}

/// One content of an artifact, with what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    content: ArtifactContent,
    media_type: Option<String>,
    filename: Option<String>,
}

impl Held {
    fn of(update: &ArtifactUpdate) -> Self {
        let About { media_type, filename, .. } = &update.about;
        Self {
            content: update.content.clone(),
            media_type: media_type.clone(),
            filename: filename.clone(),
        }
    }
}

/// One content of an artifact.
fn content(held: Held, resolved: &Resolved) -> Result<Part, Unprojectable> {
    let Held { content, media_type, filename } = held;
    let said = |content, media_type| Part { content, filename, media_type, metadata: None };
    match content {
        ArtifactContent::Text { text } => Ok(said(Content::Text(text), media_type)),
        ArtifactContent::Data { json } => {
            let media_type = media_type.or_else(|| Some("application/json".to_owned()));
            Ok(said(Content::Data(JsonText::new(json)?), media_type))
        }
        ArtifactContent::Link { url } => Ok(said(Content::Url(url), media_type)),
        ArtifactContent::Published { publication } => {
            let found = resolved.get(&publication);
            published(found.ok_or(Unprojectable::Unresolved(publication))?)
        }
    }
}

/// A published file: its bytes, a link to them, or word that they are gone (the artifact stays).
fn published(file: &Published) -> Result<Part, Unprojectable> {
    let content = match &file.content {
        PublishedContent::Inline(bytes) => Content::Raw(bytes.clone()),
        PublishedContent::SignedUrl(url) => Content::Url(url.clone()),
        PublishedContent::Unavailable => {
            let metadata = json!({ "cognition": {
                "contentAvailability": "unavailable",
                "originalKind": "url",
                "originalMediaType": file.media_type,
                "originalFilename": file.filename,
            }});
            return Ok(Part {
                media_type: Some("text/plain".to_owned()),
                metadata: Some(object(&metadata)?),
                ..Part::text("The published content is no longer available.")
            });
        }
    };
    // With these the client can check that it holds the bytes that were verified.
    let metadata = json!({ "cognition": { "sha256": file.sha256, "sizeBytes": file.size } });
    Ok(Part {
        content,
        filename: Some(file.filename.clone()),
        media_type: Some(file.media_type.clone()),
        metadata: Some(object(&metadata)?),
    })
}

fn object(value: &serde_json::Value) -> Result<JsonObject, InvalidJson> {
    JsonObject::new(value.to_string())
}

#[cfg(test)]
mod tests;
