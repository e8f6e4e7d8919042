//! A model's whole answer, and how it becomes a message.

use std::collections::BTreeSet;

use domain::{CallId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::conversation::{Block, Body, InvalidToolCall, Message, Meta, ToolCall};
use crate::ids;
use crate::usage::Usage;

/// Why a model stopped, whatever its provider calls it (agent-loop.md §3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    StopSequence,
    ToolUse,
    MaxTokens,
    ContextOverflow,
    Refusal,
    ContentFiltered,
    Guardrail,
    MalformedOutput,
    /// The provider wants to be called again with what it has said so far.
    Pause,
}

/// What a provider's events add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantTurn {
    pub text: String,
    /// In the order in which the model made them.
    pub calls: Vec<TurnCall>,
    pub stop: StopReason,
    pub usage: Option<Usage>,
    pub provider_request: Option<String>,
}

/// One call, with the id that the provider gave, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnCall {
    pub id: Option<String>,
    pub name: String,
    pub args: CallArgs,
    /// The arguments as the model wrote them.
    pub written: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallArgs {
    Object(Map<String, Value>),
    /// Not a JSON object: malformed, of another kind, or cut off.
    Invalid {
        raw: String,
        reason: String,
    },
}

/// The model step that made a turn.
#[derive(Debug, Clone, Copy)]
pub struct StepKey<'a> {
    pub run: RunId,
    pub step: u32,
    pub attempt: u32,
    pub provider: &'a str,
    pub model: &'a str,
}

impl AssistantTurn {
    /// The message of this turn. Call ids become safe for every provider and for file names, and
    /// unique in the conversation whose ids are `used` (agent-loop.md §25.1 rule 1). No call of an
    /// answer that its own provider calls malformed is taken as valid.
    pub fn into_message(self, at: StepKey<'_>, used: &BTreeSet<CallId>) -> Message {
        let mut taken = used.clone();
        let mut tool_calls = Vec::new();
        let mut invalid_tool_calls = Vec::new();
        for (ordinal, call) in (0..).zip(self.calls) {
            let id = ids::call(at.run, at.step, ordinal, call.id.as_deref(), &taken);
            taken.insert(id.clone());
            let name = call.name;
            let args = match call.args {
                CallArgs::Object(args) if self.stop == StopReason::MalformedOutput => {
                    let raw = Value::Object(args).to_string();
                    CallArgs::Invalid { raw, reason: "the answer was malformed".to_owned() }
                }
                args => args,
            };
            match args {
                CallArgs::Object(args) => tool_calls.push(ToolCall { id, name, args, ordinal }),
                CallArgs::Invalid { raw, reason } => invalid_tool_calls.push(InvalidToolCall {
                    id,
                    name,
                    raw_args: raw,
                    error: reason,
                    ordinal,
                }),
            }
        }
        let content = if self.text.is_empty() { vec![] } else { vec![Block::text(self.text)] };
        let meta = Meta {
            provider: Some(at.provider.to_owned()),
            model: Some(at.model.to_owned()),
            usage: self.usage,
            stop_reason: Some(self.stop),
            attempt: Some(at.attempt),
            provider_request: self.provider_request,
            ..Meta::default()
        };
        let body = Body::Assistant { content, tool_calls, invalid_tool_calls };
        Message::new(ids::message(at.run, at.step, 0), body, meta)
    }
}

#[cfg(test)]
mod tests {
    use domain::Ids;

    use super::*;

    #[test]
    fn a_turn_becomes_the_same_message_however_often_it_is_made() {
        let run = Ids::seeded(1).run();
        let turn = AssistantTurn {
            text: "hi".into(),
            calls: vec![
                TurnCall {
                    id: Some("a".into()),
                    name: "ls".into(),
                    args: CallArgs::Object(Map::new()),
                    written: "{}".into(),
                },
                TurnCall {
                    id: Some("a".into()),
                    name: "ls".into(),
                    args: CallArgs::Invalid { raw: "[".into(), reason: "cut".into() },
                    written: "[".into(),
                },
            ],
            stop: StopReason::ToolUse,
            usage: None,
            provider_request: None,
        };
        let at = StepKey { run, step: 3, attempt: 1, provider: "p", model: "m" };
        let message = turn.clone().into_message(at, &BTreeSet::new());
        assert_eq!(message, turn.into_message(at, &BTreeSet::new()));
        let [(first, _), (second, _)] = message.calls().try_into().unwrap();
        assert_eq!(first.0, "a");
        assert_ne!(first, second, "an id that the thread already has is replaced");
        assert_eq!(message.invalid_tool_calls().len(), 1);
        assert_eq!(message.meta.stop_reason, Some(StopReason::ToolUse));
    }
}
