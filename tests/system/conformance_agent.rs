//! The conformance agent plays every behaviour of a2a-protocol.md §2.1 and §2.2, over both bindings,
//! waiting for the answer and streaming it.

mod client;

use std::time::Duration;

use cognition_local::conformance::{self, Profile};
use cognition_local::{Options, System};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::sandboxd;
use tokio::time::{Instant, timeout};

use client::{Binding, Client};

/// The longest behaviour takes five seconds; a busy machine takes its time with the rest.
const PATIENCE: Duration = Duration::from_secs(90);

/// A system that serves the conformance agent, and where it lives.
struct Stage {
    system: System,
    _home: TempDir,
}

async fn stage(profile: Profile) -> Stage {
    let home = TempDir::with_prefix("cognition-conformance-").unwrap();
    let options = Options {
        data: home.path().to_owned(),
        port: 0,
        sandboxd: Some(sandboxd()),
        sweep_every: Duration::from_millis(200),
        ..Options::default()
    };
    let options = conformance::options(options, profile).unwrap();
    Stage { system: System::start(&options).await.unwrap(), _home: home }
}

impl Stage {
    fn client(&self, binding: Binding) -> Client {
        Client::new(self.system.url(), binding)
    }
}

/// What a message makes of its task.
#[derive(Debug, Clone)]
struct Expected {
    state: &'static str,
    /// The text of the status message, where there must be one.
    says: Option<&'static str>,
    /// The Parts of the one artifact, if there is one.
    parts: Value,
    /// How long it takes at least.
    takes: Duration,
}

fn ends(state: &'static str) -> Expected {
    Expected { state, says: None, parts: Value::Null, takes: Duration::ZERO }
}

impl Expected {
    fn saying(self, says: &'static str) -> Self {
        Self { says: Some(says), ..self }
    }

    fn after(self, seconds: u64) -> Self {
        Self { takes: Duration::from_secs(seconds), ..self }
    }
}

fn completed() -> Expected {
    ends("TASK_STATE_COMPLETED")
}

fn with(part: &Value) -> Expected {
    Expected { parts: json!([part]), ..completed() }
}

fn text(text: &str) -> Expected {
    with(&json!({ "text": text }))
}

fn file() -> Expected {
    with(&json!({"raw": "dGNr", "filename": "output.txt", "mediaType": "text/plain"}))
}

fn link() -> Expected {
    let url = "https://example.com/output.txt";
    with(&json!({"url": url, "filename": "output.txt", "mediaType": "text/plain"}))
}

fn data() -> Expected {
    with(&json!({"data": {"key": "value", "count": 42}, "mediaType": "application/json"}))
}

/// §2.1: by the beginning of `messageId`. Direct messages have a test of their own.
fn by_id() -> Vec<(&'static str, Expected)> {
    vec![
        ("tck-complete-task", completed().saying("Hello from TCK")),
        ("tck-artifact-text", text("Generated text content")),
        ("tck-artifact-file", file()),
        ("tck-artifact-file-url", link()),
        ("tck-artifact-data", data()),
        ("tck-input-required", ends("TASK_STATE_INPUT_REQUIRED").saying("")),
        ("tck-auth-required", ends("TASK_STATE_AUTH_REQUIRED").saying("")),
        ("tck-reject-task", ends("TASK_STATE_REJECTED").saying("")),
        ("tck-delayed-complete", completed().saying("Done after delay").after(2)),
        ("tck-stream-001", text("Stream hello from TCK")),
        ("tck-stream-002", completed()),
        ("tck-stream-003", text("Stream task lifecycle")),
        ("tck-stream-ordering-001", text("Ordered output")),
        ("tck-stream-artifact-text", text("Streamed text content")),
        ("tck-stream-artifact-file", file()),
        ("tck-stream-artifact-chunked", text("chunk-1 chunk-2")),
        ("test-resubscribe-message-id", completed().after(4)),
        ("anything-else", completed()),
    ]
}

