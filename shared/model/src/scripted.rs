//! A model that says what a file tells it to, for tests and demonstrations (agent-loop.md §25.5).
//!
//! **It keeps nothing between calls.** Which turn speaks follows from the conversation, and whether
//! a fault strikes from the attempt's number, so that another process picks the same turn after a
//! crash. It may be offered only where a deployment allows test providers.

mod scenario;
mod template;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use agent::retry::ErrorClass;
use agent::{Message, StopReason, history, render};
use async_trait::async_trait;

pub use scenario::{Scenario, ScenarioError};

use crate::error::Reason;
use crate::paced::{Timed, paced, pieces};
use crate::{
    CallContext, ModelError, ModelEvent, ModelProfile, ModelProvider, ModelRequest, ModelStream,
};
use scenario::{Fault, FaultKind, Scenarios, Turn};
use template::Context;

/// Plays scenarios. The model's name is the scenario's.
#[derive(Debug, Clone, Default)]
pub struct ScriptedModel {
    scenarios: Scenarios,
}

/// Why the scenarios of a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("read the folder of scenarios")]
    Folder(#[source] io::Error),
    #[error("read scenario {name:?}")]
    File {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("use scenario {name:?}")]
    Scenario {
        name: String,
        #[source]
        source: ScenarioError,
    },
}

impl ScriptedModel {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a scenario, or replaces the one of that name.
    #[must_use]
    pub fn with(mut self, name: &str, scenario: Scenario) -> Self {
        self.scenarios.insert(name.to_owned(), scenario);
        self
    }

    /// Reads every `<name>.json` of a folder, at start-up. A file that cannot be used is an error,
    /// not a surprise later.
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let mut scripted = Self::new();
        for entry in fs::read_dir(folder).map_err(LoadError::Folder)? {
            let path = entry.map_err(LoadError::Folder)?.path();
            let name = path.file_stem().and_then(|stem| stem.to_str());
            let (Some(name), Some("json")) = (name, path.extension().and_then(|e| e.to_str()))
            else {
                continue;
            };
            let text = fs::read_to_string(&path)
                .map_err(|source| LoadError::File { name: name.to_owned(), source })?;
            let scenario = Scenario::parse(&text)
                .map_err(|source| LoadError::Scenario { name: name.to_owned(), source })?;
            scripted = scripted.with(name, scenario);
        }
        Ok(scripted)
    }

    fn turn(&self, request: &ModelRequest) -> Result<&Turn, ModelError> {
        let scenario = self.scenarios.get(&request.model).ok_or_else(|| {
            ModelError::new(ErrorClass::Config).because(Reason("no scenario has this name"))
        })?;
        let turns = scenario.at(history::turn(&request.messages));
        let turn = turns.iter().find(|turn| fits(turn, &request.messages));
        turn.ok_or_else(|| ModelError::new(ErrorClass::ScriptExhausted))
    }
}

fn fits(turn: &Turn, log: &[Message]) -> bool {
    let request = history::last_request(log);
    let said = |text: &String| request.is_some_and(|message| render::text(message).contains(text));
    let named = |start: &String| {
        let id = request.and_then(|message| message.meta.client_message_id.as_deref());
        id.is_some_and(|id| id.starts_with(start))
    };
    let began = |start: &String| {
        let text = request.and_then(Message::first_text);
        text.is_some_and(|text| text.starts_with(start))
    };
    let used = |name: &String| {
        template::last_tool(log).is_some_and(
            |tool| matches!(&tool.body, agent::Body::Tool { name: used, .. } if used == name),
        )
    };
    turn.when.last_user_contains.as_ref().is_none_or(said)
        && turn.when.message_id_starts_with.as_ref().is_none_or(named)
        && turn.when.first_text_starts_with.as_ref().is_none_or(began)
        && turn.when.last_tool.as_ref().is_none_or(used)
}

#[async_trait]
impl ModelProvider for ScriptedModel {
    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<ModelStream, ModelError> {
        let turn = self.turn(&request)?;
        let fault = turn.fault.as_ref().filter(|fault| context.attempt <= fault.times);
        if let Some(error) = fault.and_then(refuse) {
            return Err(error);
        }
        Ok(paced(events(turn, fault, &request, context)))
    }

    fn profile(&self, _model: &str) -> ModelProfile {
        ModelProfile::default()
    }
}

/// The error of a fault that strikes before anything is said.
fn refuse(fault: &Fault) -> Option<ModelError> {
    let class = match fault.kind {
        FaultKind::Throttle => ErrorClass::RateLimited,
        FaultKind::Overloaded => ErrorClass::Overloaded,
        FaultKind::ServerError => ErrorClass::ServerError,
        FaultKind::Overflow => ErrorClass::ContextOverflow,
        FaultKind::Timeout => ErrorClass::Timeout,
        FaultKind::Auth => ErrorClass::Auth,
        FaultKind::DisconnectAfterChunks | FaultKind::MalformedToolJson | FaultKind::Refusal => {
            return None;
        }
    };
    let error = ModelError::new(class);
    Some(match fault.retry_after_ms {
        Some(wait) => error.retry_after(Duration::from_millis(wait)),
        None => error,
    })
}

fn events(
    turn: &Turn,
    fault: Option<&Fault>,
    request: &ModelRequest,
    context: CallContext,
) -> Vec<Timed> {
    let fill = Context { log: &request.messages };
    let delay = Duration::from_millis(turn.delay_ms);
    let mut now = Duration::ZERO;
    let call = format!("scripted-{}-{}", context.step, context.attempt);
    let mut events: Vec<Timed> = vec![(now, Ok(ModelEvent::Start { request: Some(call) }))];

    let mut texts = pieces(&fill.text(&turn.text), turn.chunk);
    let broken = fault.filter(|fault| fault.kind == FaultKind::DisconnectAfterChunks);
    if let Some(fault) = broken {
        texts.truncate(fault.chunks);
    }
    for text in texts {
        now += delay;
        events.push((now, Ok(ModelEvent::TextDelta { index: 0, text })));
    }
    now += delay;
    if broken.is_some() {
        let error = ModelError::new(ErrorClass::Connection).because(Reason("the script says so"));
        events.push((now, Err(error)));
        return events;
    }

    let refused = fault.is_some_and(|fault| fault.kind == FaultKind::Refusal);
    let malformed = fault.is_some_and(|fault| fault.kind == FaultKind::MalformedToolJson);
    let calls = if refused { &[][..] } else { turn.tool_calls.as_slice() };
    for (index, call) in (1..).zip(calls) {
        let args = fill.written(&call.args);
        let end = if malformed { args.len() - 1 } else { args.len() };
        let start =
            ModelEvent::ToolCallStart { index, id: call.id.clone(), name: call.name.clone() };
        events.push((now, Ok(start)));
        let fragments = pieces(args.get(..end).unwrap_or_default(), turn.chunk);
        let fragments = fragments.into_iter();
        events.extend(
            fragments.map(|fragment| (now, Ok(ModelEvent::ToolArgsDelta { index, fragment }))),
        );
        events.push((now, Ok(ModelEvent::BlockStop { index })));
    }
    if let Some(usage) = turn.usage {
        events.push((now, Ok(ModelEvent::Usage(usage.with_total()))));
    }
    let natural = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let stop = if refused { StopReason::Refusal } else { turn.stop.unwrap_or(natural) };
    events.push((now, Ok(ModelEvent::Stop(stop))));
    events
}

#[cfg(test)]
mod tests;
