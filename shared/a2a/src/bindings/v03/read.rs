//! Requests of 0.3, read into those of 1.0.

use serde::de::{Deserialize, Deserializer};

use super::super::Call;
use super::Dialect;
use crate::codec;
use crate::codec::base64::Base64;
use crate::codec::json::JsonObject;
use crate::codec::object::{Wire, from_object};
use crate::codec::scalar::{Word, nullable};
use crate::error::{A2aError, Cause};
use crate::operations::Operation;
use crate::types::{
    AuthenticationInfo, CancelTaskRequest, Content, GetExtendedAgentCardRequest, GetTaskRequest,
    ListPushConfigsRequest, Message, Part, Place, Problems, PushConfigRequest, Role,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
    TaskPushNotificationConfig,
};

/// Reads the parameters of `operation`. The `place` of JSON-RPC is empty.
pub(in super::super) fn parse(
    operation: Operation,
    text: &str,
    place: Place,
    dialect: Dialect,
) -> Result<Call, A2aError> {
    use Operation as O;
    match operation {
        O::SendMessage => send(text, dialect).map(Call::SendMessage),
        O::SendStreamingMessage => send(text, dialect).map(Call::SendStreamingMessage),
        O::CreateTaskPushNotificationConfig => set(text, place).map(Call::CreatePushConfig),
        O::GetExtendedAgentCard => {
            Ok(Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()))
        }
        O::ListTasks => Err(A2aError::new(Cause::MethodNotFound)),
        _ => named(operation, text, place),
    }
}

/// The operations whose parameters are ids.
fn named(operation: Operation, text: &str, place: Place) -> Result<Call, A2aError> {
    let ids: Ids = codec::params(text)?;
    let mut problems = Problems::default();
    let id = problems.named("id", ids.id, place.id);
    let history_length = limit(&mut problems, "historyLength", ids.history_length);
    let config =
        problems.placed("pushNotificationConfigId", ids.push_notification_config_id, place.config);
    let call = match (operation, config) {
        (Operation::GetTask, _) => {
            Call::GetTask(GetTaskRequest { id, history_length, tenant: None })
        }
        (Operation::CancelTask, _) => {
            Call::CancelTask(CancelTaskRequest { id, metadata: ids.metadata, tenant: None })
        }
        (Operation::SubscribeToTask, _) => {
            Call::SubscribeToTask(SubscribeToTaskRequest { id, tenant: None })
        }
        (Operation::DeleteTaskPushNotificationConfig, config) => {
            let config = problems.named("pushNotificationConfigId", config, None);
            Call::DeletePushConfig(PushConfigRequest { tenant: None, task_id: id, id: config })
        }
        (Operation::GetTaskPushNotificationConfig, Some(config)) => {
            Call::GetPushConfig(PushConfigRequest { tenant: None, task_id: id, id: config })
        }
        (operation, _) => {
            let request = ListPushConfigsRequest {
                tenant: None,
                task_id: id,
                page_size: problems.page_size(Some(ids.page_size).filter(|size| *size != 0)),
                page_token: ids.page_token,
            };
            if operation == Operation::GetTaskPushNotificationConfig {
                Call::FirstPushConfig(request)
            } else {
                Call::ListPushConfigs(request)
            }
        }
    };
    problems.none(call)
}

struct Ids {
    id: Option<String>,
    push_notification_config_id: Option<String>,
    history_length: Option<i32>,
    metadata: Option<JsonObject>,
    page_size: i32,
    page_token: Option<String>,
}

from_object!(Ids {
    id: "id",
    push_notification_config_id: "pushNotificationConfigId" | "push_notification_config_id",
    history_length: "historyLength" | "history_length",
    metadata: "metadata",
    page_size: "pageSize" | "page_size",
    page_token: "pageToken" | "page_token",
});

/// A length of which 0 is no limit.
fn limit(problems: &mut Problems, field: &str, value: Option<i32>) -> Option<u32> {
    problems.length(field, value).filter(|length| *length != 0)
}

