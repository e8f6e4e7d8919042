//! The scenario file.
//!
//! ```json
//! {
//!   "turns": [
//!     {"text": "One moment.", "tool_calls": [{"name": "ls", "args": {"path": "."}}]},
//!     [
//!       {"when": {"last_user_contains": "loud"}, "text": "DONE: {{tool.text}}"},
//!       {"text": "done: {{tool.text}}"}
//!     ]
//!   ]
//! }
//! ```
//!
//! The n-th entry of `turns` answers when the model has spoken n times since the client last did.
//! An entry that is a list holds alternatives: the first whose `when` fits speaks. Of two beginnings
//! of which one begins like the other, the longer one therefore stands first.
//!
//! `when` asks of the client's last message what it contains as a model reads it
//! (`last_user_contains`), how the `messageId` begins that the client chose
//! (`message_id_starts_with`) and how the text of its first text Part begins
//! (`first_text_starts_with`); and which tool's result is the last of the conversation
//! (`last_tool`). What it asks must all hold.

use std::collections::BTreeMap;

use agent::{StopReason, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::template;

/// A whole scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    positions: Vec<Vec<Turn>>,
    repeat_last: bool,
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("read the scenario")]
    Json(#[source] serde_json::Error),
    #[error("read turn {position} of the scenario")]
    Turn {
        position: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("turn {position} of the scenario reads {{{{{name}}}}}, which does not exist")]
    Template { position: usize, name: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    turns: Vec<Box<RawValue>>,
    /// After the last turn it goes on with the last turn, for ever.
    #[serde(default)]
    repeat_last: bool,
    /// For readers of the file.
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

/// One answer of the model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(default)]
    pub(super) when: When,
    #[serde(default)]
    pub(super) text: String,
    /// Characters of one piece of text.
    #[serde(default = "default_chunk")]
    pub(super) chunk: usize,
    /// How long each piece of text, and the end, is waited for.
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) tool_calls: Vec<Call>,
    /// Follows from the calls unless given.
    #[serde(default)]
    pub(super) stop: Option<StopReason>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) fault: Option<Fault>,
}

/// What must hold for a turn to speak. What is left out always holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct When {
    pub(super) last_user_contains: Option<String>,
    pub(super) message_id_starts_with: Option<String>,
    pub(super) first_text_starts_with: Option<String>,
    pub(super) last_tool: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Args,
}

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    pub(super) values: Map<String, Value>,
    /// As the file has them: numbers keep their spelling.
    pub(super) written: String,
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let values = serde_json::from_str(text).map_err(D::Error::custom)?;
        Ok(Self { values, written: text.to_owned() })
    }
}

/// What goes wrong instead, for the first `times` attempts at the step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    #[serde(default = "once")]
    pub(super) times: u32,
    /// Of a `throttle`.
    #[serde(default)]
    pub(super) retry_after_ms: Option<u64>,
    /// Of a `disconnect_after_chunks`.
    #[serde(default)]
    pub(super) chunks: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    Throttle,
    Overloaded,
    ServerError,
    Overflow,
    Timeout,
    Auth,
    /// The text breaks off.
    DisconnectAfterChunks,
    /// Every call's arguments break off.
    MalformedToolJson,
    Refusal,
}

const fn default_chunk() -> usize {
    24
}

const fn once() -> u32 {
    1
}

impl Scenario {
    /// Reads a scenario, and checks it as far as it can be without a conversation.
    pub fn parse(json: &str) -> Result<Self, ScenarioError> {
        let file: File = serde_json::from_str(json).map_err(ScenarioError::Json)?;
        let mut positions = Vec::with_capacity(file.turns.len());
        for (position, value) in file.turns.into_iter().enumerate() {
            let text = value.get();
            let turns: Result<Vec<Turn>, _> = if text.starts_with('[') {
                serde_json::from_str(text)
            } else {
                serde_json::from_str(text).map(|turn| vec![turn])
            };
            let turns = turns.map_err(|source| ScenarioError::Turn { position, source })?;
            for turn in &turns {
                let args = turn
                    .tool_calls
                    .iter()
                    .map(|call| Value::Object(call.args.values.clone()).to_string());
                for text in std::iter::once(turn.text.clone()).chain(args) {
                    template::check(&text)
                        .map_err(|name| ScenarioError::Template { position, name })?;
                }
            }
            positions.push(turns);
        }
        Ok(Self { positions, repeat_last: file.repeat_last })
    }

    /// The turns that may speak at this position; none when the script is over.
    pub(super) fn at(&self, position: usize) -> &[Turn] {
        let last = self.positions.len().saturating_sub(1);
        let position = if self.repeat_last { position.min(last) } else { position };
        self.positions.get(position).map_or(&[], Vec::as_slice)
    }
}

/// Scenarios by their names.
pub(super) type Scenarios = BTreeMap<String, Scenario>;
