//! Calls that no run will ever answer (agent-loop.md §15).
//!
//! A run that was cancelled or failed may leave calls open, and a provider refuses a conversation
//! with open calls. At its start every run answers what its predecessors left.
//!
//! **Repeating it changes nothing**: the ids of the answers follow from the calls.

use std::collections::BTreeSet;

use domain::CallId;

use crate::conversation::{Message, Meta, Source};
use crate::tools::{ToolCode, ToolResult};
use crate::{history, ids};

/// One answer for each open call of the log, in order. To be appended; [`history::for_model`] puts
/// them where they belong. Calls in `resumed` are left open: this run takes them over.
pub fn patches(log: &[Message], resumed: &BTreeSet<CallId>) -> Vec<Message> {
    let results = history::results(log);
    let mut patches = Vec::new();
    for message in log {
        for (call, name) in message.calls() {
            if results.contains_key(call) || resumed.contains(call) {
                continue;
            }
            let invalid = message.invalid_tool_calls().iter().any(|c| c.id == *call);
            let result = if invalid {
                ToolResult::error(
                    ToolCode::InvalidArguments,
                    "The call could not be run, since its arguments could not be read.",
                )
            } else {
                ToolResult::error(
                    ToolCode::Canceled,
                    "The call was given up because another message arrived. It may not have run.",
                )
            };
            let mut patch = result.into_message(ids::patch(message.id, call), call, name);
            patch.meta = Meta { source: Source::Harness, ..Meta::default() };
            patches.push(patch);
        }
    }
    patches
}

#[cfg(test)]
mod tests {
    use domain::Ids;
    use serde_json::Map;

    use super::*;
    use crate::conversation::{Block, Body, InvalidToolCall, Role, ToolCall};

    /// A log whose second message left a valid and an invalid call open, and answered a third.
    fn log() -> Vec<Message> {
        let ids = Ids::seeded(3);
        let call = |id: &str, ordinal| ToolCall {
            id: CallId(id.into()),
            name: "ls".into(),
            args: Map::new(),
            ordinal,
        };
        let assistant = Body::Assistant {
            content: vec![],
            tool_calls: vec![call("done", 0), call("open", 1)],
            invalid_tool_calls: vec![InvalidToolCall {
                id: CallId("broken".into()),
                name: "ls".into(),
                raw_args: "{".into(),
                error: "cut".into(),
                ordinal: 2,
            }],
        };
        vec![
            Message::user(ids.message(), vec![Block::text("hi")]),
            Message::new(ids.message(), assistant, Meta::default()),
            ToolResult::success("x").into_message(ids.message(), &CallId("done".into()), "ls"),
            Message::user(ids.message(), vec![Block::text("again")]),
        ]
    }

    #[test]
    fn every_open_call_gets_one_answer_and_a_second_pass_gives_none() {
        let mut log = log();
        let patches = patches(&log, &BTreeSet::new());
        let answered: Vec<_> = patches.iter().map(|p| p.answers().unwrap().0.as_str()).collect();
        assert_eq!(answered, ["open", "broken"]);
        assert_eq!(patches, super::patches(&log, &BTreeSet::new()), "the same answers again");
        log.extend(patches);
        assert_eq!(super::patches(&log, &BTreeSet::new()), []);
    }

    #[test]
    fn a_patch_comes_to_its_place_behind_the_batch_that_it_mends() {
        let mut log = log();
        log.extend(patches(&log, &BTreeSet::new()));
        let arranged = history::for_model(&log, &[]);
        let shape: Vec<_> =
            arranged.iter().map(|m| (m.role(), m.answers().map(|id| id.0.as_str()))).collect();
        assert_eq!(
            shape,
            [
                (Role::User, None),
                (Role::Assistant, None),
                (Role::Tool, Some("done")),
                (Role::Tool, Some("open")),
                (Role::Tool, Some("broken")),
                (Role::User, None),
            ]
        );
    }

    #[test]
    fn a_call_that_is_taken_over_stays_open() {
        let resumed = BTreeSet::from([CallId("open".into())]);
        let patches = patches(&log(), &resumed);
        assert_eq!(patches.len(), 1);
        assert_eq!(patches[0].answers(), Some(&CallId("broken".into())));
    }
}