fn set(text: &str, place: Place) -> Result<TaskPushNotificationConfig, A2aError> {
    let wire: SetWire = codec::params(text)?;
    let mut problems = Problems::default();
    let task = problems.named("taskId", wire.task_id, place.id);
    // The SDKs disagree on whether the body is the request or the configuration in it.
    let (config, path) = match wire.config {
        Some(nested) => (nested.push_notification_config, "config.pushNotificationConfig"),
        None => (wire.push_notification_config, "pushNotificationConfig"),
    };
    let Some(config) = config else { return Err(problems.missing(path)) };
    let mut config = config.read(&mut problems, path);
    config.id = config.id.or(wire.config_id).or_else(|| Some(task.clone()));
    config.task_id = Some(task);
    problems.none(config)
}

struct SetWire {
    task_id: Option<String>,
    config_id: Option<String>,
    push_notification_config: Option<ConfigWire>,
    config: Option<NestedWire>,
}

from_object!(SetWire {
    task_id: "taskId" | "task_id",
    config_id: "configId" | "config_id",
    push_notification_config: "pushNotificationConfig" | "push_notification_config",
    config: "config",
});

struct NestedWire {
    push_notification_config: Option<ConfigWire>,
}

from_object!(NestedWire {
    push_notification_config: "pushNotificationConfig" | "push_notification_config",
});

struct ConfigWire {
    id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AuthenticationWire>,
}

from_object!(ConfigWire { id: "id", url: "url", token: "token", authentication: "authentication" });

struct AuthenticationWire {
    schemes: Vec<String>,
    credentials: Option<String>,
}

from_object!(AuthenticationWire { schemes: "schemes", credentials: "credentials" });

impl ConfigWire {
    /// Of several schemes the first one is used.
    fn read(self, problems: &mut Problems, path: &str) -> TaskPushNotificationConfig {
        let authentication = self.authentication.map(|given| AuthenticationInfo {
            scheme: given.schemes.into_iter().next().unwrap_or_default(),
            credentials: given.credentials,
        });
        let config = TaskPushNotificationConfig {
            tenant: None,
            id: self.id,
            task_id: None,
            url: self.url,
            token: self.token,
            authentication,
        };
        config.check(problems, &format!("{path}."), "schemes[0]");
        config
    }
}

fn send(text: &str, dialect: Dialect) -> Result<SendMessageRequest, A2aError> {
    let wire: SendWire = codec::params(text)?;
    let mut problems = Problems::default();
    let configuration = wire.configuration.unwrap_or_default().read(dialect, &mut problems);
    let Some(message) = wire.message else { return Err(problems.missing("message")) };
    let message = message.read(dialect, &mut problems);
    problems.none(SendMessageRequest {
        message,
        configuration,
        metadata: wire.metadata,
        tenant: None,
    })
}

struct SendWire {
    message: Option<MessageWire>,
    configuration: Option<ConfigurationWire>,
    metadata: Option<JsonObject>,
}

from_object!(SendWire { message: "message", configuration: "configuration", metadata: "metadata" });

#[derive(Default)]
struct ConfigurationWire {
    accepted_output_modes: Vec<String>,
    history_length: Option<i32>,
    blocking: Option<bool>,
    push_notification_config: Option<ConfigWire>,
}

from_object!(ConfigurationWire {
    accepted_output_modes: "acceptedOutputModes" | "accepted_output_modes",
    history_length: "historyLength" | "history_length",
    blocking: "blocking",
    push_notification_config: "pushNotificationConfig"
        | "push_notification_config"
        | "pushNotification"
        | "push_notification",
});

impl ConfigurationWire {
    fn read(self, dialect: Dialect, problems: &mut Problems) -> SendMessageConfiguration {
        let field = match dialect {
            Dialect::JsonRpc => "configuration.pushNotificationConfig",
            Dialect::Rest => "configuration.pushNotification",
        };
        SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            history_length: limit(problems, "configuration.historyLength", self.history_length),
            return_immediately: !self.blocking.unwrap_or(dialect == Dialect::JsonRpc),
            task_push_notification_config: self
                .push_notification_config
                .map(|config| config.read(problems, field)),
        }
    }
}

struct MessageWire {
    message_id: String,
    context_id: Option<String>,
    task_id: Option<String>,
    role: OldRole,
    parts: Vec<PartWire>,
    metadata: Option<JsonObject>,
    extensions: Vec<String>,
    reference_task_ids: Vec<String>,
}

