//! Which type reads which sample.

use std::collections::BTreeMap;

use agent::{Message as LoopMessage, Usage};
use aws_lambda_events::event::sqs::SqsEvent;
use domain::AgentDefinition;
use lambda_http::request::LambdaRequest;
use messages::notifications::WebhookReady;
use messages::publications::PublicationRequested;
use messages::runs::RunReady;
use messages::sandboxes::SandboxCommand;
use messages::{Message, Queue};
use published::Descriptor;
use run_orchestrator::note::{Note, Noted};
use sandbox_protocol::bootstrap::{Announcement, Payload, RunEnvelope, RunPayload};
use sandbox_protocol::error::ErrorBody;
use sandbox_protocol::{compat, exec, files, health, lease, search};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::conversation::Envelope;
use store::events;

use webhook::Record;

use super::samples;

/// Fails when a sample is not what it should be.
type Reader = fn(&str);

/// By the beginning of a sample's name; the first that fits reads it.
pub(super) const READERS: &[(&str, Reader)] = &[
    ("a2a-ingress/", request),
    ("artifact-publisher/", queue_event::<PublicationRequested>),
    ("push-notifier/", queue_event::<WebhookReady>),
    ("run-orchestrator/", queue_event::<RunReady>),
    ("sandbox-controller/", queue_event::<SandboxCommand>),
    ("sweeper/", schedule),
    ("store/agent", whole::<AgentDefinition>),
    ("store/descriptor", whole::<Descriptor>),
    ("store/envelope", envelope),
    ("store/event-", event),
    ("store/message-", loop_message),
    ("store/note-", note),
    ("store/webhook", webhook),
    ("store/usage", whole::<Usage>),
    ("http/a2a-http-json-error", whole::<HttpJsonError>),
    ("http/a2a-json-rpc-error", whole::<JsonRpcError>),
    ("http/announcement", whole::<Announcement>),
    ("http/compat-download-reply", whole::<compat::DownloadReply>),
    ("http/compat-download-request", whole::<compat::DownloadRequest>),
    ("http/compat-execute-reply", whole::<compat::ExecuteReply>),
    ("http/compat-execute-request", whole::<compat::ExecuteRequest>),
    ("http/compat-upload-reply", whole::<compat::UploadReply>),
    ("http/compat-upload-request", whole::<compat::UploadRequest>),
    ("http/exec-exited-reply", whole::<exec::ExecStatus>),
    ("http/exec-kill-request", whole::<exec::KillExec>),
    ("http/exec-list-reply", whole::<exec::ExecList>),
    ("http/exec-running-reply", whole::<exec::ExecStatus>),
    ("http/exec-start-", whole::<exec::StartExec>),
    ("http/exec-timed-out-reply", whole::<exec::ExecStatus>),
    ("http/fenced-error", whole::<ErrorBody>),
    ("http/fs-delete-reply", whole::<files::DeleteReply>),
    ("http/fs-delete-request", whole::<files::DeleteRequest>),
    ("http/fs-edit-already-done-reply", whole::<files::EditReply>),
    ("http/fs-edit-edited-reply", whole::<files::EditReply>),
    ("http/fs-edit-not-found-reply", whole::<files::EditReply>),
    ("http/fs-edit-not-text-reply", whole::<files::EditReply>),
    ("http/fs-edit-not-unique-reply", whole::<files::EditReply>),
    ("http/fs-edit-request", whole::<files::EditRequest>),
    ("http/fs-edit-stale-reply", whole::<files::EditReply>),
    ("http/fs-glob-reply", whole::<search::GlobReply>),
    ("http/fs-glob-request", whole::<search::GlobRequest>),
    ("http/fs-grep-reply", whole::<search::GrepReply>),
    ("http/fs-grep-request", whole::<search::GrepRequest>),
    ("http/fs-ls-reply", whole::<files::LsReply>),
    ("http/fs-ls-request", whole::<files::LsRequest>),
    ("http/fs-mkdir-reply", whole::<files::MkdirReply>),
    ("http/fs-mkdir-request", whole::<files::MkdirRequest>),
    ("http/fs-read-reply", whole::<files::ReadReply>),
    ("http/fs-read-request", whole::<files::ReadRequest>),
    ("http/fs-stat-reply", whole::<files::StatReply>),
    ("http/fs-stat-request", whole::<files::StatRequest>),
    ("http/fs-write-reply", whole::<files::WriteReply>),
    ("http/fs-write-request", whole::<files::WriteRequest>),
    ("http/health", whole::<health::Health>),
    ("http/lease-reply", whole::<lease::LeaseReply>),
    ("http/lease-request", whole::<lease::LeaseRequest>),
    ("http/read-bounded-error", whole::<ErrorBody>),
    ("http/read-bounded-request", whole::<files::BoundedRead>),
    ("http/run-hook", run_hook),
    ("http/run-payload", run_payload),
];

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("the sample is JSON")
}

/// Reads a sample whose every field the type knows and gives back as it was.
fn same<T: DeserializeOwned + Serialize>(text: &str) -> T {
    let read: T = serde_json::from_str(text).expect("the type reads the sample");
    assert_eq!(serde_json::to_value(&read).unwrap(), value(text), "what the type prints");
    read
}

