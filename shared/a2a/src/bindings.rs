//! The two bindings: JSON-RPC 2.0 and HTTP+JSON, over plain `http` types.
//!
//! ```text
//! request ─► which binding? ─► json_rpc or rest reads a Call ─► carried out once ─► Framing writes
//! ```
//!
//! **The bindings differ in how a call is read and how an answer is framed, and in nothing else.**
//! The caller has authenticated the request and removed the part of the path that names the agent.
//!
//! A gateway cuts a connection on which nothing moves. So after [`KEEP_ALIVE`] without a word an
//! answer that is not a stream sends its headers and then white space, which JSON allows before a
//! value; and a stream sends a comment. The status is 200 by then, whatever comes after it.

mod framing;
mod json_rpc;
mod patience;
mod rest;
mod version;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Request, Response};
use serde::Serialize;

use crate::error::{A2aError, Cause};
use crate::operations::{EventStream, Operation, Operations};
use crate::types::{
    CancelTaskRequest, GetTaskRequest, Place, SendMessageRequest, SendResult,
    SubscribeToTaskRequest, Task,
};
use framing::Framing;

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
/// `path` is what is left of the path behind the agent's name: empty or `/` is JSON-RPC, all else
/// HTTP+JSON, with or without a tenant in front and a slash behind.
pub async fn serve<O: Operations>(
    operations: Arc<O>,
    context: O::Context,
    path: &str,
    request: Request<Bytes>,
) -> Response<Body> {
    if path.trim_matches('/').is_empty() {
        if request.method() != http::Method::POST {
            return framing::not_allowed(&Framing::json_rpc(None), "POST");
        }
        let (framing, call) = json_rpc::read(&request);
        return carry_out(operations, context, call, last_event(request.headers()), framing).await;
    }
    match rest::route(path, request.method()) {
        rest::Routed::To(operation, place) => {
            let call = rest::read(operation, place, &request);
            let last_event = last_event(request.headers());
            carry_out(operations, context, call, last_event, Framing::Rest).await
        }
        rest::Routed::NotAllowed { allowed } => framing::not_allowed(&Framing::Rest, allowed),
        rest::Routed::Unknown => Framing::Rest.failure(&A2aError::new(Cause::MethodNotFound)),
    }
}

/// An operation with its parameters.
#[derive(Debug, PartialEq, Eq)]
enum Call {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendMessageRequest),
    GetTask(GetTaskRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
}

impl Call {
    /// Reads the parameters of `operation`, to which a path may add.
    fn read(operation: Operation, text: &str, place: Place) -> Result<Self, A2aError> {
        match operation {
            Operation::SendMessage => SendMessageRequest::read(text, place).map(Self::SendMessage),
            Operation::SendStreamingMessage => {
                SendMessageRequest::read(text, place).map(Self::SendStreamingMessage)
            }
            Operation::GetTask => GetTaskRequest::read(text, place).map(Self::GetTask),
            Operation::CancelTask => CancelTaskRequest::read(text, place).map(Self::CancelTask),
            Operation::SubscribeToTask => {
                SubscribeToTaskRequest::read(text, place).map(Self::SubscribeToTask)
            }
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig => {
                Err(A2aError::new(Cause::PushNotificationNotSupported))
            }
            Operation::ListTasks | Operation::GetExtendedAgentCard => {
                Err(A2aError::new(Cause::UnsupportedOperation))
            }
        }
    }
}

/// The answer of an operation that answers once.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Sent(SendResult),
    Task(Task),
}

/// Does what was asked for, and writes the answer as `framing` has it.
async fn carry_out<O: Operations>(
    operations: Arc<O>,
    context: O::Context,
    call: Result<Call, A2aError>,
    last_event: Option<i64>,
    framing: Framing,
) -> Response<Body> {
    match call {
        Err(error) => framing.failure(&error),
        Ok(Call::SendMessage(request)) => {
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
        Ok(Call::GetTask(request)) => {
            let length = request.history_length;
            let answer = async move {
                let mut task = operations.get_task(&context, request).await?;
                task.limit_history(length);
                Ok(Answer::Task(task))
            };
            patience::answer(answer, framing).await
        }
        Ok(Call::CancelTask(request)) => {
            let answer =
                async move { operations.cancel_task(&context, request).await.map(Answer::Task) };
            patience::answer(answer, framing).await
        }
        Ok(Call::SendStreamingMessage(request)) => {
            let opening = async move {
                operations.send_streaming_message(&context, request, last_event).await
            };
            patience::events(opened(opening), framing).await
        }
        Ok(Call::SubscribeToTask(request)) => {
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
