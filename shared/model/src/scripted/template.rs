//! `{{…}}` in a scenario's texts: a tiny accessor into the conversation, and no language.
//!
//! - `{{user.text}}`: what the client said last, as a model reads it
//! - `{{user.artifact}}`: the first `/artifacts/…` path in it
//! - `{{tool.text}}`, `{{tool.status}}`, `{{tool.code}}`: the last tool result
//! - `{{tool.artifact/exit_code}}`: a JSON pointer into what machines know of that result
//!
//! What is not there is an empty text.

use agent::{Body, Message, history, render};
use serde_json::{Map, Value};

use super::scenario::Args;

/// Where values come from.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) log: &'a [Message],
}

/// Whether every accessor in a text exists; otherwise the first that does not.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut unknown = None;
    replace(text, |name| {
        if !is_known(name) {
            unknown.get_or_insert_with(|| name.to_owned());
        }
        String::new()
    });
    unknown.map_or(Ok(()), Err)
}

fn is_known(name: &str) -> bool {
    matches!(name, "user.text" | "user.artifact" | "tool.text" | "tool.status" | "tool.code")
        || name.starts_with("tool.artifact/")
}

impl Context<'_> {
    pub(super) fn text(&self, text: &str) -> String {
        replace(text, |name| self.value(name))
    }

    /// The text of the arguments with every text in them filled in; to the letter as they were
    /// written where there is nothing to fill in.
    pub(super) fn written(&self, args: &Args) -> String {
        if args.written.contains("{{") || args.written.is_empty() {
            Value::Object(self.args(&args.values)).to_string()
        } else {
            args.written.clone()
        }
    }

    fn args(&self, args: &Map<String, Value>) -> Map<String, Value> {
        args.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect()
    }

    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(values) => values.iter().map(|value| self.fill(value)).collect(),
            Value::Object(fields) => self.args(fields).into(),
            other => other.clone(),
        }
    }

    fn value(&self, name: &str) -> String {
        let user = || history::last_request(self.log).map(render::text).unwrap_or_default();
        match name {
            "user.text" => return user(),
            "user.artifact" => return artifact_path(&user()).unwrap_or_default(),
            _ => {}
        }
        let Some(tool) = last_tool(self.log) else { return String::new() };
        let Body::Tool { status, code, artifact, .. } = &tool.body else { return String::new() };
        match name {
            "tool.text" => tool.text(),
            "tool.status" => plain(&serde_json::json!(status)),
            "tool.code" => code.clone().unwrap_or_default(),
            _ => {
                let pointer = name.strip_prefix("tool.artifact").unwrap_or_default();
                serde_json::json!(artifact).pointer(pointer).map(plain).unwrap_or_default()
            }
        }
    }
}

/// The result that the model saw last.
pub(super) fn last_tool(log: &[Message]) -> Option<&Message> {
    log.iter().rev().find(|message| message.answers().is_some())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn artifact_path(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("/artifacts/")?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    Some(format!("/artifacts/{}", rest.get(..end).unwrap_or_default()))
}

/// Replaces every `{{name}}`. Braces that are never closed stand for themselves.
fn replace(text: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(&value(name.trim()));
        rest = behind;
    }
    out.push_str(rest);
    out
}