fn whole<T: DeserializeOwned + Serialize>(text: &str) {
    same::<T>(text);
}

fn event(text: &str) {
    assert_eq!(same::<events::Payload>(text).v, events::VERSION);
}

fn envelope(text: &str) {
    assert_eq!(same::<Envelope>(text).v, Envelope::VERSION);
}

fn note(text: &str) {
    assert_eq!(same::<Noted>(text).v, Note::VERSION);
}

fn webhook(text: &str) {
    assert_eq!(same::<Record>(text).v, Record::VERSION);
}

fn loop_message(text: &str) {
    let message = LoopMessage::from_json(text).expect("the type reads the sample");
    assert_eq!(value(&message.to_json()), value(text), "what the type prints");
    assert_eq!(value(text)["v"], 1);
}

fn run_payload(text: &str) {
    assert_eq!(same::<RunPayload>(text).v, 1);
}

/// AWS carries the payload as text inside the hook's body.
fn run_hook(text: &str) {
    let hook: RunEnvelope = same(text);
    let Some(Payload::Text(payload)) = hook.run_hook_payload else { panic!("no text: {hook:?}") };
    run_payload(&payload);
    let alone = samples("http/run-payload.json").remove(0);
    assert_eq!(value(&payload), value(&alone.text), "the payload is the one of its own sample");
}

/// An event of AWS prints more than was sent, but nothing else.
fn within<T: Serialize>(read: &T, text: &str) {
    let printed = serde_json::to_value(read).unwrap();
    let lost = lost(&value(text), &printed, "");
    assert_eq!(lost, Vec::<String>::new(), "what the type does not give back");
}

/// Where `printed` is other than `sent`. What was sent as null or empty need not come back.
fn lost(sent: &Value, printed: &Value, at: &str) -> Vec<String> {
    match (sent, printed) {
        (Value::Object(sent), Value::Object(printed)) => {
            let fields = sent.iter().map(|(key, value)| {
                // Header names come back in lower case.
                let found = printed.get(key).or_else(|| printed.get(&key.to_lowercase()));
                lost(value, found.unwrap_or(&Value::Null), &format!("{at}/{key}"))
            });
            fields.flatten().collect()
        }
        (Value::Array(sent), Value::Array(printed)) if sent.len() == printed.len() => {
            let items = sent.iter().zip(printed).enumerate();
            items
                .flat_map(|(i, (sent, printed))| lost(sent, printed, &format!("{at}/{i}")))
                .collect()
        }
        (Value::Null, printed) if *printed == Value::Object(serde_json::Map::new()) => Vec::new(),
        _ if sent == printed => Vec::new(),
        _ => vec![at.to_owned()],
    }
}

/// The messages of an event of SQS.
pub(super) fn bodies<M: Message>(text: &str) -> Vec<M> {
    let event: SqsEvent = serde_json::from_str(text).expect("an event of SQS");
    let bodies = event.records.iter().map(|record| record.body.as_deref().expect("a body"));
    bodies.map(|body| M::parse(body).expect("the queue's message")).collect()
}

fn queue_event<M: Message>(text: &str) {
    let event: SqsEvent = serde_json::from_str(text).expect("an event of SQS");
    within(&event, text);
    let messages = bodies::<M>(text);
    assert!(!messages.is_empty());
    for (record, message) in event.records.iter().zip(messages) {
        let body = record.body.as_deref().unwrap();
        assert_eq!(message.body(), body, "the body as the sender writes it");
        assert_eq!(value(body)["v"], M::VERSION);
        let queue = record.event_source_arn.as_deref().and_then(|arn| arn.rsplit_once('-'));
        assert_eq!(queue.map(|(_, name)| name.parse::<Queue>()), Some(Ok(M::QUEUE)));
    }
}

/// A REST API's event, or a function URL's.
fn request(text: &str) {
    let event: LambdaRequest = serde_json::from_str(text).expect("an event of an HTTP API");
    match &event {
        LambdaRequest::ApiGatewayV1(event) => within(event, text),
        LambdaRequest::ApiGatewayV2(event) => within(event, text),
        other => panic!("another kind of event: {other:?}"),
    }
}

/// The sweeper does not look into its event; this is what a schedule sends.
fn schedule(text: &str) {
    let event = value(text);
    assert_eq!(
        (&event["source"], &event["detail-type"]),
        (&"aws.events".into(), &"Scheduled Event".into())
    );
}

/// An error as a client of the JSON-RPC binding reads it. That the ingress writes it so is held by
/// [`crate::invoke`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRpcError {
    jsonrpc: String,
    id: Value,
    error: JsonRpcErrorObject,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRpcErrorObject {
    code: i32,
    message: String,
    data: Vec<ErrorInfo>,
}

/// The same of the HTTP+JSON binding.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpJsonError {
    error: RpcStatus,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RpcStatus {
    code: u16,
    status: String,
    message: String,
    details: Vec<ErrorInfo>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorInfo {
    #[serde(rename = "@type")]
    kind: String,
    reason: String,
    domain: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}