/// §2.2: by the beginning of the first text Part. `tck-cancel` has a test of its own.
fn by_text() -> Vec<(&'static str, Expected)> {
    vec![
        ("tck-complete-task", completed().saying("Hello from TCK")),
        ("tck-input-required", ends("TASK_STATE_INPUT_REQUIRED").saying("")),
        ("tck-reject-task", ends("TASK_STATE_REJECTED").saying("")),
        ("tck-artifact-text", text("Generated text content")),
        ("tck-artifact-file", file()),
        ("tck-artifact-file-url", link()),
        ("tck-artifact-data", data()),
        ("tck-long-running", completed().after(5)),
        ("tck-multi-turn", ends("TASK_STATE_INPUT_REQUIRED").saying("")),
        ("tck-stream-basic", text("Streamed text content")),
        ("tck-stream-chunked", text("chunk-1 chunk-2")),
        ("tck-task-failure", ends("TASK_STATE_FAILED").saying("")),
        ("tck-auth-required", ends("TASK_STATE_AUTH_REQUIRED").saying("")),
    ]
}

fn message(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

fn messages() -> Vec<(Value, Expected)> {
    let by_id = by_id().into_iter().map(|(id, end)| (message(&format!("{id}-7"), "Hello"), end));
    let by_text = by_text();
    let by_text =
        by_text.into_iter().map(|(start, end)| (message("m", &format!("{start}: go")), end));
    by_id.chain(by_text).collect()
}

fn check(task: &Value, expected: &Expected, context: &str) {
    let status = &task["status"];
    assert_eq!(status["state"], expected.state, "{context}: {task}");
    if let Some(says) = expected.says {
        let said = status["message"]["parts"][0]["text"].as_str().unwrap_or_default();
        assert!(!said.is_empty() && said.contains(says), "{context}: {status}");
        assert_eq!(status["message"]["role"], "ROLE_AGENT", "{context}");
    }
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    let parts: Vec<Value> = artifacts.iter().map(|artifact| plain(&artifact["parts"])).collect();
    let wanted: Vec<Value> =
        Some(&expected.parts).filter(|p| !p.is_null()).cloned().into_iter().collect();
    assert_eq!(parts, wanted, "{context}");
}

/// Parts without what we say of published files.
fn plain(parts: &Value) -> Value {
    let mut parts = parts.clone();
    for part in parts.as_array_mut().into_iter().flatten() {
        part.as_object_mut().unwrap().remove("metadata");
    }
    parts
}

/// What a stream's reader holds that does what each update says: the task at its end.
fn told(events: &[Value], context: &str) -> Value {
    let mut task = events[0]["task"].clone();
    assert!(task.is_object(), "{context}: {events:?}");
    assert!(task["artifacts"].is_null(), "{context}: nothing has happened yet: {task}");
    let mut artifacts: Vec<Value> = Vec::new();
    for event in &events[1..] {
        if let Some(status) = event["statusUpdate"].as_object() {
            task["status"] = status["status"].clone();
            continue;
        }
        let update = &event["artifactUpdate"];
        assert!(update.is_object(), "{context}: {event}");
        let mut artifact = update["artifact"].clone();
        let id = &artifact["artifactId"];
        let held = artifacts.iter_mut().find(|held| held["artifactId"] == *id);
        match held {
            Some(held) if update["append"] == true => append(held, &mut artifact),
            Some(held) => *held = artifact,
            None => artifacts.push(artifact),
        }
    }
    if !artifacts.is_empty() {
        task["artifacts"] = artifacts.into();
    }
    task
}

fn append(held: &mut Value, more: &mut Value) {
    let more = std::mem::take(more["parts"].as_array_mut().unwrap());
    for part in more {
        let parts = held["parts"].as_array_mut().unwrap();
        match (parts.last_mut().and_then(|last| last.get_mut("text")), part["text"].as_str()) {
            (Some(last), Some(text)) => *last = format!("{}{text}", last.as_str().unwrap()).into(),
            _ => parts.push(part),
        }
    }
}

#[tokio::test]
async fn every_behaviour_is_there_for_who_waits_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    let plays = messages().into_iter().flat_map(|(message, expected)| {
        Binding::ALL.map(|binding| {
            let (client, message, expected) =
                (stage.client(binding), message.clone(), expected.clone());
            async move {
                let context = format!("{binding:?} {message}");
                let began = Instant::now();
                let sent = client.send(&message).await.unwrap();
                assert!(sent["message"].is_null(), "{context}: {sent}");
                check(&sent["task"], &expected, &context);
                assert!(began.elapsed() >= expected.takes, "{context}");
                let task = client.task(sent["task"]["id"].as_str().unwrap()).await.unwrap();
                check(&task, &expected, &context);
                assert_eq!(task["history"][0]["messageId"], message["messageId"], "{context}");
            }
        })
    });
    timeout(PATIENCE, join_all(plays)).await.expect("all behaviours come to their ends");
    stage.system.stop().await;
}

