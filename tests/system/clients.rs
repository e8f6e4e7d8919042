//! Clients that others wrote: the A2A SDKs for Python, JavaScript and Rust, and the Python SDK of
//! protocol 0.3, do everything that a client can, over both bindings, against a running system with
//! two ingresses behind one port (issues "from message to deliverable", 2, and "A2A 1.0 in full").
//!
//! What they ask and what they expect is in `tests/clients`, told once in each language.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cognition_local::{System, front};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::support::home::Home;
use crate::support::receiver::{Posted, Receiver};
use crate::support::{PATIENCE, relay};

/// What a story prints of each of its steps, in their order.
const STEPS: [&str; 10] =
    ["card", "send", "send", "stream", "get", "list", "subscribe", "input", "cancel", "push"];
/// The same for protocol 0.3, which has no lists.
const STEPS_03: [&str; 8] =
    ["card", "send", "stream", "get", "subscribe", "input", "cancel", "push"];

const JSON_RPC: &str = "JSONRPC";
const HTTP_JSON: &str = "HTTP+JSON";

#[tokio::test]
async fn the_python_sdk_does_everything_over_json_rpc() {
    tells_its_story(python(), JSON_RPC, &STEPS).await;
}

#[tokio::test]
async fn the_python_sdk_does_everything_over_http_json() {
    tells_its_story(python(), HTTP_JSON, &STEPS).await;
}

#[tokio::test]
async fn the_javascript_sdk_does_everything_over_json_rpc() {
    tells_its_story(javascript(), JSON_RPC, &STEPS).await;
}

#[tokio::test]
async fn the_javascript_sdk_does_everything_over_http_json() {
    tells_its_story(javascript(), HTTP_JSON, &STEPS).await;
}

#[tokio::test]
async fn the_rust_client_does_everything_over_json_rpc() {
    tells_its_story(rust(), JSON_RPC, &STEPS).await;
}

#[tokio::test]
async fn the_rust_client_does_everything_over_http_json() {
    tells_its_story(rust(), HTTP_JSON, &STEPS).await;
}

#[tokio::test]
async fn the_python_sdk_of_protocol_0_3_does_everything_over_json_rpc() {
    let told = tells_its_story(python_03(), JSON_RPC, &STEPS_03).await;
    are_tasks_of_0_3(&told).await;
}

#[tokio::test]
async fn the_python_sdk_of_protocol_0_3_does_everything_over_http_json() {
    let told = tells_its_story(python_03(), HTTP_JSON, &STEPS_03).await;
    are_tasks_of_0_3(&told).await;
}

fn python() -> Command {
    let mut command = Command::new(tool("A2A_PYTHON"));
    command.arg(script("python/story.py"));
    command
}

fn python_03() -> Command {
    let mut command = Command::new(tool("A2A_PYTHON_03"));
    command.arg(script("python03/story.py"));
    command
}

fn javascript() -> Command {
    let mut command = Command::new("node");
    command.arg(script("js/story.mjs")).env("A2A_NODE_MODULES", tool("A2A_NODE_MODULES"));
    command
}

fn rust() -> Command {
    Command::new(tool("A2A_RUST_STORY"))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// A place that `tests/tools.sh` has written down.
fn tool(variable: &str) -> OsString {
    env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run `make tools && . target/tools/env`"))
}

/// Returns what its webhook was told.
async fn tells_its_story(mut client: Command, binding: &str, expected: &[&str]) -> Vec<Posted> {
    let asker = json!({"exposed": true, "client_tools": ["ask_client"]});
    let home = Home::new()
        .with_script("patient", &patient())
        .with_script("bulky", &bulky())
        .with_agent("asker", &asker, &asks_once());
    let system = System::start(&home.options()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let second = format!("http://{}", listener.local_addr().unwrap());
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(front::serve(listener, system.functions().ingress.clone(), stopped));
    let origin = relay::before(vec![system.url().to_owned(), second]).await;
    let webhook = Receiver::start().await;
    client.args([&origin, binding, webhook.url()]).stdin(Stdio::null()).kill_on_drop(true);
    let told = timeout(PATIENCE, client.output()).await.expect("the client ends");
    let told = told.expect("the client starts");
    let text = String::from_utf8_lossy(&told.stdout);
    let complaint = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}{complaint}");
    let steps: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(steps, expected, "{text}{complaint}");
    let told = was_notified(&webhook).await;
    system.stop().await;
    told
}

/// The SDK of 0.3 reads everything that its webhook was told: tasks, of which the last one has ended.
async fn are_tasks_of_0_3(told: &[Posted]) {
    let mut reader = Command::new(tool("A2A_PYTHON_03"));
    reader.arg(script("python03/receiver.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = reader.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut input = reader.stdin.take().unwrap();
    let lines: Vec<String> = told.iter().map(|posted| format!("{}\n", posted.body)).collect();
    let (written, output) = timeout(PATIENCE, async {
        tokio::join!(
            async move { input.write_all(lines.concat().as_bytes()).await },
            reader.wait_with_output()
        )
    })
    .await
    .expect("the reader ends");
    let output = output.unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && written.is_ok(), "{complaint}");
    let states = String::from_utf8_lossy(&output.stdout);
    assert_eq!(states.lines().count(), told.len(), "{states}");
    assert!(states.lines().any(|state| state == "completed"), "{states}");
}

/// What the client registered has been told of the end of its task, with what it was to be told with.
async fn was_notified(webhook: &Receiver) -> Vec<Posted> {
    let is_end = |body: &Value| body.to_string().to_lowercase().contains("completed");
    let told = webhook.until(|posted| posted.iter().any(|posted| is_end(&posted.body)));
    let told = timeout(PATIENCE, told).await.expect("the webhook hears of the end");
    for posted in &told {
        assert_eq!(posted.line, "POST /hook");
        assert_eq!(posted.headers["authorization"], "Bearer the-receivers-secret");
        assert_eq!(posted.headers["x-a2a-notification-token"], "the receiver's token");
    }
    told
}

/// Asks, and is content with whatever comes.
fn asks_once() -> Value {
    let ask = json!([{"name": "ask_client", "args": {"question": "Which one shall it be?"}}]);
    json!([[
        {"when": {"last_user_contains": "Ask me"}, "tool_calls": ask},
        {"text": "That one, then."},
    ]])
}

/// Counts for about a second, or for longer than any client waits.
fn patient() -> Value {
    let for_ever = "and one more, ".repeat(60);
    let dozen = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve.";
    json!([[
        {"when": {"last_user_contains": "for ever"}, "text": for_ever, "chunk": 1, "delay_ms": 250},
        {"text": dozen, "chunk": 8, "delay_ms": 100},
    ]])
}

/// Delivers a file of 300 000 bytes, which is too large to travel inline.
fn bulky() -> Value {
    let lines = r#"awk 'BEGIN { for (i = 0; i < 30000; i++) printf "%09d\n", i }' > lines.txt"#;
    let file = json!({"path": "/workspace/lines.txt", "media_type": "text/plain"});
    json!([
        {"tool_calls": [{"name": "execute", "args": {"command": lines}}]},
        {"tool_calls": [{"name": "publish_artifact", "args": file}]},
        {"text": "The file is {{tool.status}}."},
    ])
}
