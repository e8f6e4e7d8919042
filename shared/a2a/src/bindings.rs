//! The two bindings: JSON-RPC 2.0 and HTTP+JSON, over plain `http` types.
//!
//! ```text
//! request ─► which binding? ─► json_rpc or rest reads a Call ─► carried out once ─► Framing writes
//! ```
//!
//! **The bindings differ in how a call is read and how an answer is framed, and in nothing else.**
//! So do the versions of the protocol: 0.3 is a reader and a writer of its own (`v03`) on either
//! side of the same operations. The caller has authenticated the request and removed the part of the
//! path that names the agent.
//!
//! A gateway cuts a connection on which nothing moves. So after [`KEEP_ALIVE`] without a word an
//! answer that is not a stream sends its headers and then white space, which JSON allows before a
//! value; and a stream sends a comment. The status is 200 by then, whatever comes after it.

pub mod extensions;
mod framing;
mod json_rpc;
pub mod notification;
mod patience;
mod rest;
mod v03;
mod version;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Request, Response};
use serde::Serialize;

use crate::card::AgentCard;
use crate::error::{A2aError, Cause};
use crate::operations::{EventStream, Operation, Operations};
use crate::profile::Profile;
use crate::types::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, Place, PushConfigRequest,
    SendMessageRequest, SendResult, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use framing::Framing;
use version::Version;
pub use version::spoken;

/// How long an answer may be silent.
pub const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The body of a response.
pub enum Body {
    Full(Bytes),
    /// Bytes as they come. Dropping it ends what produces them.
    Stream(BoxStream<'static, Bytes>),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Answers one request.
///
/// `profile` is what the agent offers; nothing else of it reaches the operations. `path` is what is
/// left of the path behind the agent's name: empty or `/` is JSON-RPC, all else HTTP+JSON, with or
/// without a tenant in front and a slash behind.
pub async fn serve<O: Operations>(
    operations: Arc<O>,
    context: O::Context,
    profile: &Profile,
    path: &str,
    request: Request<Bytes>,
) -> Response<Body> {
    let activated = extensions::activated(request.headers(), profile);
    let ask = Ask { request: &request, version: version::asked(&request), activated, profile };
    let (framing, call) = if path.trim_matches('/').is_empty() {
        json_rpc::read(&ask)
    } else {
        rest::read(path, &ask)
    };
    let framing = framing.with_extensions(&ask.activated);
    let last_event = last_event(request.headers());
    match call {
        Ok(call) => carry_out(operations, context, call, last_event, framing).await,
        Err(Refusal::Error(error)) => framing.failure(&error),
        Err(Refusal::NotAllowed { allowed }) => framing.not_allowed(allowed),
    }
}

/// A request, and what it is read against.
struct Ask<'a> {
    request: &'a Request<Bytes>,
    /// What the request speaks, or why we cannot.
    version: Result<Version, A2aError>,
    activated: Vec<&'a str>,
    profile: &'a Profile,
}

/// Why a request is no call.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Error(A2aError),
    /// The path exists, with other HTTP methods.
    NotAllowed {
        allowed: &'static str,
    },
}

impl From<A2aError> for Refusal {
    fn from(error: A2aError) -> Self {
        Self::Error(error)
    }
}

