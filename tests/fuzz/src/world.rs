//! A service without a database, and how it is asked.

use std::sync::Arc;

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
use http::{Request, Response};
use serde_json::Value;
use serde_json::value::RawValue;

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
struct Echo;

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
        Ok(SendResult::Task(task("t", vec![admitted(&request)?])))
    }

    async fn send_streaming_message(
        &self,
        (): &(),
        request: SendMessageRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
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
        known(&request.id, request.tenant.as_ref())?;
        Ok(task(&request.id, vec![turn("1"), turn("2"), turn("3")]))
    }

    async fn list_tasks(
        &self,
        (): &(),
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
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
        known(&request.id, request.tenant.as_ref())?;
        Ok(task(&request.id, Vec::new()))
    }

    async fn subscribe_to_task(
        &self,
        (): &(),
        request: SubscribeToTaskRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
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
        known(config.task_id.as_deref().unwrap_or_default(), config.tenant.as_ref())?;
        assert!(!config.url.is_empty());
        Ok(config.redacted())
    }

    async fn get_push_config(
        &self,
        (): &(),
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
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
        known(&request.task_id, request.tenant.as_ref())?;
        assert!(request.page_size.is_none_or(|size| (1..=100).contains(&size)));
        Ok(ListPushConfigsResponse::default())
    }

    async fn delete_push_config(
        &self,
        (): &(),
        request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        known(&request.task_id, request.tenant.as_ref())
    }

    async fn get_extended_agent_card(
        &self,
        (): &(),
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        known("t", request.tenant.as_ref())?;
        let definition = r#"{"name":"a","model":{"provider":"demo"}}"#;
        let definition: AgentDefinition = serde_json::from_str(definition).unwrap();
        let security = Security::default();
        let url = "https://example.com/a2a/a";
        let subject = Subject { definition: &definition, url, version: "1", security: &security };
        Ok(card::public(&subject))
    }
}

/// Asks the service, and checks that the answer is one of the protocol's.
pub(crate) fn ask(path: &str, request: Request<Bytes>) -> Answer {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    }
    let profile = Profile {
        streaming: true,
        push_notifications: true,
        extended_agent_card: true,
        tenants: vec![TENANT.to_owned()],
        extensions: Vec::new(),
    };
    let json_rpc = path.trim_matches('/').is_empty();
    let (response, body) = RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let response = a2a::serve(Arc::new(Echo), (), &profile, path, request).await;
            let (head, body) = response.into_parts();
            let bytes = match body {
                Body::Full(bytes) => bytes.to_vec(),
                Body::Stream(chunks) => chunks.collect::<Vec<_>>().await.concat(),
            };
            (Response::from_parts(head, ()), bytes)
        })
    });
    let body = String::from_utf8(body).expect("answers are UTF-8");
    Answer::read(&response, body, json_rpc)
}

/// What came back, checked.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The id of JSON-RPC, as text.
    pub(crate) id: Option<String>,
    /// The outcomes, in order: of a stream several, else one.
    pub(crate) outcomes: Vec<Outcome>,
}

/// A result as JSON text, or an error's reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Result(String),
    Refused(String),
}

impl Answer {
    fn read(response: &Response<()>, body: String, json_rpc: bool) -> Self {
        let status = response.status().as_u16();
        let content_type = response.headers()["content-type"].to_str().unwrap();
        let texts = match content_type {
            "text/event-stream" => crate::sse::read(&body).into_iter().map(|e| e.data).collect(),
            "application/json" if json_rpc => vec![body],
            "application/a2a+json" if !json_rpc => vec![body],
            other => panic!("{other} is not of this binding"),
        };
        if json_rpc {
            let read: Vec<_> = texts.iter().map(|text| envelope(text)).collect();
            assert!(status == 200 || status == 405, "JSON-RPC answers with 200");
            let id = read.first().map(|(id, _)| id.clone());
            assert!(read.iter().all(|(other, _)| Some(other) == id.as_ref()));
            return Self { status, id, outcomes: read.into_iter().map(|(_, o)| o).collect() };
        }
        let outcomes: Vec<_> = texts.iter().map(|text| bare(text)).collect();
        if let [Outcome::Refused(_)] = outcomes.as_slice() {
            let error: Value = serde_json::from_str(&texts[0]).unwrap();
            assert_eq!(error["error"]["code"], status, "status and body agree");
            assert!(status >= 400);
        } else {
            assert_eq!(status, 200);
        }
        if status == 405 {
            assert!(response.headers().contains_key("allow"));
        }
        Self { status, id: None, outcomes }
    }
}

/// Reads a JSON-RPC response: exactly one of result and error.
fn envelope(text: &str) -> (String, Outcome) {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Envelope<'a> {
        jsonrpc: &'a str,
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(default)]
        error: Option<Value>,
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).expect("a JSON-RPC response");
    assert_eq!(envelope.jsonrpc, "2.0");
    let outcome = match (envelope.result, envelope.error) {
        (Some(result), None) => Outcome::Result(result.get().to_owned()),
        (None, Some(error)) => {
            let code = error["code"].as_i64().unwrap();
            let reason = refusal(&error, "data");
            let cause = cause(&reason);
            assert_eq!(i64::from(cause.code()), code, "code and reason agree");
            Outcome::Refused(reason)
        }
        _ => panic!("exactly one of result and error: {text}"),
    };
    (envelope.id.get().to_owned(), outcome)
}

/// Reads a body of HTTP+JSON.
fn bare(text: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct MaybeError {
        error: Option<Value>,
    }
    let MaybeError { error } = serde_json::from_str(text).expect("answers are JSON objects");
    match error {
        Some(error) => {
            let reason = refusal(&error, "details");
            assert_eq!(error["status"], cause(&reason).grpc_name());
            assert_eq!(error["code"], cause(&reason).http_status().as_u16());
            Outcome::Refused(reason)
        }
        None => Outcome::Result(text.to_owned()),
    }
}

/// The reason in an error's details, all of which say what they are.
fn refusal(error: &Value, details: &str) -> String {
    let details = error[details].as_array().expect("details are a list");
    assert!(details.iter().all(|detail| detail["@type"].is_string()));
    assert_eq!(details[0]["domain"], a2a::error::DOMAIN);
    let reason = details[0]["reason"].as_str().unwrap().to_owned();
    assert_ne!(cause(&reason), a2a::Cause::Internal, "nobody can make us fail");
    assert!(error["message"].as_str().is_some_and(|message| message.len() < 1000));
    reason
}

fn cause(reason: &str) -> a2a::Cause {
    let found = a2a::Cause::ALL.into_iter().find(|cause| cause.reason() == reason);
    found.expect("every reason is of the table")
}
