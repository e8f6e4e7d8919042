//! Clients that others wrote: the A2A SDKs for Python and JavaScript do everything that a client
//! can, over both bindings, against a running system (issue "from message to deliverable", 2).
//!
//! What they ask and what they expect is in `tests/clients`, told once in each language.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cognition_local::System;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::PATIENCE;
use crate::support::home::Home;

/// What a story prints of each of its steps, in their order.
const STEPS: [&str; 7] = ["card", "send", "send", "stream", "get", "subscribe", "cancel"];

const JSON_RPC: &str = "JSONRPC";
const HTTP_JSON: &str = "HTTP+JSON";

#[tokio::test]
async fn the_python_sdk_does_everything_over_json_rpc() {
    tells_its_story(python(), JSON_RPC).await;
}

#[tokio::test]
async fn the_python_sdk_does_everything_over_http_json() {
    tells_its_story(python(), HTTP_JSON).await;
}

#[tokio::test]
async fn the_javascript_sdk_does_everything_over_json_rpc() {
    tells_its_story(javascript(), JSON_RPC).await;
}

#[tokio::test]
async fn the_javascript_sdk_does_everything_over_http_json() {
    tells_its_story(javascript(), HTTP_JSON).await;
}

fn python() -> Command {
    let mut command = Command::new(tool("A2A_PYTHON"));
    command.arg(script("python/story.py"));
    command
}

fn javascript() -> Command {
    let mut command = Command::new("node");
    command.arg(script("js/story.mjs")).env("A2A_NODE_MODULES", tool("A2A_NODE_MODULES"));
    command
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// A place that `tests/tools.sh` has written down.
fn tool(variable: &str) -> OsString {
    env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run `make tools && . target/tools/env`"))
}

async fn tells_its_story(mut client: Command, binding: &str) {
    let home = Home::new().with_script("patient", &patient()).with_script("bulky", &bulky());
    let system = System::start(&home.options()).await.unwrap();
    client.arg(system.url()).arg(binding).stdin(Stdio::null()).kill_on_drop(true);
    let told = timeout(PATIENCE, client.output()).await.expect("the client ends");
    let told = told.expect("the client starts");
    let text = String::from_utf8_lossy(&told.stdout);
    let complaint = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}{complaint}");
    let steps: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(steps, STEPS, "{text}{complaint}");
    system.stop().await;
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
