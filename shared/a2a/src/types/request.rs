//! What a client asks for. A request that was read has what it must have.

use std::borrow::Cow;

use serde::Serialize;

use super::message::Message;
use super::push::TaskPushNotificationConfig;
use crate::codec;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;
use crate::error::{A2aError, FieldViolation};

/// What a path says of the parameters. JSON-RPC has none of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) tenant: Option<String>,
    /// Of the task.
    pub(crate) id: Option<String>,
    /// Of a push notification configuration.
    pub(crate) config: Option<String>,
}

/// Parameters of `SendMessage` and `SendStreamingMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageRequest {
    pub message: Message,
    #[serde(skip_serializing_if = "SendMessageConfiguration::is_default")]
    pub configuration: SendMessageConfiguration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// How the client wants its answer. Says nothing about the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageConfiguration {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// How many messages of the history come back; `None` leaves it to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// False waits until the task is over or needs the client.
    pub return_immediately: bool,
    /// Where updates of the task are posted to. It names no task: that is the one of the message.
    /// Boxed, because few requests have one and every request is moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_push_notification_config: Option<Box<TaskPushNotificationConfig>>,
}

impl SendMessageConfiguration {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl SendMessageRequest {
    /// A message, and defaults for the rest.
    pub fn new(message: Message) -> Self {
        let configuration = SendMessageConfiguration::default();
        Self { message, configuration, metadata: None, tenant: None }
    }

    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: SendMessageWire = codec::params(text)?;
        let mut problems = Problems::default();
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        let configuration = wire.configuration.map(|c| SendMessageConfiguration {
            accepted_output_modes: c.accepted_output_modes,
            history_length: problems.length("configuration.historyLength", c.history_length),
            return_immediately: c.return_immediately,
            task_push_notification_config: c.task_push_notification_config,
        });
        let inline = configuration.as_ref().and_then(|c| c.task_push_notification_config.as_ref());
        if let Some(config) = inline {
            config.check(&mut problems, "configuration.taskPushNotificationConfig.", "scheme");
        }
        let Some(message) = wire.message else {
            return Err(problems.missing("message"));
        };
        problems.extend(message.violations("message", "parts"));
        problems.none(Self {
            message,
            configuration: configuration.unwrap_or_default(),
            metadata: wire.metadata,
            tenant,
        })
    }
}

/// Parameters as a body of JSON-RPC has them.
impl std::str::FromStr for SendMessageRequest {
    type Err = A2aError;

    fn from_str(text: &str) -> Result<Self, A2aError> {
        Self::read(text, Place::default())
    }
}

struct SendMessageWire {
    message: Option<Message>,
    configuration: Option<ConfigurationWire>,
    metadata: Option<JsonObject>,
    tenant: Option<String>,
}

from_object!(SendMessageWire {
    message: "message",
    configuration: "configuration",
    metadata: "metadata",
    tenant: "tenant",
});

struct ConfigurationWire {
    accepted_output_modes: Vec<String>,
    history_length: Option<i32>,
    return_immediately: bool,
    task_push_notification_config: Option<Box<TaskPushNotificationConfig>>,
}

from_object!(ConfigurationWire {
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    history_length: "historyLength" | "history_length",
    return_immediately: "returnImmediately" | "return_immediately",
    task_push_notification_config: "taskPushNotificationConfig" | "task_push_notification_config",
});

/// Parameters of `GetTask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Parameters of `CancelTask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelTaskRequest {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Parameters of `SubscribeToTask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeToTaskRequest {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

impl GetTaskRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: GetTaskWire = codec::params(text)?;
        let mut problems = Problems::default();
        let id = problems.id(wire.id, place.id);
        let history_length = problems.length("historyLength", wire.history_length);
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        problems.none(Self { id, history_length, tenant })
    }
}

impl CancelTaskRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: CancelTaskWire = codec::params(text)?;
        let mut problems = Problems::default();
        let id = problems.id(wire.id, place.id);
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        problems.none(Self { id, metadata: wire.metadata, tenant })
    }
}

impl SubscribeToTaskRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: SubscribeToTaskWire = codec::params(text)?;
        let mut problems = Problems::default();
        let id = problems.id(wire.id, place.id);
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        problems.none(Self { id, tenant })
    }
}

