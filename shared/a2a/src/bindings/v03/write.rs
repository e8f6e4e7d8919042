//! Answers of 1.0, written as those of 0.3.

use domain::TaskState;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::super::Answer;
use super::Dialect;
use crate::codec::json::JsonText;
use crate::types::{
    Artifact, AuthenticationInfo, Content, ListPushConfigsResponse, Message, Part, Role,
    SendResult, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig,
    TaskStatus, TaskStatusUpdateEvent,
};

/// Something as 0.3 writes it.
#[derive(Debug)]
pub(in super::super) struct Old<'a, T: ?Sized>(
    pub(in super::super) &'a T,
    pub(in super::super) Dialect,
);

/// Whether 0.3 ends a stream with this event: the task is over, or needs the client.
pub(in super::super) fn is_final(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::StatusUpdate(update) if ends(update.status.state))
}

const fn ends(state: TaskState) -> bool {
    !matches!(state, TaskState::Submitted | TaskState::Working)
}

/// What is written of an object: entries that are there, and nothing for those that are not.
struct Entries<M: SerializeMap>(M);

impl<M: SerializeMap> Entries<M> {
    /// An object that says what it is, where objects do.
    fn of(mut map: M, kind: &'static str, dialect: Dialect) -> Result<Self, M::Error> {
        if dialect == Dialect::JsonRpc {
            map.serialize_entry("kind", kind)?;
        }
        Ok(Self(map))
    }

    fn put(
        &mut self,
        key: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn some(&mut self, key: &'static str, value: Option<&impl Serialize>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(key, value))
    }

    fn list<T: Serialize>(&mut self, key: &'static str, list: &[T]) -> Result<(), M::Error> {
        if list.is_empty() { Ok(()) } else { self.put(key, list) }
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.0.end()
    }
}

/// A list of things as 0.3 writes them.
impl<T> Serialize for Old<'_, [T]>
where
    for<'a> Old<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| Old(item, self.1)))
    }
}

impl Serialize for Old<'_, Answer> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0, self.1) {
            (Answer::Sent(sent), dialect) => Old(sent, dialect).serialize(serializer),
            (Answer::Task(task), dialect) => Old(task, dialect).serialize(serializer),
            (Answer::PushConfig(config), dialect) => Old(config, dialect).serialize(serializer),
            (Answer::PushConfigs(configs), dialect) => Old(configs, dialect).serialize(serializer),
            (Answer::Nothing {}, Dialect::JsonRpc) => serializer.serialize_unit(),
            (Answer::Card(card), _) => card.v03().serialize(serializer),
            // 0.3 cannot list tasks.
            (answer @ (Answer::Nothing {} | Answer::Tasks(_)), _) => answer.serialize(serializer),
        }
    }
}

impl Serialize for Old<'_, SendResult> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            SendResult::Task(task) => member(serializer, "task", &Old(task, self.1), self.1),
            SendResult::Message(message) => {
                member(serializer, "message", &Old(message, self.1), self.1)
            }
        }
    }
}

impl Serialize for Old<'_, StreamResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dialect = self.1;
        match self.0 {
            StreamResponse::Task(task) => member(serializer, "task", &Old(task, dialect), dialect),
            StreamResponse::Message(message) => {
                member(serializer, "message", &Old(message, dialect), dialect)
            }
            StreamResponse::StatusUpdate(update) => {
                member(serializer, "statusUpdate", &Old(update, dialect), dialect)
            }
            StreamResponse::ArtifactUpdate(update) => {
                member(serializer, "artifactUpdate", &Old(update, dialect), dialect)
            }
        }
    }
}

/// One of several: bare where its `kind` says which, else below its name.
fn member<S: Serializer>(
    serializer: S,
    name: &'static str,
    value: &impl Serialize,
    dialect: Dialect,
) -> Result<S::Ok, S::Error> {
    match dialect {
        Dialect::JsonRpc => value.serialize(serializer),
        Dialect::Rest => serializer.collect_map([(name, value)]),
    }
}

impl Serialize for Old<'_, Task> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(task, dialect) = *self;
        let mut entries = Entries::of(serializer.serialize_map(None)?, "task", dialect)?;
        entries.put("id", &task.id)?;
        entries.put("contextId", &task.context_id)?;
        entries.put("status", &Old(&task.status, dialect))?;
        if !task.artifacts.is_empty() {
            entries.put("artifacts", &Old(task.artifacts.as_slice(), dialect))?;
        }
        if !task.history.is_empty() {
            entries.put("history", &Old(task.history.as_slice(), dialect))?;
        }
        entries.some("metadata", task.metadata.as_ref())?;
        entries.end()
    }
}

