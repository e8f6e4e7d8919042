//! What a client asks for. A request that was read has what it must have.

use serde::Serialize;

use super::message::Message;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;
use crate::error::{A2aError, FieldViolation};

/// Parameters of one operation. Made by [`Parameters::read`], which says all that is missing.
pub(crate) trait Parameters: Sized {
    /// The shape on the wire, where everything may be missing.
    type Wire: for<'de> serde::Deserialize<'de>;

    fn check(wire: Self::Wire) -> Result<Self, A2aError>;

    fn read(text: &str) -> Result<Self, A2aError> {
        crate::codec::params(text).and_then(Self::check)
    }
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

pub(crate) struct SendMessageWire {
    message: Option<Message>,
    configuration: Option<ConfigurationWire>,
    metadata: Option<JsonObject>,
    pub(crate) tenant: Option<String>,
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

impl Parameters for SendMessageRequest {
    type Wire = SendMessageWire;

    fn check(wire: SendMessageWire) -> Result<Self, A2aError> {
        let SendMessageWire { message, configuration, metadata, tenant } = wire;
        let mut problems = Problems::default();
        let configuration = configuration.map_or_else(SendMessageConfiguration::default, |wire| {
            SendMessageConfiguration {
                accepted_output_modes: wire.accepted_output_modes,
                history_length: problems
                    .history_length("configuration.historyLength", wire.history_length),
                return_immediately: wire.return_immediately,
            }
        });
        match message {
            Some(message) => {
                problems.0.extend(message.violations("message"));
                problems.none(Self { message, configuration, metadata, tenant })
            }
            None => Err(problems.also("message", "is required")),
        }
    }
}

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

pub(crate) struct GetTaskWire {
    pub(crate) id: String,
    pub(crate) history_length: Option<i32>,
    pub(crate) tenant: Option<String>,
}

from_object!(GetTaskWire {
    id: "id",
    history_length: "historyLength" | "history_length",
    tenant: "tenant",
});

impl Parameters for GetTaskRequest {
    type Wire = GetTaskWire;

    fn check(wire: GetTaskWire) -> Result<Self, A2aError> {
        let GetTaskWire { id, history_length, tenant } = wire;
        let mut problems = Problems::default();
        problems.required("id", &id);
        let history_length = problems.history_length("historyLength", history_length);
        problems.none(Self { id, history_length, tenant })
    }
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

/// What names a task and little more.
pub(crate) struct NamesTask {
    pub(crate) id: String,
    pub(crate) metadata: Option<JsonObject>,
    pub(crate) tenant: Option<String>,
}

from_object!(NamesTask { id: "id", metadata: "metadata", tenant: "tenant" });

impl Parameters for CancelTaskRequest {
    type Wire = NamesTask;

    fn check(wire: NamesTask) -> Result<Self, A2aError> {
        let NamesTask { id, metadata, tenant } = wire;
        let mut problems = Problems::default();
        problems.required("id", &id);
        problems.none(Self { id, metadata, tenant })
    }
}

impl Parameters for SubscribeToTaskRequest {
    type Wire = NamesTask;

    fn check(wire: NamesTask) -> Result<Self, A2aError> {
        let NamesTask { id, tenant, .. } = wire;
        let mut problems = Problems::default();
        problems.required("id", &id);
        problems.none(Self { id, tenant })
    }
}

/// All that is wrong with some parameters.
#[derive(Default)]
struct Problems(Vec<FieldViolation>);

impl Problems {
    fn add(&mut self, field: &str, description: &'static str) {
        self.0.push(FieldViolation { field: field.to_owned(), description: description.into() });
    }

    fn required(&mut self, field: &str, value: &str) {
        if value.is_empty() {
            self.add(field, "is required");
        }
    }

    fn history_length(&mut self, field: &str, value: Option<i32>) -> Option<u32> {
        let length = u32::try_from(value?);
        if length.is_err() {
            self.add(field, "is not negative");
        }
        length.ok()
    }

    /// `value`, if there is no problem.
    fn none<T>(self, value: T) -> Result<T, A2aError> {
        if self.0.is_empty() { Ok(value) } else { Err(A2aError::invalid_fields(self.0)) }
    }

    fn also(mut self, field: &str, description: &'static str) -> A2aError {
        self.add(field, description);
        A2aError::invalid_fields(self.0)
    }
}