#[tokio::test]
async fn every_behaviour_is_there_for_who_streams_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    let plays = messages().into_iter().flat_map(|(message, expected)| {
        Binding::ALL.map(|binding| {
            let (client, message, expected) =
                (stage.client(binding), message.clone(), expected.clone());
            async move {
                let context = format!("{binding:?} {message}");
                let mut stream = client.stream(&message).await;
                let events = stream.until(expected.state).await;
                let states: Vec<_> = events
                    .iter()
                    .filter_map(|event| event["statusUpdate"]["status"]["state"].as_str())
                    .collect();
                assert_eq!(states, ["TASK_STATE_WORKING", expected.state], "{context}");
                assert_eq!(
                    events[0]["task"]["status"]["state"], "TASK_STATE_SUBMITTED",
                    "{context}"
                );
                let task = told(&events, &context);
                check(&task, &expected, &context);
                let now = client.task(task["id"].as_str().unwrap()).await.unwrap();
                assert_eq!(task["artifacts"], now["artifacts"], "{context}: as GetTask shows it");
                assert_eq!(task["status"], now["status"], "{context}: as GetTask shows it");
            }
        })
    });
    timeout(PATIENCE, join_all(plays)).await.expect("all behaviours come to their ends");
    stage.system.stop().await;
}

/// O1, S2: exactly one message, and no task.
#[tokio::test]
async fn a_direct_message_is_all_there_is_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    for binding in Binding::ALL {
        let client = stage.client(binding);
        for message in
            [message("tck-message-response-1", "x"), message("m", "tck-message-response")]
        {
            let sent = client.send(&message).await.unwrap();
            assert!(sent["task"].is_null(), "{binding:?}: {sent}");
            let streamed = client.stream(&message).await.rest().await;
            let [event] = streamed.as_slice() else { panic!("{binding:?}: {streamed:?}") };
            for says in [&sent["message"], &event["message"]] {
                assert_eq!(says["parts"], json!([{"text": "Direct message response"}]));
                assert_eq!(says["role"], "ROLE_AGENT");
            }
        }
    }
    stage.system.stop().await;
}

