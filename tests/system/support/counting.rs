//! An agent whose every doubled effect is in its files: each command adds a line to one.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::book;
use super::home::Home;
use super::stage::Stage;

pub(crate) const AGENT: &str = "counting";
pub(crate) const FILES: [&str; 3] = ["one", "three", "two"];

pub(crate) fn home() -> Home {
    let add = |file: &str| {
        let command = format!("echo {file} >> {file}");
        json!({"name": "execute", "args": {"command": command}})
    };
    let publish = |file: &str| {
        let path = format!("/workspace/{file}");
        json!({"name": "publish_artifact", "args": {"path": path, "media_type": "text/plain"}})
    };
    Home::new().with_script(
        AGENT,
        &json!([
            {"text": "One. ", "tool_calls": [add("one"), add("two")]},
            {"text": "Two. ", "tool_calls": [add("three"), publish("one"), publish("two")]},
            {"tool_calls": [publish("three")]},
            {"text": "Done."},
        ]),
    )
}

/// The task of this agent has completed; each command ran once, each file is there once, and each
/// word was said once.
pub(crate) async fn one_effect_each(stage: &Stage, task: &str, at: &str) {
    let ended = book::ended(&stage.pool, task).await;
    assert_eq!(ended.state, "completed", "{at}");
    assert_eq!(ended.files, FILES, "{at}");
    assert_eq!(ended.refused, Vec::<String>::new(), "{at}");
    let shown = stage.call(AGENT, "GetTask", &json!({ "id": task })).await.unwrap();
    let parts = shown["artifacts"].as_array().unwrap().iter();
    let parts: Vec<&Value> = parts.map(|artifact| &artifact["parts"][0]).collect();
    for file in parts.iter().filter(|part| part["filename"].is_string()) {
        let line = format!("{}\n", file["filename"].as_str().unwrap());
        assert_eq!(file["raw"], BASE64_STANDARD.encode(line), "{at}: a command ran once: {file}");
    }
    let said = parts.iter().find(|part| part["text"].is_string()).unwrap();
    let words: Vec<&str> = said["text"].as_str().unwrap().split_whitespace().collect();
    assert_eq!(words, ["One.", "Two.", "Done."], "{at}");
}
