//! One small agent, asked over both bindings.

mod equivalence;
mod json_rpc;
mod rest;
mod streams;
mod v03;
mod versions;

use std::sync::Mutex;

use async_trait::async_trait;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use super::*;
use crate::operations::StreamEvent;
use crate::types::{
    Message, Part, Role, StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

/// An agent that does what its fields say, and writes down what it was asked.
#[derive(Default)]
pub(super) struct Agent {
    /// What each operation fails with.
    fails: Option<A2aError>,
    /// How long an answer takes, or each event.
    takes: Duration,
    events: Mutex<Vec<Result<StreamEvent, A2aError>>>,
    asked: Mutex<Vec<String>>,
}

impl Agent {
    fn failing(error: A2aError) -> Self {
        Self { fails: Some(error), ..Self::default() }
    }

    fn streaming(events: Vec<Result<StreamEvent, A2aError>>) -> Self {
        Self { events: Mutex::new(events), ..Self::default() }
    }

    /// Nobody's task is called `nope`, and the one called `over` is.
    async fn answer(&self, asked: String) -> Result<(), A2aError> {
        let known = match &asked {
            asked if asked.contains(r#""nope""#) => Err(A2aError::task_not_found()),
            asked if !asked.contains(r#""over""#) => Ok(()),
            asked if asked.contains("cancels") => Err(A2aError::new(Cause::TaskNotCancelable)),
            _ => Err(A2aError::new(Cause::UnsupportedOperation)),
        };
        self.asked.lock().unwrap().push(asked);
        known?;
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        self.fails.clone().map_or(Ok(()), Err)
    }

    fn stream(&self) -> EventStream {
        let takes = self.takes;
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        stream::iter(events)
            .then(move |event| async move {
                if !takes.is_zero() {
                    tokio::time::sleep(takes).await;
                }
                event
            })
            .boxed()
    }
}

pub(super) fn task(id: &str) -> Task {
    let said = |text: &str| Message {
        message_id: text.to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts: vec![Part::text(text)],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    Task {
        id: id.to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus { state: TaskState::Working, message: None, timestamp: None },
        artifacts: Vec::new(),
        history: vec![said("one"), said("two")],
        metadata: None,
    }
}

fn push_config(request: &PushConfigRequest) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: None,
        id: Some(request.id.clone()),
        task_id: Some(request.task_id.clone()),
        url: "https://example.com/hook".to_owned(),
        token: None,
        authentication: None,
    }
}

/// An agent that offers everything, to two tenants.
pub(super) fn profile() -> Profile {
    Profile {
        streaming: true,
        push_notifications: true,
        extended_agent_card: true,
        tenants: vec!["acme".to_owned(), "globex".to_owned()],
        extensions: Vec::new(),
    }
}

fn event(id: i64) -> StreamEvent {
    let status = TaskStatus { state: TaskState::Completed, message: None, timestamp: None };
    let update = TaskStatusUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        status,
        metadata: None,
    };
    StreamEvent { id: Some(id), response: StreamResponse::StatusUpdate(update) }
}

#[async_trait]
impl Operations for Agent {
    type Context = &'static str;

    async fn send_message(
        &self,
        context: &&'static str,
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError> {
        self.answer(format!("{context} sends {request:?}")).await?;
        Ok(SendResult::Task(task("t")))
    }

    async fn send_streaming_message(
        &self,
        context: &&'static str,
        request: SendMessageRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        self.answer(format!("{context} streams {request:?} after {last_event:?}")).await?;
        Ok(self.stream())
    }

    async fn list_tasks(
        &self,
        context: &&'static str,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        self.answer(format!("{context} lists {request:?}")).await?;
        Ok(ListTasksResponse {
            tasks: vec![task("t")],
            page_size: 50,
            total_size: 1,
            ..Default::default()
        })
    }

    async fn create_push_config(
        &self,
        context: &&'static str,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.answer(format!("{context} creates {config:?}")).await?;
        Ok(config.redacted())
    }

    async fn get_push_config(
        &self,
        context: &&'static str,
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.answer(format!("{context} wants {request:?}")).await?;
        Ok(push_config(&request))
    }

    async fn list_push_configs(
        &self,
        context: &&'static str,
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        self.answer(format!("{context} lists {request:?}")).await?;
        Ok(ListPushConfigsResponse::default())
    }

    async fn delete_push_config(
        &self,
        context: &&'static str,
        request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        self.answer(format!("{context} deletes {request:?}")).await
    }

    async fn get_extended_agent_card(
        &self,
        context: &&'static str,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        self.answer(format!("{context} wants {request:?}")).await?;
        Err(A2aError::new(Cause::ExtendedAgentCardNotConfigured))
    }

    async fn get_task(
        &self,
        context: &&'static str,
        request: GetTaskRequest,
    ) -> Result<Task, A2aError> {
        self.answer(format!("{context} gets {request:?}")).await?;
        Ok(task(&request.id))
    }

    async fn cancel_task(
        &self,
        context: &&'static str,
        request: CancelTaskRequest,
    ) -> Result<Task, A2aError> {
        self.answer(format!("{context} cancels {request:?}")).await?;
        Ok(task(&request.id))
    }

    async fn subscribe_to_task(
        &self,
        context: &&'static str,
        request: SubscribeToTaskRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        self.answer(format!("{context} subscribes {request:?} after {last_event:?}")).await?;
        Ok(self.stream())
    }
}

/// A response, read to its end.
#[derive(Debug)]
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The JSON-RPC code, or what HTTP+JSON has in its place, and the reason.
    fn error(&self) -> (i64, String) {
        let json = self.json();
        let error = &json["error"];
        let details = if error["data"].is_array() { &error["data"] } else { &error["details"] };
        let reason = details[0]["reason"].as_str().unwrap_or_else(|| panic!("{json}"));
        (error["code"].as_i64().unwrap(), reason.to_owned())
    }

    fn violations(&self) -> Value {
        let json = self.json();
        let error = &json["error"];
        let details = if error["data"].is_array() { &error["data"] } else { &error["details"] };
        details[1]["fieldViolations"].clone()
    }
}

const TEXT_MESSAGE: &str =
    r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}]}}"#;

/// A request of version 1.0 with a JSON body.
fn request(method: Method, uri: &str, body: &str) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(uri)
        .header("A2A-Version", "1.0")
        .header("Content-Type", "application/json")
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap()
}

fn rpc(method: &str, params: &str) -> Request<Bytes> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    request(Method::POST, "/", &body)
}

/// Asks the agent; the path is that of the request.
async fn ask(agent: &Arc<Agent>, request: Request<Bytes>) -> Reply {
    ask_offering(&profile(), agent, request).await
}

/// Asks an agent that offers just this.
async fn ask_offering(profile: &Profile, agent: &Arc<Agent>, request: Request<Bytes>) -> Reply {
    let path = request.uri().path().to_owned();
    let response = serve(Arc::clone(agent), "alice", profile, &path, request).await;
    let (parts, body) = response.into_parts();
    let bytes = match body {
        Body::Full(bytes) => bytes.to_vec(),
        Body::Stream(stream) => stream.collect::<Vec<_>>().await.concat(),
    };
    Reply { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes).unwrap() }
}

fn agent() -> Arc<Agent> {
    Arc::new(Agent::default())
}