/// An operation with its parameters.
#[derive(Debug, PartialEq, Eq)]
enum Call {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendMessageRequest),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreatePushConfig(TaskPushNotificationConfig),
    GetPushConfig(PushConfigRequest),
    ListPushConfigs(ListPushConfigsRequest),
    /// Any one of them: in 0.3 a client need not say which.
    FirstPushConfig(ListPushConfigsRequest),
    DeletePushConfig(PushConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Call {
    /// Reads the parameters of `operation` with `parse`.
    ///
    /// An operation that the agent does not offer, and a request without an extension that it
    /// requires, are refused whatever the parameters are.
    fn read(
        operation: Operation,
        ask: &Ask<'_>,
        parse: impl FnOnce() -> Result<Self, A2aError>,
    ) -> Result<Self, A2aError> {
        extensions::check(&ask.activated, ask.profile)?;
        offered(operation, ask.profile)?;
        parse()?.within(ask.profile)
    }

    /// Reads the parameters of 1.0, to which a path may add.
    fn parse(operation: Operation, text: &str, place: Place) -> Result<Self, A2aError> {
        match operation {
            Operation::SendMessage => SendMessageRequest::read(text, place).map(Self::SendMessage),
            Operation::SendStreamingMessage => {
                SendMessageRequest::read(text, place).map(Self::SendStreamingMessage)
            }
            Operation::GetTask => GetTaskRequest::read(text, place).map(Self::GetTask),
            Operation::ListTasks => ListTasksRequest::read(text, place).map(Self::ListTasks),
            Operation::CancelTask => CancelTaskRequest::read(text, place).map(Self::CancelTask),
            Operation::SubscribeToTask => {
                SubscribeToTaskRequest::read(text, place).map(Self::SubscribeToTask)
            }
            Operation::CreateTaskPushNotificationConfig => {
                TaskPushNotificationConfig::read(text, place).map(Self::CreatePushConfig)
            }
            Operation::GetTaskPushNotificationConfig => {
                PushConfigRequest::read(text, place).map(Self::GetPushConfig)
            }
            Operation::ListTaskPushNotificationConfigs => {
                ListPushConfigsRequest::read(text, place).map(Self::ListPushConfigs)
            }
            Operation::DeleteTaskPushNotificationConfig => {
                PushConfigRequest::read(text, place).map(Self::DeletePushConfig)
            }
            Operation::GetExtendedAgentCard => {
                GetExtendedAgentCardRequest::read(text, place).map(Self::GetExtendedAgentCard)
            }
        }
    }

    fn tenant(&self) -> Option<&str> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => &request.tenant,
            Self::GetTask(request) => &request.tenant,
            Self::ListTasks(request) => &request.tenant,
            Self::CancelTask(request) => &request.tenant,
            Self::SubscribeToTask(request) => &request.tenant,
            Self::CreatePushConfig(config) => &config.tenant,
            Self::GetPushConfig(request) | Self::DeletePushConfig(request) => &request.tenant,
            Self::ListPushConfigs(request) | Self::FirstPushConfig(request) => &request.tenant,
            Self::GetExtendedAgentCard(request) => &request.tenant,
        }
        .as_deref()
    }

    /// Refuses parameters that ask for what the agent does not offer.
    fn within(self, profile: &Profile) -> Result<Self, A2aError> {
        if self.tenant().is_some_and(|tenant| !profile.tenants.iter().any(|known| known == tenant))
        {
            return Err(A2aError::task_not_found());
        }
        if let Self::SendMessage(request) | Self::SendStreamingMessage(request) = &self
            && request.configuration.task_push_notification_config.is_some()
            && !profile.push_notifications
        {
            return Err(A2aError::new(Cause::PushNotificationNotSupported));
        }
        Ok(self)
    }
}

/// Refuses an operation that the agent does not offer.
const fn offered(operation: Operation, profile: &Profile) -> Result<(), A2aError> {
    use Operation as O;
    let (offered, refusal) = match operation {
        O::SendMessage | O::GetTask | O::ListTasks | O::CancelTask => return Ok(()),
        O::SendStreamingMessage | O::SubscribeToTask => {
            (profile.streaming, Cause::UnsupportedOperation)
        }
        O::CreateTaskPushNotificationConfig
        | O::GetTaskPushNotificationConfig
        | O::ListTaskPushNotificationConfigs
        | O::DeleteTaskPushNotificationConfig => {
            (profile.push_notifications, Cause::PushNotificationNotSupported)
        }
        O::GetExtendedAgentCard => (profile.extended_agent_card, Cause::UnsupportedOperation),
    };
    if offered { Ok(()) } else { Err(A2aError::new(refusal)) }
}

