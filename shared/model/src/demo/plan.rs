//! What the demo does next, read from the conversation alone.
//!
//! ```text
//! write the CSV ─► compute in the sandbox ─► write the report ─► publish both ─► sum up
//! ```
//!
//! Each stage is done when the log holds a result that shows it. A stage that failed is tried once
//! more, a file the second time by a command, and then gone without and said. A publication is tried
//! up to four times, if another try can mend it; a file that it does not find is written anew.

use agent::conversation::ToolArtifact;
use agent::render::{PartContent, RenderedPart};
use agent::{Block, Body, Message, ToolCode, ToolStatus, history};
use domain::PublicationFailure;
use serde_json::{Map, Value, json};

use super::figures::{self, Figures};
use super::numbers::{self, Found};
use super::report::{self, Delivery, REPORT, Subject};
use super::tokens;

/// Most tries of one publication. Each may meet a sandbox that is just being replaced.
const PUBLICATION_TRIES: usize = 4;

/// What the demo says and asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) text: String,
    pub(super) calls: Vec<(&'static str, Value)>,
}

impl Turn {
    fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: vec![] }
    }
}

/// Decides the next turn. `offered` says whether the model was told of a tool.
pub(super) fn next(log: &[Message], offered: impl Fn(&str) -> bool) -> Turn {
    let Some(request) = history::last_request(log) else { return Turn::say(report::NO_NUMBERS) };
    let (found, subject) = understand(request);
    let Some(own) = Figures::of(&found.numbers) else {
        return Turn::say(report::no_numbers(&found));
    };
    let past = Past { calls: past(log), offered };
    let numbers = &found.numbers;

    let csv = subject.csv_name();
    let csv_made = match past.file(&csv, || report::csv(subject, numbers)) {
        Stage::Next(call) => {
            // Said once: a second try is no news.
            let text = if past.calls.is_empty() {
                report::opening(subject, &found)
            } else {
                String::new()
            };
            return Turn { text, calls: vec![call] };
        }
        stage => stage,
    };
    let (figures, in_sandbox) = match past.reckoned(&csv, &csv_made, &own) {
        Stage::Next(call) => return Turn { text: String::new(), calls: vec![call] },
        Stage::Done(figures) => (figures, true),
        Stage::Failed(_) => (own, false),
    };
    let report = || report::markdown(subject, &found, &figures, in_sandbox);
    let report_made = match (past.file(REPORT, report), &csv_made) {
        // A sandbox that takes no file will not take a second one.
        (Stage::Next(_), Stage::Failed(code)) => Stage::Failed(code.clone()),
        (stage, _) => stage,
    };
    if let Stage::Next(call) = report_made {
        return Turn { text: String::new(), calls: vec![call] };
    }

    let mut delivery = Delivery { in_sandbox, ..Delivery::default() };
    let mut calls = Vec::new();
    for (name, media_type, made) in
        [(csv.as_str(), "text/csv", csv_made), (REPORT, "text/markdown", report_made)]
    {
        let published = match (past.published(name, media_type), made) {
            (Stage::Done(bytes), _) => Stage::Done(bytes),
            // Why the file is not there says more than why it was not published.
            (_, Stage::Failed(code)) => Stage::Failed(code),
            (stage, _) => stage,
        };
        match published {
            Stage::Next(call) => calls.push(call),
            Stage::Done(bytes) => delivery.published.push((name.to_owned(), bytes)),
            Stage::Failed(code) => delivery.missing.push((name.to_owned(), code)),
        }
    }
    if calls.is_empty() {
        Turn::say(report::closing(subject, &found, &figures, &delivery))
    } else {
        Turn { text: String::new(), calls }
    }
}

/// Reads the numbers of a request, in the order of its Parts, and what they are of. What the server
/// adds to a Part (names, marks, paths) is no part of it.
fn understand(request: &Message) -> (Found, Subject) {
    let mut found = Found::default();
    let mut words = String::new();
    for block in request.content() {
        match block {
            Block::Text { text }
            | Block::Part(RenderedPart { content: PartContent::Text { text }, .. }) => {
                found.read(text);
                words.push_str(text);
                words.push('\n');
            }
            Block::Part(RenderedPart { content: PartContent::Data { json }, .. }) => {
                if let Ok(value) = serde_json::from_str(json) {
                    read_json(&value, &mut found);
                }
                words.push_str(json);
                words.push('\n');
            }
            Block::Part(_) | Block::Context(_) | Block::Media(_) => {}
        }
    }
    let subject = Subject::of(&words, numbers::currency(&words));
    (found, subject)
}