from_object!(MessageWire {
    message_id: "messageId" | "message_id",
    context_id: "contextId" | "context_id",
    task_id: "taskId" | "task_id",
    role: "role",
    parts: "parts" | "content",
    metadata: "metadata",
    extensions: "extensions",
    reference_task_ids: "referenceTaskIds" | "reference_task_ids",
});

impl MessageWire {
    fn read(self, dialect: Dialect, problems: &mut Problems) -> Message {
        let field = match dialect {
            Dialect::JsonRpc => "parts",
            Dialect::Rest => "content",
        };
        let found = self.parts.len();
        let parts = self.parts.into_iter().enumerate();
        let parts: Vec<Part> = parts
            .filter_map(|(index, part)| {
                let part = part.read(dialect);
                if let Err(problem) = part {
                    problems.add(&format!("message.{field}[{index}]"), problem);
                }
                part.ok()
            })
            .collect();
        let message = Message {
            message_id: self.message_id,
            context_id: self.context_id,
            task_id: self.task_id,
            role: self.role.0,
            parts,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        };
        // Parts that are wrong have been told of; that there is none left is no news.
        let parts_field = format!("message.{field}");
        let violations = message.violations("message", field).into_iter();
        problems.extend(violations.filter(|v| found == 0 || v.field != parts_field).collect());
        message
    }
}

/// A role in the words of either binding.
#[derive(Clone, Copy)]
struct OldRole(Role);

const ROLES: [(OldRole, &str, u64); 5] = [
    (OldRole(Role::User), "user", 1),
    (OldRole(Role::Agent), "agent", 2),
    (OldRole(Role::User), "ROLE_USER", 1),
    (OldRole(Role::Agent), "ROLE_AGENT", 2),
    (OldRole(Role::Unspecified), "ROLE_UNSPECIFIED", 0),
];

impl Wire for OldRole {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        nullable(deserializer, Word { what: "a role", words: &ROLES })
    }

    fn absent() -> Option<Self> {
        Some(Self(Role::Unspecified))
    }
}

/// A string of which an empty one is there.
struct Text(String);

impl Wire for Text {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Self))
    }

    fn absent() -> Option<Self> {
        None
    }
}

struct PartWire {
    kind: Option<String>,
    text: Option<Text>,
    file: Option<FileWire>,
    data: Option<JsonObject>,
    metadata: Option<JsonObject>,
}

from_object!(PartWire {
    kind: "kind",
    text: "text",
    file: "file",
    data: "data",
    metadata: "metadata",
});

struct FileWire {
    bytes: Option<Base64>,
    uri: Option<Text>,
    name: Option<String>,
    mime_type: Option<String>,
}

from_object!(FileWire {
    bytes: "bytes" | "fileWithBytes" | "file_with_bytes",
    uri: "uri" | "fileWithUri" | "file_with_uri",
    name: "name",
    mime_type: "mimeType" | "mime_type",
});

/// The object around the data of a Part over HTTP.
struct DataWire {
    data: Option<JsonObject>,
}

from_object!(DataWire { data: "data" });

impl PartWire {
    fn read(self, dialect: Dialect) -> Result<Part, &'static str> {
        let mut part = match (self.text, self.file, self.data) {
            (Some(Text(text)), None, None) => Part::new(Content::Text(text)),
            (None, Some(file), None) => file.read()?,
            (None, None, Some(data)) => {
                // A Part that says its kind is JSON-RPC's, wherever it comes.
                let wrapped = dialect == Dialect::Rest && self.kind.is_none();
                let data = if wrapped { unwrapped(&data)? } else { data };
                Part::new(Content::Data(data.into_json()))
            }
            _ => return Err("a Part holds exactly one of text, file and data"),
        };
        part.metadata = self.metadata;
        Ok(part)
    }
}

fn unwrapped(wrapped: &JsonObject) -> Result<JsonObject, &'static str> {
    let inner = serde_json::from_str::<DataWire>(wrapped.as_str()).ok().and_then(|wire| wire.data);
    inner.ok_or("data holds an object called data")
}

impl FileWire {
    fn read(self) -> Result<Part, &'static str> {
        let content = match (self.bytes, self.uri) {
            (Some(bytes), None) => Content::Raw(bytes),
            (None, Some(Text(uri))) => Content::Url(uri),
            _ => return Err("a file has exactly one of bytes and uri"),
        };
        Ok(Part { filename: self.name, media_type: self.mime_type, ..Part::new(content) })
    }
}
