//! A service without a database, and how it is asked.

use std::sync::{Arc, Mutex};

use a2a::card::{self, AgentCard, Security, Subject};
use a2a::inbound::{self, Limits};
use a2a::types::{
    CancelTaskRequest, Content, GetExtendedAgentCardRequest, GetTaskRequest,
    ListPushConfigsRequest, ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, Message,
    Part, PushConfigRequest, Role, SendMessageRequest, SendResult, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, TaskStatus,
};
use a2a::{A2aError, Body, EventStream, Operations, Profile, StreamEvent};
use async_trait::async_trait;
use bytes::Bytes;
use domain::AgentDefinition;
use domain::agent_definition::A2aSettings;
use futures_util::StreamExt as _;
use http::{HeaderMap, Request, Response};
use serde::Serialize;
use serde_json::Value;

use crate::answer::Answer;

/// Low, so that short inputs reach them.
pub(crate) const LIMITS: Limits = Limits {
    max_parts: 4,
    max_message_bytes: 64,
    max_text_part_bytes: 32,
    max_data_part_bytes: 32,
    max_raw_part_bytes: 16,
};

/// The tenant that requests may name.
const TENANT: &str = "acme";

/// Answers from the request alone, so that equal requests have equal answers. Panics where the
/// protocol layer lets something through that it promises not to.
#[derive(Default)]
struct Echo {
    calls: Mutex<Vec<Call>>,
}

