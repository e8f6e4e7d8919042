//! What a client asks for. A request that was read has what it must have.

use serde::Serialize;

use super::message::Message;
use crate::codec;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;
use crate::error::{A2aError, FieldViolation};

/// What a path says of the parameters. JSON-RPC has none of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) tenant: Option<String>,
    pub(crate) id: Option<String>,
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
        });
        let Some(message) = wire.message else {
            problems.add("message", "is required");
            return Err(A2aError::invalid_fields(problems.0));
        };
        problems.0.extend(message.violations("message"));
        problems.none(Self {
            message,
            configuration: configuration.unwrap_or_default(),
            metadata: wire.metadata,
            tenant,
        })
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
}

from_object!(ConfigurationWire {
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    history_length: "historyLength" | "history_length",
    return_immediately: "returnImmediately" | "return_immediately",
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

/// All that is wrong with some parameters.
#[derive(Default)]
struct Problems(Vec<FieldViolation>);

impl Problems {
    fn add(&mut self, field: &str, description: &'static str) {
        self.0.push(FieldViolation { field: field.to_owned(), description: description.into() });
    }

    /// A field that the path may give as well: both must then say the same.
    fn placed(
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

    fn id(&mut self, given: Option<String>, path: Option<String>) -> String {
        self.placed("id", given, path).unwrap_or_else(|| {
            self.add("id", "is required");
            String::new()
        })
    }

    fn length(&mut self, field: &str, value: Option<i32>) -> Option<u32> {
        let length = u32::try_from(value?);
        if length.is_err() {
            self.add(field, "is not negative");
        }
        length.ok()
    }

    /// `value`, if nothing is wrong.
    fn none<T>(self, value: T) -> Result<T, A2aError> {
        if self.0.is_empty() { Ok(value) } else { Err(A2aError::invalid_fields(self.0)) }
    }
}
