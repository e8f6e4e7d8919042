//! P4: a model's answer becomes history, with its calls, its last words and its counters.

use std::collections::HashMap;

use agent::route::{self, Checked};
use agent::speech::{Speech, Spoken};
use agent::turn::StepKey;
use agent::{AssistantTurn, StopReason, ToolRequest, guards, history};
use domain::{CallId, EventBody};
use model::CallContext;
use store::events::Place;
use store::runs::PlacedEvent;
use store::steps::{self, ModelCommit, PlannedCall};

use super::{Voice, halt};
use crate::log::Log;
use crate::worker::{Stop, Worker, loop_message, result_message, tool_finished};

/// Commits the answer. Calls that cannot run, or are one too many, get their results with it.
pub(super) async fn run(
    worker: &Worker<'_>,
    log: &Log,
    spent: guards::Spent,
    voice: Voice<'_>,
    turn: AssistantTurn,
    context: CallContext,
) -> Result<(), Stop> {
    let stop = turn.stop;
    let usage = turn.usage.and_then(|usage| serde_json::to_string(&usage).ok());
    let target = &worker.agent.model;
    let key = StepKey {
        run: context.run,
        step: context.step,
        attempt: context.attempt,
        provider: &target.provider,
        model: &target.model,
    };
    let written: Vec<String> = turn.calls.iter().map(|call| call.written.clone()).collect();
    let message = turn.into_message(key, &history::call_ids(log.messages()));
    let (mut events, mut said, mut growth) = voice.finish()?;
    let args: HashMap<&CallId, String> = message
        .tool_calls()
        .iter()
        .map(|call| (&call.id, serde_json::Value::Object(call.args.clone()).to_string()))
        .collect();
    let checked = checked(worker, &message, spent)?;
    let step = i32::try_from(context.step).unwrap_or(i32::MAX);
    let mut speech = Speech::new(worker.lease.task(), context.run, log.of_task());
    let (mut calls, mut answered, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    for ((ordinal, (call, tool, state)), written) in (0..).zip(checked).zip(&written) {
        let body = EventBody::ToolCalled { call: call.clone(), tool: tool.clone() };
        events.push(PlacedEvent { place: growth.place(), body });
        let state = match state {
            Checked::Run(ToolRequest::Say(say)) => {
                let Spoken { result, update, bytes, new } = speech.say(&call, &say, Some(written));
                said.count(bytes, new)?;
                let place = Place { step, attempt: Place::ARTIFACT, ordinal };
                let body = update.map(EventBody::Artifact);
                events.extend(body.map(|body| PlacedEvent { place, body }));
                Checked::Answered(result)
            }
            state => state,
        };
        match state {
            Checked::Run(_) => {
                let args = args.get(&call).cloned().unwrap_or_else(|| "{}".to_owned());
                calls.push(PlannedCall { call, ordinal, tool, args });
            }
            Checked::Answered(result) => {
                finished.push(tool_finished(step, ordinal, &call, &tool, &result));
                let result = result_message(context.run, step, ordinal, &call, &tool, result);
                answered.push(loop_message(&result));
            }
        }
    }
    events.append(&mut finished);
    let commit = ModelCommit {
        step,
        attempt: i32::try_from(context.attempt).unwrap_or(i32::MAX),
        message: loop_message(&message),
        speaks: !message.text().is_empty(),
        calls,
        answered,
        stop_reason: word(stop),
        usage,
        events,
        output: said.output(),
    };
    match steps::commit(&worker.on.pool, &worker.lease, &commit).await {
        // It is committed: an earlier commit of ours whose answer got lost.
        Ok(()) | Err(store::Error::Conflict) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Every call of the message with what it comes to. When the run may make no more calls, none of
/// them runs; the log then says so, and the run ends.
fn checked(
    worker: &Worker<'_>,
    message: &agent::Message,
    spent: guards::Spent,
) -> Result<Vec<(CallId, String, Checked)>, Stop> {
    let checked = route::check(message, &[], &worker.on.hidden_tools(&worker.agent));
    // What the model says to its client counts as words, not as calls.
    let runs = |state: &Checked| matches!(state, Checked::Run(request) if !matches!(request, ToolRequest::Say(_)));
    let to_run = checked.iter().filter(|(.., state)| runs(state)).count();
    let to_run = u32::try_from(to_run).unwrap_or(u32::MAX);
    if to_run == 0 {
        return Ok(checked);
    }
    let limits = &worker.agent.limits;
    match guards::before_tools(limits, spent, guards::Outside::default(), to_run) {
        Ok(()) => Ok(checked),
        Err(guards::Halt::Failed(domain::FailureCode::ToolCallLimit)) => Ok(checked
            .into_iter()
            .map(|(call, tool, _)| (call, tool, Checked::Answered(guards::over_limit())))
            .collect()),
        Err(other) => Err(halt(other)),
    }
}

/// The reason's word, as the step's row keeps it.
const fn word(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::StopSequence => "stop_sequence",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::ContextOverflow => "context_overflow",
        StopReason::Refusal => "refusal",
        StopReason::ContentFiltered => "content_filtered",
        StopReason::Guardrail => "guardrail",
        StopReason::MalformedOutput => "malformed_output",
        StopReason::Pause => "pause",
    }
}
