//! What comes next in the loop (agent-loop.md §3.2, §3.4).
//!
//! ```text
//! client's message ─► model ─┬─ no calls ─────────────► finish
//!                       ▲    ├─ calls ─► tools ─┐
//!                       └────┴─ all answered ◄──┴─► finish, if one of them was the last word
//! ```
//!
//! **[`next`] reads the log and nothing else**, so that whoever takes a run over goes on exactly
//! where it stands. **The model is never called while a call of its last answer is open**, and a
//! run never completes so.

use std::collections::BTreeMap;

use domain::{CallId, FailureCode};

use crate::conversation::{Body, Message, Role, ToolArtifact};
use crate::history;
use crate::speech::LastWord;
use crate::tools::{self, ToolCode, ToolRequest, ToolResult};
use crate::turn::{AssistantTurn, StopReason};

/// How a run ends by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Completed {
        /// The model's last text was cut at its length limit.
        truncated: bool,
    },
    /// By a call with which the model speaks to its client; its effect is for the end to have.
    Said(LastWord),
    Failed(FailureCode),
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Finish(Outcome),
    /// Give each of these calls its result, in this order where it matters; see [`check`] and
    /// [`crate::schedule`].
    Tools(Vec<CallId>),
    Model,
}

/// Answers in a row whose calls were cut off, after which the run fails.
const MAX_CUT_IN_A_ROW: usize = 2;

/// Says what comes after what the log holds. Safe to repeat: it depends on the log alone.
pub fn next(log: &[Message]) -> Next {
    let last = log.iter().rev().find(|message| message.role() != Role::Tool);
    let Some(last) = last else {
        return Next::Finish(Outcome::Completed { truncated: false });
    };
    if last.role() == Role::User {
        return Next::Model;
    }
    let results = history::results(log);
    let calls = last.calls();
    let open = calls.iter().map(|(id, _)| *id).filter(|id| !results.contains_key(*id));
    let open: Vec<_> = open.cloned().collect();
    match last.meta.stop_reason.unwrap_or(StopReason::EndTurn) {
        StopReason::Refusal | StopReason::ContentFiltered | StopReason::Guardrail => {
            Next::Finish(Outcome::Failed(FailureCode::ModelRefused))
        }
        StopReason::ContextOverflow => Next::Finish(Outcome::Failed(FailureCode::ContextOverflow)),
        StopReason::MaxTokens if cut_in_a_row(log) > MAX_CUT_IN_A_ROW => {
            Next::Finish(Outcome::Failed(FailureCode::ModelOutputTruncated))
        }
        _ if !open.is_empty() => Next::Tools(open),
        _ if !calls.is_empty() => match last_word(&calls, &results) {
            Some(word) => Next::Finish(Outcome::Said(word)),
            None => Next::Model,
        },
        StopReason::Pause => Next::Model,
        StopReason::MalformedOutput => Next::Finish(Outcome::Failed(FailureCode::ModelMalformed)),
        StopReason::MaxTokens => Next::Finish(Outcome::Completed { truncated: true }),
        StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse => {
            Next::Finish(Outcome::Completed { truncated: false })
        }
    }
}

/// The first of an answer's calls that ends the run.
fn last_word(calls: &[(&CallId, &str)], results: &BTreeMap<&CallId, &Message>) -> Option<LastWord> {
    calls.iter().find_map(|(call, _)| match &results.get(call)?.body {
        Body::Tool { artifact: Some(ToolArtifact::LastWord { word }), .. } => Some(word.clone()),
        _ => None,
    })
}

/// How many answers at the end of the log were cut off within a call.
fn cut_in_a_row(log: &[Message]) -> usize {
    let backwards = log.iter().rev().filter(|message| message.role() != Role::Tool);
    let cut = |message: &&Message| {
        message.meta.stop_reason == Some(StopReason::MaxTokens)
            && !message.invalid_tool_calls().is_empty()
    };
    backwards.take_while(cut).count()
}

/// What to do with an answer before it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    Commit,
    /// Throw it away and make the same call again, as the next attempt.
    Repeat,
}

/// Judges the answer of attempt number `attempt` (from 1). Only output that the provider itself
/// calls malformed is asked for again, and once.
pub fn accept(turn: &AssistantTurn, attempt: u32) -> Accept {
    if turn.stop == StopReason::MalformedOutput && attempt <= 1 {
        Accept::Repeat
    } else {
        Accept::Commit
    }
}

/// What a call of an assistant message comes to, before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Checked {
    Run(ToolRequest),
    /// It cannot run: this is its result.
    Answered(ToolResult),
}

/// Checks every call of an assistant message, in order.
///
/// `blocked` names the tools that a deployment or an agent forbids: they are answered, not run.
/// `hidden` names those that the model was not told of: to it they do not exist.
pub fn check(
    message: &Message,
    blocked: &[String],
    hidden: &[String],
) -> Vec<(CallId, String, Checked)> {
    let mut checked: Vec<_> = message
        .tool_calls()
        .iter()
        .map(|call| {
            let state = if hidden.contains(&call.name) {
                Checked::Answered(tools::unknown(hidden).into())
            } else if blocked.contains(&call.name) {
                Checked::Answered(ToolResult::error(
                    ToolCode::ToolBlocked,
                    "This tool is not allowed here. Nothing ran.",
                ))
            } else {
                match tools::parse(&call.name, &call.args) {
                    Ok(request) => Checked::Run(request),
                    Err(error) if error.code == ToolCode::UnknownTool => {
                        Checked::Answered(tools::unknown(hidden).into())
                    }
                    Err(error) => Checked::Answered(error.into()),
                }
            };
            (call.ordinal, (call.id.clone(), call.name.clone(), state))
        })
        .collect();
    checked.extend(message.invalid_tool_calls().iter().map(|call| {
        let text = format!("The call could not be read: {}. Nothing ran.", call.error);
        let state = Checked::Answered(ToolResult::error(ToolCode::InvalidArguments, text));
        (call.ordinal, (call.id.clone(), call.name.clone(), state))
    }));
    checked.sort_by_key(|(ordinal, _)| *ordinal);
    checked.into_iter().map(|(_, call)| call).collect()
}

#[cfg(test)]
mod tests;