/// The answer of an operation that answers once.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Sent(SendResult),
    Task(Task),
    Tasks(ListTasksResponse),
    PushConfig(TaskPushNotificationConfig),
    PushConfigs(ListPushConfigsResponse),
    Card(Box<AgentCard>),
    Nothing {},
}

/// Does what was asked for, and writes the answer as `framing` has it.
async fn carry_out<O: Operations>(
    operations: Arc<O>,
    context: O::Context,
    call: Call,
    last_event: Option<i64>,
    framing: Framing,
) -> Response<Body> {
    match call {
        Call::SendMessage(request) => {
            let length = request.configuration.history_length;
            let answer = async move {
                let mut sent = operations.send_message(&context, request).await?;
                if let SendResult::Task(task) = &mut sent {
                    task.limit_history(length);
                }
                Ok(Answer::Sent(sent))
            };
            patience::answer(answer, framing).await
        }
        Call::GetTask(request) => {
            let length = request.history_length;
            let answer = async move {
                let mut task = operations.get_task(&context, request).await?;
                task.limit_history(length);
                Ok(Answer::Task(task))
            };
            patience::answer(answer, framing).await
        }
        Call::CancelTask(request) => {
            let answer =
                async move { operations.cancel_task(&context, request).await.map(Answer::Task) };
            patience::answer(answer, framing).await
        }
        Call::ListTasks(request) => {
            let answer =
                async move { operations.list_tasks(&context, request).await.map(Answer::Tasks) };
            patience::answer(answer, framing).await
        }
        Call::CreatePushConfig(config) => {
            let answer = async move {
                operations.create_push_config(&context, config).await.map(Answer::PushConfig)
            };
            patience::answer(answer, framing).await
        }
        Call::GetPushConfig(request) => {
            let answer = async move {
                operations.get_push_config(&context, request).await.map(Answer::PushConfig)
            };
            patience::answer(answer, framing).await
        }
        Call::ListPushConfigs(request) => {
            let answer = async move {
                operations.list_push_configs(&context, request).await.map(Answer::PushConfigs)
            };
            patience::answer(answer, framing).await
        }
        Call::FirstPushConfig(request) => {
            let answer = async move {
                let found = operations.list_push_configs(&context, request).await?;
                let first = found.configs.into_iter().next();
                first.map(Answer::PushConfig).ok_or_else(A2aError::task_not_found)
            };
            patience::answer(answer, framing).await
        }
        Call::DeletePushConfig(request) => {
            let answer = async move {
                operations.delete_push_config(&context, request).await?;
                Ok(Answer::Nothing {})
            };
            patience::answer(answer, framing).await
        }
        Call::GetExtendedAgentCard(request) => {
            let answer = async move {
                let card = operations.get_extended_agent_card(&context, request).await?;
                Ok(Answer::Card(Box::new(card)))
            };
            patience::answer(answer, framing).await
        }
        Call::SendStreamingMessage(request) => {
            let opening = async move {
                operations.send_streaming_message(&context, request, last_event).await
            };
            patience::events(opened(opening), framing).await
        }
        Call::SubscribeToTask(request) => {
            let opening =
                async move { operations.subscribe_to_task(&context, request, last_event).await };
            patience::events(opened(opening), framing).await
        }
    }
}

/// The events of a stream that is still being opened; a refusal is its first and only item.
fn opened(
    opening: impl Future<Output = Result<EventStream, A2aError>> + Send + 'static,
) -> EventStream {
    stream::once(opening).try_flatten().boxed()
}

/// What the client says it has seen. Anything but a number of ours means that it has seen nothing.
fn last_event(headers: &HeaderMap) -> Option<i64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

/// The media type of a body, without parameters, in lower case.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