/// The numbers of a JSON value, and those in its texts. Keys are names.
fn read_json(value: &Value, found: &mut Found) {
    match value {
        Value::Number(number) => {
            let written = number.to_string();
            let whole = written.strip_suffix(".0").unwrap_or(&written);
            match tokens::amount(whole) {
                Some(number) => found.add(number),
                None => found.unread.add(&written),
            }
        }
        Value::String(text) => found.read(text),
        Value::Array(values) => values.iter().for_each(|value| read_json(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| read_json(value, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// A stage of the work.
enum Stage<T> {
    Done(T),
    Next((&'static str, Value)),
    /// Given up, with the code of the last failure.
    Failed(String),
}

/// A call that was made for this request, with its result.
struct PastCall<'a> {
    name: &'a str,
    args: &'a Map<String, Value>,
    result: Option<&'a Message>,
}

impl PastCall<'_> {
    fn arg(&self, name: &str) -> &str {
        self.args.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn artifact(&self) -> Option<&ToolArtifact> {
        match &self.result?.body {
            Body::Tool { artifact, .. } => artifact.as_ref(),
            _ => None,
        }
    }

    /// Whether it did what was asked. A command must have exited with 0.
    fn worked(&self) -> bool {
        let Some(Body::Tool { status: ToolStatus::Success, .. }) =
            self.result.map(|result| &result.body)
        else {
            return false;
        };
        !matches!(self.artifact(), Some(ToolArtifact::Command { exit_code }) if *exit_code != Some(0))
    }

    fn failure(&self) -> String {
        let code = match self.result.map(|result| &result.body) {
            Some(Body::Tool { code, .. }) => code.clone(),
            _ => None,
        };
        code.unwrap_or_else(|| ToolCode::ToolFailed.as_str().to_owned())
    }

    fn failed_with(&self, codes: &[ToolCode]) -> bool {
        !self.worked() && codes.iter().any(|code| self.failure() == code.as_str())
    }

    /// The tool itself is not to be had: another try is pointless.
    fn hopeless(&self) -> bool {
        self.failed_with(&[ToolCode::UnknownTool, ToolCode::ToolBlocked, ToolCode::ToolCallLimit])
    }

    /// A publication that another try can mend: the sandbox was replaced, out of reach or without
    /// the file, or the file could not be stored. What the run or the deployment does not allow
    /// stays so; the result's text names it.
    fn mendable(&self) -> bool {
        const FINAL: [PublicationFailure; 4] = [
            PublicationFailure::Disabled,
            PublicationFailure::RunEnded,
            PublicationFailure::OutputBytesExceeded,
            PublicationFailure::OutputArtifactsExceeded,
        ];
        let text = self.result.map(Message::text).unwrap_or_default();
        let mut words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let refused = words.any(|word| FINAL.iter().any(|failure| word == failure.as_str()));
        !refused
            && self.failed_with(&[
                ToolCode::PublicationFailed,
                ToolCode::FileNotFound,
                ToolCode::OutcomeUnknown,
                ToolCode::StaleTarget,
                ToolCode::Timeout,
                ToolCode::ToolFailed,
            ])
    }

    /// Whether it asked for a file to be published that was not there.
    fn missed(&self, path: &str) -> bool {
        self.name == "publish_artifact"
            && self.arg("path") == path
            && self.failed_with(&[ToolCode::FileNotFound])
    }
}

struct Past<'a, F> {
    calls: Vec<PastCall<'a>>,
    offered: F,
}

fn past(log: &[Message]) -> Vec<PastCall<'_>> {
    let results = history::results(log);
    let start = history::last_request(log)
        .and_then(|request| log.iter().rposition(|message| message.id == request.id))
        .unwrap_or(0);
    let since = log.iter().skip(start);
    since
        .flat_map(Message::tool_calls)
        .map(|call| PastCall {
            name: &call.name,
            args: &call.args,
            result: results.get(&call.id).copied(),
        })
        .collect()
}

impl<F: Fn(&str) -> bool> Past<'_, F> {
    fn made(&self, name: &str, is: impl Fn(&PastCall<'_>) -> bool) -> Vec<&PastCall<'_>> {
        self.calls.iter().filter(|call| call.name == name && is(call)).collect()
    }

    /// A file: first by `write_file`, then by a command. Only what was done since it was last found
    /// missing counts.
    fn file(&self, name: &str, content: impl Fn() -> String) -> Stage<()> {
        let path = format!("/workspace/{name}");
        let pour = format!("cat > {name} <<'END_OF_FILE'\n");
        let missed = self.calls.iter().rposition(|call| call.missed(&path));
        let tries = self.tries(&path);
        if missed.is_some() && (tries.len() >= PUBLICATION_TRIES) {
            // It would be written for nobody.
            return given_up(&tries);
        }
        let since = missed.map_or(0, |at| at + 1);
        let made = |tool: &str, is: &dyn Fn(&PastCall<'_>) -> bool| -> Vec<_> {
            let calls = self.calls.iter().skip(since);
            calls.filter(|call| call.name == tool && is(call)).collect()
        };
        let written = made("write_file", &|call| call.arg("file_path") == path);
        let poured = made("execute", &|call| call.arg("command").starts_with(&pour));
        if written.iter().chain(&poured).any(|call| call.worked()) {
            Stage::Done(())
        } else if written.is_empty() && (self.offered)("write_file") {
            Stage::Next(("write_file", json!({"file_path": path, "content": content()})))
        } else if poured.is_empty() && (self.offered)("execute") {
            let command = format!("{pour}{}END_OF_FILE", content());
            Stage::Next(("execute", json!({ "command": command })))
        } else {
            given_up(&[written, poured].concat())
        }
    }

    /// The figures, as the sandbox computes them from the CSV.
    fn reckoned(&self, csv: &str, made: &Stage<()>, own: &Figures) -> Stage<Figures> {
        let command = figures::command(csv);
        let tries = self.made("execute", |call| call.arg("command") == command);
        let usable = |call: &&PastCall<'_>| {
            let output = call.result.filter(|_| call.worked())?.text();
            Figures::parse(&output).filter(|figures| figures.agrees(own))
        };
        if let Some(figures) = tries.iter().find_map(usable) {
            return Stage::Done(figures);
        }
        let file_there = !matches!(made, Stage::Failed(_));
        if file_there && self.worth_a_try("execute", &tries) {
            Stage::Next(("execute", json!({"command": command, "timeout": 60})))
        } else {
            given_up(&tries)
        }
    }

    fn tries(&self, path: &str) -> Vec<&PastCall<'_>> {
        self.made("publish_artifact", |call| call.arg("path") == path)
    }

    /// A delivered file, with its size.
    fn published(&self, name: &str, media_type: &str) -> Stage<u64> {
        let path = format!("/workspace/{name}");
        let tries = self.tries(&path);
        let size = |call: &&PastCall<'_>| match call.artifact() {
            Some(ToolArtifact::Published { size_bytes, .. }) if call.worked() => Some(*size_bytes),
            _ => None,
        };
        if let Some(bytes) = tries.iter().find_map(size) {
            Stage::Done(bytes)
        } else if (self.offered)("publish_artifact")
            && tries.len() < PUBLICATION_TRIES
            && tries.iter().all(|call| call.mendable())
        {
            Stage::Next(("publish_artifact", json!({"path": path, "media_type": media_type})))
        } else {
            given_up(&tries)
        }
    }

    /// Twice at most, and only what is to be had.
    fn worth_a_try(&self, tool: &str, tries: &[&PastCall<'_>]) -> bool {
        (self.offered)(tool) && tries.len() < 2 && !tries.iter().any(|call| call.hopeless())
    }
}

fn given_up<T>(tries: &[&PastCall<'_>]) -> Stage<T> {
    let none = || ToolCode::Unsupported.as_str().to_owned();
    Stage::Failed(tries.last().map_or_else(none, |call| call.failure()))
}
