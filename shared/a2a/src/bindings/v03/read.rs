//! Requests of 0.3, read into those of 1.0.

mod message;
mod webhook;

use super::super::Call;
use super::Dialect;
use crate::codec;
use crate::codec::json::JsonObject;
use crate::codec::object::from_object;
use crate::error::{A2aError, Cause};
use crate::operations::Operation;
use crate::types::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest, Place,
    Problems, PushConfigRequest, SendMessageConfiguration, SendMessageRequest,
    SubscribeToTaskRequest,
};
use message::MessageWire;
use webhook::ConfigWire;

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
        O::CreateTaskPushNotificationConfig => {
            webhook::set(text, place).map(Call::CreatePushConfig)
        }
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
                .map(|config| Box::new(config.read(problems, field))),
        }
    }
}