/// O5, §2.1: a later message to a task that waits decides by its own beginning.
#[tokio::test]
async fn a_task_that_waits_goes_on_as_its_next_message_says_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    for binding in Binding::ALL {
        let client = stage.client(binding);
        for (first, state) in [
            (message("tck-input-required-1", "Hello"), "TASK_STATE_INPUT_REQUIRED"),
            (message("tck-auth-required-1", "Hello"), "TASK_STATE_AUTH_REQUIRED"),
            (message("m", "tck-multi-turn"), "TASK_STATE_INPUT_REQUIRED"),
        ] {
            let task = client.send(&first).await.unwrap()["task"].clone();
            check(&task, &ends(state).saying(""), &first.to_string());
            let mut more = message("tck-artifact-text-2", "Hello again");
            more["taskId"] = task["id"].clone();
            let done = client.send(&more).await.unwrap()["task"].clone();
            assert_eq!((&done["id"], &done["contextId"]), (&task["id"], &task["contextId"]));
            check(&done, &text("Generated text content"), &first.to_string());
            let said: Vec<_> =
                done["history"].as_array().unwrap().iter().map(|m| &m["messageId"]).collect();
            assert_eq!(said, [&first["messageId"], &more["messageId"]], "both, in their order");
            let late = client.send(&more).await.unwrap_err();
            assert!(late.to_string().contains("UNSUPPORTED_OPERATION"), "{late}");
        }
        // It asks once, even if it is asked for the same again.
        let task = client.send(&message("m", "tck-multi-turn")).await.unwrap()["task"].clone();
        let mut more = message("m", "tck-multi-turn: the second turn");
        more["taskId"] = task["id"].clone();
        let done = client.send(&more).await.unwrap()["task"].clone();
        check(&done, &completed(), "the second turn");
    }
    stage.system.stop().await;
}

/// O9, §2.2: it works until it is cancelled.
#[tokio::test]
async fn a_task_that_works_on_ends_when_it_is_cancelled_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    for binding in Binding::ALL {
        let client = stage.client(binding);
        let mut stream = client.stream(&message("m", "tck-cancel")).await;
        let begun = stream.until("TASK_STATE_WORKING").await;
        let id = begun[0]["task"]["id"].as_str().unwrap();
        let canceled = client.cancel(id).await.unwrap();
        assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
        let last = stream.rest().await.pop().unwrap();
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    }
    stage.system.stop().await;
}

/// O6: the policy is `enforce`.
#[tokio::test]
async fn a_part_of_an_undeclared_type_is_refused_over_both_bindings() {
    let stage = stage(Profile::Full).await;
    for binding in Binding::ALL {
        let client = stage.client(binding);
        let part = json!({"raw": "AAAA", "mediaType": "application/x-unsupported"});
        let refused = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
        let error = client.send(&refused).await.unwrap_err();
        assert!(error.to_string().contains("CONTENT_TYPE_NOT_SUPPORTED"), "{error}");
        let part = json!({"raw": "AAAA", "mediaType": "image/png"});
        let taken = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
        check(&client.send(&taken).await.unwrap()["task"], &completed(), "image/png");
    }
    stage.system.stop().await;
}

/// D1, D2: the origin shows the card of this agent, with what its profile offers.
#[tokio::test]
async fn each_profile_has_its_card_at_the_origin() {
    for profile in [Profile::Full, Profile::Minimal, Profile::RequiredExtension] {
        let stage = stage(profile).await;
        let client = stage.client(Binding::JsonRpc);
        let card = client.get(&format!("{}/.well-known/agent-card.json", stage.system.url())).await;
        let agent = format!("{}/a2a/conformance", stage.system.url());
        let interfaces = card["supportedInterfaces"].as_array().unwrap();
        assert!(interfaces.iter().any(|interface| interface["url"] == agent), "{card}");
        assert_eq!(
            card["defaultInputModes"],
            json!(["text/plain", "application/json", "image/png"])
        );
        assert_eq!(card["defaultOutputModes"], json!(["text/plain", "application/json"]));
        let capabilities = &card["capabilities"];
        let offers = profile != Profile::Minimal;
        for option in ["streaming", "pushNotifications", "extendedAgentCard"] {
            let offered = capabilities[option].as_bool().unwrap_or(false);
            assert_eq!(offered, offers, "{profile:?} {option}: {card}");
        }
        if profile == Profile::RequiredExtension {
            let extension = &capabilities["extensions"][0];
            assert_eq!(extension["uri"], conformance::REQUIRED_EXTENSION);
            assert_eq!(extension["required"], true);
        }
        stage.system.stop().await;
    }
}