impl Serialize for Old<'_, TaskStatus> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(status, dialect) = *self;
        let mut entries = Entries(serializer.serialize_map(None)?);
        entries.put("state", state_name(status.state, dialect))?;
        entries.some("message", status.message.as_ref().map(|m| Old(m, dialect)).as_ref())?;
        entries.some("timestamp", status.timestamp.map(|time| time.to_string()).as_ref())?;
        entries.end()
    }
}

const fn state_name(state: TaskState, dialect: Dialect) -> &'static str {
    use Dialect::{JsonRpc, Rest};
    match (state, dialect) {
        (TaskState::Submitted, JsonRpc) => "submitted",
        (TaskState::Working, JsonRpc) => "working",
        (TaskState::Completed, JsonRpc) => "completed",
        (TaskState::Failed, JsonRpc) => "failed",
        (TaskState::Canceled, JsonRpc) => "canceled",
        (TaskState::InputRequired, JsonRpc) => "input-required",
        (TaskState::Rejected, JsonRpc) => "rejected",
        (TaskState::AuthRequired, JsonRpc) => "auth-required",
        (TaskState::Submitted, Rest) => "TASK_STATE_SUBMITTED",
        (TaskState::Working, Rest) => "TASK_STATE_WORKING",
        (TaskState::Completed, Rest) => "TASK_STATE_COMPLETED",
        (TaskState::Failed, Rest) => "TASK_STATE_FAILED",
        // So in the definition of 0.3, and only there.
        (TaskState::Canceled, Rest) => "TASK_STATE_CANCELLED",
        (TaskState::InputRequired, Rest) => "TASK_STATE_INPUT_REQUIRED",
        (TaskState::Rejected, Rest) => "TASK_STATE_REJECTED",
        (TaskState::AuthRequired, Rest) => "TASK_STATE_AUTH_REQUIRED",
    }
}

impl Serialize for Old<'_, Message> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(message, dialect) = *self;
        let mut entries = Entries::of(serializer.serialize_map(None)?, "message", dialect)?;
        entries.put("messageId", &message.message_id)?;
        entries.some("contextId", message.context_id.as_ref())?;
        entries.some("taskId", message.task_id.as_ref())?;
        let parts = Old(message.parts.as_slice(), dialect);
        match dialect {
            Dialect::JsonRpc => {
                let role = if message.role == Role::Agent { "agent" } else { "user" };
                entries.put("role", role)?;
                entries.put("parts", &parts)?;
                entries.list("referenceTaskIds", &message.reference_task_ids)?;
            }
            Dialect::Rest => {
                entries.put("role", &message.role)?;
                entries.put("content", &parts)?;
            }
        }
        entries.some("metadata", message.metadata.as_ref())?;
        entries.list("extensions", &message.extensions)?;
        entries.end()
    }
}

/// What only 1.0 can say of a Part is left out: the media type and name of a text or of data. Data
/// that is no object, which only 1.0 has, becomes the `value` of one.
impl Serialize for Old<'_, Part> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(part, dialect) = *self;
        let map = serializer.serialize_map(None)?;
        let mut entries = match &part.content {
            Content::Text(text) => {
                let mut entries = Entries::of(map, "text", dialect)?;
                entries.put("text", text)?;
                entries
            }
            Content::Raw(_) | Content::Url(_) => {
                let mut entries = Entries::of(map, "file", dialect)?;
                entries.put("file", &File(part, dialect))?;
                entries
            }
            Content::Data(json) => {
                let mut entries = Entries::of(map, "data", dialect)?;
                match dialect {
                    Dialect::JsonRpc => entries.put("data", &Data(json))?,
                    Dialect::Rest => entries.put("data", &Wrapped { data: Data(json) })?,
                }
                entries
            }
        };
        entries.some("metadata", part.metadata.as_ref())?;
        entries.end()
    }
}