struct GetTaskWire {
    id: Option<String>,
    history_length: Option<i32>,
    tenant: Option<String>,
}

from_object!(GetTaskWire {
    id: "id",
    history_length: "historyLength" | "history_length",
    tenant: "tenant",
});

struct CancelTaskWire {
    id: Option<String>,
    metadata: Option<JsonObject>,
    tenant: Option<String>,
}

from_object!(CancelTaskWire { id: "id", metadata: "metadata", tenant: "tenant" });

struct SubscribeToTaskWire {
    id: Option<String>,
    tenant: Option<String>,
}

from_object!(SubscribeToTaskWire { id: "id", tenant: "tenant" });

/// Parameters of `GetExtendedAgentCard`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetExtendedAgentCardRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

struct GetExtendedAgentCardWire {
    tenant: Option<String>,
}

from_object!(GetExtendedAgentCardWire { tenant: "tenant" });

impl GetExtendedAgentCardRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: GetExtendedAgentCardWire = codec::params(text)?;
        let mut problems = Problems::default();
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        problems.none(Self { tenant })
    }
}

/// The largest page that may be asked for.
const MAX_PAGE: u32 = 100;

/// All that is wrong with some parameters.
#[derive(Default)]
pub(crate) struct Problems(Vec<FieldViolation>);

impl Problems {
    pub(crate) fn add(&mut self, field: &str, description: impl Into<Cow<'static, str>>) {
        self.0.push(FieldViolation { field: field.to_owned(), description: description.into() });
    }

    pub(crate) fn extend(&mut self, violations: Vec<FieldViolation>) {
        self.0.extend(violations);
    }

    /// All that is wrong, and that `field` is not there.
    pub(crate) fn missing(mut self, field: &str) -> A2aError {
        self.add(field, "is required");
        A2aError::invalid_fields(self.0)
    }

    /// A field that the path may give as well: both must then say the same.
    pub(crate) fn placed(
        &mut self,
        field: &str,
        given: Option<String>,
        path: Option<String>,
    ) -> Option<String> {
        if let (Some(given), Some(path)) = (&given, &path)
            && given != path
        {
            self.add(field, "differs from the path");
        }
        path.or(given)
    }

    pub(crate) fn id(&mut self, given: Option<String>, path: Option<String>) -> String {
        self.named("id", given, path)
    }

    /// A field that must be there, given or in the path.
    pub(crate) fn named(
        &mut self,
        field: &str,
        given: Option<String>,
        path: Option<String>,
    ) -> String {
        let named = self.placed(field, given, path).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| {
            self.add(field, "is required");
            String::new()
        })
    }

    pub(crate) fn length(&mut self, field: &str, value: Option<i32>) -> Option<u32> {
        let length = u32::try_from(value?);
        if length.is_err() {
            self.add(field, "is not negative");
        }
        length.ok()
    }

    /// The size of a page: between 1 and 100 (A2A §3.1.4).
    pub(crate) fn page_size(&mut self, value: Option<i32>) -> Option<u32> {
        let size = u32::try_from(value?).ok().filter(|size| (1..=MAX_PAGE).contains(size));
        if size.is_none() {
            self.add("pageSize", "is between 1 and 100");
        }
        size
    }

    /// A text that is bounded and has no control characters.
    pub(crate) fn plain(&mut self, path: &str, field: &str, text: &str, limit: usize) {
        if text.len() > limit {
            self.add(&format!("{path}{field}"), format!("has at most {limit} bytes"));
        } else if text.contains(char::is_control) {
            self.add(&format!("{path}{field}"), "holds a control character");
        }
    }

    /// A text that is bounded and fit to be the value of a header.
    pub(crate) fn header(&mut self, path: &str, field: &str, text: &str, limit: usize) {
        if text.len() > limit {
            self.add(&format!("{path}{field}"), format!("has at most {limit} bytes"));
        } else if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            self.add(&format!("{path}{field}"), "holds more than printable ASCII");
        }
    }

    /// `value`, if nothing is wrong.
    #[inline]
    pub(crate) fn none<T>(self, value: T) -> Result<T, A2aError> {
        if self.0.is_empty() { Ok(value) } else { Err(A2aError::invalid_fields(self.0)) }
    }
}