/// What reached the service: the operation, and its request in the JSON of 1.0.
pub(crate) type Call = (&'static str, String);

impl Echo {
    fn note(&self, operation: &'static str, request: &impl Serialize) {
        let request = serde_json::to_string(request).unwrap();
        self.calls.lock().unwrap().push((operation, request));
    }
}

fn task(id: &str, history: Vec<Message>) -> Task {
    Task {
        id: id.to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus { state: TaskState::Working, message: None, timestamp: None },
        artifacts: Vec::new(),
        history,
        metadata: None,
    }
}

fn turn(text: &str) -> Message {
    Message {
        message_id: text.to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts: vec![Part::text(text)],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
}

/// Some tasks are not there, and a tenant that came through is ours.
fn known(id: &str, tenant: Option<&String>) -> Result<(), A2aError> {
    assert!(tenant.is_none_or(|tenant| tenant == TENANT), "an unknown tenant came through");
    assert!(!id.is_empty(), "a task without an id came through");
    if id.starts_with("gone") { Err(A2aError::task_not_found()) } else { Ok(()) }
}

fn admitted(request: &SendMessageRequest) -> Result<Message, A2aError> {
    known("t", request.tenant.as_ref())?;
    let admitted = inbound::admit(&request.message, &LIMITS, &A2aSettings::default())?;
    below_the_limits(&request.message);
    assert_eq!(admitted.parts().len(), request.message.parts.len());
    Ok(request.message.clone())
}

/// Nothing above the limits is let in, and nothing that cannot be stored.
pub(crate) fn below_the_limits(message: &Message) {
    assert!((1..=LIMITS.max_parts).contains(&message.parts.len()));
    assert!((1..=inbound::MAX_ID_BYTES).contains(&message.message_id.len()));
    let mut total = 0;
    for part in &message.parts {
        let (length, limit) = match &part.content {
            Content::Text(text) => (text.len(), LIMITS.max_text_part_bytes),
            Content::Raw(raw) => (raw.decode().len(), LIMITS.max_raw_part_bytes),
            Content::Data(json) => (json.as_str().len(), LIMITS.max_data_part_bytes),
            Content::Url(url) => (url.len(), LIMITS.max_message_bytes),
        };
        assert!(length <= limit, "{length} bytes where {limit} are allowed");
        total += length + part.metadata.as_ref().map_or(0, |json| json.as_str().len());
        if let Content::Text(text) | Content::Url(text) = &part.content {
            assert!(!text.contains('\0'));
        }
        if let Content::Data(json) = &part.content {
            serde_json::from_str::<Value>(json.as_str()).expect("what is let in can be read");
        }
    }
    assert!(total <= LIMITS.max_message_bytes, "{total} bytes in all");
}

#[async_trait]
impl Operations for Echo {
    type Context = ();

    async fn send_message(
        &self,
        (): &(),
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError> {
        self.note("SendMessage", &request);
        Ok(SendResult::Task(task("t", vec![admitted(&request)?])))
    }

    async fn send_streaming_message(
        &self,
        (): &(),
        request: SendMessageRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        self.note("SendStreamingMessage", &request);
        let message = admitted(&request)?;
        let events = [
            StreamResponse::Task(task("t", vec![message.clone()])),
            StreamResponse::Message(message),
        ];
        let id = last_event.unwrap_or_default().saturating_add(1);
        let events = events.map(|response| Ok(StreamEvent { id: Some(id), response }));
        Ok(futures_util::stream::iter(events).boxed())
    }

    async fn get_task(&self, (): &(), request: GetTaskRequest) -> Result<Task, A2aError> {
        self.note("GetTask", &request);
        known(&request.id, request.tenant.as_ref())?;
        Ok(task(&request.id, vec![turn("1"), turn("2"), turn("3")]))
    }

    async fn list_tasks(
        &self,
        (): &(),
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        self.note("ListTasks", &request);
        known("t", request.tenant.as_ref())?;
        let page_size = request.page_size.unwrap_or(50);
        assert!((1..=100).contains(&page_size), "a page of {page_size} came through");
        Ok(ListTasksResponse {
            tasks: vec![task(&format!("{:?}", request.status), Vec::new())],
            next_page_token: request.page_token.unwrap_or_default(),
            page_size,
            total_size: u64::from(request.include_artifacts),
        })
    }

    async fn cancel_task(&self, (): &(), request: CancelTaskRequest) -> Result<Task, A2aError> {
        self.note("CancelTask", &request);
        known(&request.id, request.tenant.as_ref())?;
        Ok(task(&request.id, Vec::new()))
    }

    async fn subscribe_to_task(
        &self,
        (): &(),
        request: SubscribeToTaskRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        self.note("SubscribeToTask", &request);
        known(&request.id, request.tenant.as_ref())?;
        let response = StreamResponse::Task(task(&request.id, Vec::new()));
        let event = StreamEvent { id: last_event, response };
        let events = [Ok(event), Err(A2aError::task_not_found())];
        Ok(futures_util::stream::iter(events).boxed())
    }

    async fn create_push_config(
        &self,
        (): &(),
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.note("CreateTaskPushNotificationConfig", &config);
        known(config.task_id.as_deref().unwrap_or_default(), config.tenant.as_ref())?;
        assert!(!config.url.is_empty());
        Ok(config.redacted())
    }

    async fn get_push_config(
        &self,
        (): &(),
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.note("GetTaskPushNotificationConfig", &request);
        known(&request.task_id, request.tenant.as_ref())?;
        Ok(TaskPushNotificationConfig {
            tenant: None,
            id: Some(request.id),
            task_id: Some(request.task_id),
            url: "https://example.com".to_owned(),
            token: None,
            authentication: None,
        })
    }

    async fn list_push_configs(
        &self,
        (): &(),
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        self.note("ListTaskPushNotificationConfigs", &request);
        known(&request.task_id, request.tenant.as_ref())?;
        assert!(request.page_size.is_none_or(|size| (1..=100).contains(&size)));
        Ok(ListPushConfigsResponse::default())
    }

    async fn delete_push_config(
        &self,
        (): &(),
        request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        self.note("DeleteTaskPushNotificationConfig", &request);
        known(&request.task_id, request.tenant.as_ref())
    }

    async fn get_extended_agent_card(
        &self,
        (): &(),
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        self.note("GetExtendedAgentCard", &request);
        known("t", request.tenant.as_ref())?;
        let definition = r#"{"name":"a","model":{"provider":"demo"}}"#;
        let definition: AgentDefinition = serde_json::from_str(definition).unwrap();
        let security = Security::default();
        let url = "https://example.com/a2a/a";
        let subject = Subject { definition: &definition, url, version: "1", security: &security };
        Ok(card::public(&subject))
    }
}

/// What an agent offers that offers everything.
pub(crate) fn everything() -> Profile {
    Profile {
        streaming: true,
        push_notifications: true,
        extended_agent_card: true,
        tenants: vec![TENANT.to_owned()],
        extensions: Vec::new(),
    }
}

/// Asks the service, and checks that the answer is one of the protocol's.
pub(crate) fn ask(path: &str, request: Request<Bytes>) -> Answer {
    asked(&everything(), path, request).answer
}

/// What a request led to.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: Answer,
    pub(crate) headers: HeaderMap,
    pub(crate) calls: Vec<Call>,
}

/// The same, of an agent that offers what the profile says.
pub(crate) fn asked(profile: &Profile, path: &str, request: Request<Bytes>) -> Asked {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    }
    let json_rpc = path.trim_matches('/').is_empty();
    let echo = Arc::new(Echo::default());
    let (response, body) = RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let response = a2a::serve(Arc::clone(&echo), (), profile, path, request).await;
            let (head, body) = response.into_parts();
            let bytes = match body {
                Body::Full(bytes) => bytes.to_vec(),
                Body::Stream(chunks) => chunks.collect::<Vec<_>>().await.concat(),
            };
            (Response::from_parts(head, ()), bytes)
        })
    });
    let body = String::from_utf8(body).expect("answers are UTF-8");
    let answer = Answer::read(&response, body, json_rpc);
    let calls = std::mem::take(&mut *echo.calls.lock().unwrap());
    Asked { answer, headers: response.into_parts().0.headers, calls }
}