struct File<'a>(&'a Part, Dialect);

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(part, dialect) = *self;
        let mut entries = Entries(serializer.serialize_map(None)?);
        match (&part.content, dialect) {
            (Content::Raw(bytes), Dialect::JsonRpc) => entries.put("bytes", bytes)?,
            (Content::Raw(bytes), Dialect::Rest) => entries.put("fileWithBytes", bytes)?,
            (Content::Url(url), Dialect::JsonRpc) => entries.put("uri", url)?,
            (Content::Url(url), Dialect::Rest) => entries.put("fileWithUri", url)?,
            (Content::Text(_) | Content::Data(_), _) => {}
        }
        entries.some("name", part.filename.as_ref())?;
        entries.some("mimeType", part.media_type.as_ref())?;
        entries.end()
    }
}

struct Data<'a>(&'a JsonText);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.as_str().starts_with('{') {
            self.0.serialize(serializer)
        } else {
            serializer.collect_map([("value", self.0)])
        }
    }
}

#[derive(serde::Serialize)]
struct Wrapped<'a> {
    data: Data<'a>,
}

impl Serialize for Old<'_, Artifact> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(artifact, dialect) = *self;
        let mut entries = Entries(serializer.serialize_map(None)?);
        entries.put("artifactId", &artifact.artifact_id)?;
        entries.some("name", artifact.name.as_ref())?;
        entries.some("description", artifact.description.as_ref())?;
        entries.put("parts", &Old(artifact.parts.as_slice(), dialect))?;
        entries.some("metadata", artifact.metadata.as_ref())?;
        entries.list("extensions", &artifact.extensions)?;
        entries.end()
    }
}

impl Serialize for Old<'_, TaskStatusUpdateEvent> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(update, dialect) = *self;
        let mut entries = Entries::of(serializer.serialize_map(None)?, "status-update", dialect)?;
        entries.put("taskId", &update.task_id)?;
        entries.put("contextId", &update.context_id)?;
        entries.put("status", &Old(&update.status, dialect))?;
        entries.put("final", &ends(update.status.state))?;
        entries.some("metadata", update.metadata.as_ref())?;
        entries.end()
    }
}

impl Serialize for Old<'_, TaskArtifactUpdateEvent> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(update, dialect) = *self;
        let map = serializer.serialize_map(None)?;
        let mut entries = Entries::of(map, "artifact-update", dialect)?;
        entries.put("taskId", &update.task_id)?;
        entries.put("contextId", &update.context_id)?;
        entries.put("artifact", &Old(&update.artifact, dialect))?;
        entries.put("append", &update.append)?;
        entries.put("lastChunk", &update.last_chunk)?;
        entries.some("metadata", update.metadata.as_ref())?;
        entries.end()
    }
}

impl Serialize for Old<'_, ListPushConfigsResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(list, dialect) = *self;
        let configs = Old(list.configs.as_slice(), dialect);
        if dialect == Dialect::JsonRpc {
            return configs.serialize(serializer);
        }
        let mut entries = Entries(serializer.serialize_map(None)?);
        entries.put("configs", &configs)?;
        entries.put("nextPageToken", &list.next_page_token)?;
        entries.end()
    }
}

impl Serialize for Old<'_, TaskPushNotificationConfig> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(config, dialect) = *self;
        let mut entries = Entries(serializer.serialize_map(None)?);
        let task = config.task_id.as_deref().unwrap_or_default();
        match dialect {
            Dialect::JsonRpc => entries.put("taskId", task)?,
            Dialect::Rest => {
                let id = config.id.as_deref().unwrap_or_default();
                entries.put("name", &format!("tasks/{task}/pushNotificationConfigs/{id}"))?;
            }
        }
        entries.put("pushNotificationConfig", &Config(config))?;
        entries.end()
    }
}

struct Config<'a>(&'a TaskPushNotificationConfig);

impl Serialize for Config<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = Entries(serializer.serialize_map(None)?);
        entries.some("id", self.0.id.as_ref())?;
        entries.put("url", &self.0.url)?;
        entries.some("token", self.0.token.as_ref())?;
        entries
            .some("authentication", self.0.authentication.as_ref().map(Authentication).as_ref())?;
        entries.end()
    }
}

struct Authentication<'a>(&'a AuthenticationInfo);

impl Serialize for Authentication<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = Entries(serializer.serialize_map(None)?);
        entries.put("schemes", &[&self.0.scheme])?;
        entries.some("credentials", self.0.credentials.as_ref())?;
        entries.end()
    }
}
