use std::collections::BTreeSet;

use domain::Ids;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::Block;
use crate::turn::{CallArgs, StepKey, TurnCall};
use crate::{dangling, guards};

fn user(ids: &Ids) -> Message {
    Message::user(ids.message(), vec![Block::text("hi")])
}

fn valid(name: &str, args: &serde_json::Value) -> TurnCall {
    TurnCall {
        id: None,
        name: name.into(),
        args: CallArgs::Object(args.as_object().unwrap().clone()),
        written: args.to_string(),
    }
}

fn cut() -> TurnCall {
    let args = CallArgs::Invalid { raw: "{".into(), reason: "cut off".into() };
    TurnCall { id: None, name: "ls".into(), args, written: "{".into() }
}

fn assistant(ids: &Ids, text: &str, calls: Vec<TurnCall>, stop: StopReason) -> Message {
    let turn =
        AssistantTurn { text: text.into(), calls, stop, usage: None, provider_request: None };
    let at = StepKey { run: ids.run(), step: 1, attempt: 1, provider: "p", model: "m" };
    turn.into_message(at, &BTreeSet::new())
}

fn answer(ids: &Ids, message: &Message, log: &mut Vec<Message>) {
    for (id, name) in message.calls() {
        log.push(ToolResult::success("x").into_message(ids.message(), id, name));
    }
}

fn completed(truncated: bool) -> Next {
    Next::Finish(Outcome::Completed { truncated })
}

fn failed(code: FailureCode) -> Next {
    Next::Finish(Outcome::Failed(code))
}

fn after(text: &str, calls: Vec<TurnCall>, stop: StopReason) -> Next {
    let ids = Ids::seeded(1);
    next(&[user(&ids), assistant(&ids, text, calls, stop)])
}

#[test]
fn t01_an_answer_without_calls_ends_the_run() {
    assert_eq!(after("hi", vec![], StopReason::EndTurn), completed(false));
    assert_eq!(after("hi", vec![], StopReason::StopSequence), completed(false));
    assert_eq!(after("", vec![], StopReason::ToolUse), completed(false));
}

#[test]
fn t02_calls_run_and_then_the_model_goes_on() {
    let ids = Ids::seeded(1);
    let args = json!({"file_path": "a.txt", "content": "x"});
    let calls = vec![valid("write_file", &args), valid("ls", &json!({"path": "."}))];
    let asked = assistant(&ids, "", calls, StopReason::ToolUse);
    let mut log = vec![user(&ids), asked.clone()];
    let all: Vec<_> = asked.calls().into_iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(next(&log), Next::Tools(all.clone()));
    log.push(ToolResult::success("x").into_message(ids.message(), &all[0], "write_file"));
    assert_eq!(next(&log), Next::Tools(vec![all[1].clone()]), "only what is open");
    log.push(ToolResult::success("x").into_message(ids.message(), &all[1], "ls"));
    assert_eq!(next(&log), Next::Model);
}

#[test]
fn calls_run_even_where_the_provider_says_that_the_turn_has_ended() {
    let calls = || vec![valid("ls", &json!({"path": "."}))];
    assert!(matches!(after("", calls(), StopReason::EndTurn), Next::Tools(_)));
    assert!(matches!(after("", calls(), StopReason::Pause), Next::Tools(_)));
    assert!(matches!(after("", calls(), StopReason::MaxTokens), Next::Tools(_)));
}

#[test]
fn nothing_and_a_fresh_request_are_told_apart() {
    assert_eq!(next(&[]), completed(false));
    assert_eq!(next(&[user(&Ids::seeded(1))]), Next::Model);
}

#[test]
fn a_new_request_is_answered_whatever_lies_before_it() {
    let ids = Ids::seeded(1);
    let open = assistant(&ids, "", vec![cut()], StopReason::Refusal);
    let mut log = vec![user(&ids), open, user(&ids)];
    assert_eq!(next(&log), Next::Model);
    log.extend(dangling::patches(&log, &BTreeSet::new()));
    assert_eq!(next(&log), Next::Model, "a patch behind the request changes nothing");
}

#[test]
fn a_cut_text_is_kept_and_said_to_be_cut() {
    assert_eq!(after("half", vec![], StopReason::MaxTokens), completed(true));
}

#[test]
fn a_cut_call_is_answered_twice_in_a_row_and_then_the_run_fails() {
    let ids = Ids::seeded(1);
    let mut log = vec![user(&ids)];
    for round in 0..3 {
        let message = assistant(&ids, "", vec![cut()], StopReason::MaxTokens);
        log.push(message.clone());
        if round < 2 {
            assert!(matches!(next(&log), Next::Tools(_)), "round {round}");
            answer(&ids, &message, &mut log);
            assert_eq!(next(&log), Next::Model);
        }
    }
    assert_eq!(next(&log), failed(FailureCode::ModelOutputTruncated));
}

#[test]
fn a_whole_answer_between_two_cut_ones_starts_the_count_anew() {
    let ids = Ids::seeded(1);
    let mut log = vec![user(&ids)];
    let whole = || vec![valid("ls", &json!({"path": "."}))];
    for calls in [vec![cut()], vec![cut()], whole(), vec![cut()], vec![cut()]] {
        let message = assistant(&ids, "", calls, StopReason::MaxTokens);
        log.push(message.clone());
        answer(&ids, &message, &mut log);
        assert_eq!(next(&log), Next::Model);
    }
}

#[test]
fn a_refusal_and_an_overflow_fail_and_run_nothing() {
    for stop in [StopReason::Refusal, StopReason::ContentFiltered, StopReason::Guardrail] {
        let calls = vec![valid("ls", &json!({"path": "."}))];
        assert_eq!(after("sorry", calls, stop), failed(FailureCode::ModelRefused));
    }
    let overflow = after("", vec![], StopReason::ContextOverflow);
    assert_eq!(overflow, failed(FailureCode::ContextOverflow));
}

#[test]
fn a_paused_model_is_called_again() {
    assert_eq!(after("so far", vec![], StopReason::Pause), Next::Model);
}

#[test]
fn malformed_output_is_asked_for_once_more() {
    let ids = Ids::seeded(1);
    let turn = |calls| AssistantTurn {
        text: String::new(),
        calls,
        stop: StopReason::MalformedOutput,
        usage: None,
        provider_request: None,
    };
    assert_eq!(accept(&turn(vec![]), 1), Accept::Repeat);
    assert_eq!(accept(&turn(vec![]), 2), Accept::Commit);
    assert_eq!(after("", vec![], StopReason::MalformedOutput), failed(FailureCode::ModelMalformed));

    let call = valid("delete", &json!({"file_path": "a"}));
    let message = assistant(&ids, "", vec![call], StopReason::MalformedOutput);
    assert!(message.tool_calls().is_empty(), "a call of a malformed answer must not run");
    assert!(matches!(next(&[user(&ids), message]), Next::Tools(_)));
}

#[test]
fn t20_calls_that_cannot_run_are_answered_and_the_others_run() {
    let ids = Ids::seeded(1);
    let calls = vec![
        valid("ls", &json!({"path": 7})),
        valid("fly", &json!({"canary": "canary"})),
        valid("execute", &json!({"command": "x"})),
        cut(),
        valid("delete", &json!({"file_path": "a"})),
        valid("ls", &json!({"path": "."})),
    ];
    let message = assistant(&ids, "", calls, StopReason::ToolUse);
    let checked = check(&message, &["execute".into()], &["delete".into()]);
    let codes: Vec<_> = checked
        .iter()
        .map(|(_, _, state)| match state {
            Checked::Run(_) => "run",
            Checked::Answered(result) => result.code.unwrap().as_str(),
        })
        .collect();
    let expected = [
        "INVALID_ARGUMENTS",
        "UNKNOWN_TOOL",
        "TOOL_BLOCKED",
        "INVALID_ARGUMENTS",
        "UNKNOWN_TOOL",
        "run",
    ];
    assert_eq!(codes, expected);
    for (_, _, state) in &checked {
        if let Checked::Answered(result) = state {
            let text = format!("{:?}", result.content);
            assert!(!text.contains("canary"), "no value is repeated");
            assert!(result.code != Some(ToolCode::UnknownTool) || !text.contains("delete"));
        }
    }
}

fn any_stop() -> impl Strategy<Value = StopReason> {
    prop::sample::select(vec![
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::Pause,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::MalformedOutput,
    ])
}

fn any_turn() -> impl Strategy<Value = (Vec<bool>, StopReason)> {
    (proptest::collection::vec(any::<bool>(), 0..4), any_stop())
}

proptest! {
    /// Follows the routing through a run whose answers and result orders are drawn.
    #[test]
    fn no_call_is_left_open_when_the_model_is_asked_or_the_run_completes(
        turns in proptest::collection::vec(any_turn(), 1..8),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let ids = Ids::seeded(5);
        let mut log = vec![user(&ids)];
        let mut turns = turns.into_iter();
        loop {
            let here = next(&log);
            prop_assert_eq!(&here, &next(&log), "the same log, the same answer");
            let open = dangling::patches(&log, &BTreeSet::new());
            match here {
                Next::Model => {
                    prop_assert!(open.is_empty());
                    let Some((calls, stop)) = turns.next() else { break };
                    let call = |ok| if ok { valid("ls", &json!({"path": "."})) } else { cut() };
                    let calls = calls.into_iter().map(call).collect();
                    let turn = AssistantTurn {
                        text: String::new(), calls, stop, usage: None, provider_request: None,
                    };
                    let step = u32::try_from(log.len()).unwrap();
                    let at =
                        StepKey { run: ids.run(), step, attempt: 1, provider: "p", model: "m" };
                    log.push(turn.into_message(at, &history::call_ids(&log)));
                }
                Next::Tools(calls) => {
                    prop_assert_eq!(calls.len(), open.len());
                    let call = &calls[shuffle.index(calls.len())];
                    log.push(guards::over_limit().into_message(ids.message(), call, "ls"));
                }
                Next::Finish(Outcome::Completed { .. }) => {
                    prop_assert!(open.is_empty());
                    break;
                }
                Next::Finish(Outcome::Said(_) | Outcome::Failed(_)) => break,
            }
        }
    }
}

#[test]
fn a_last_word_ends_the_run_once_the_other_calls_of_its_turn_have_their_results() {
    let ids = Ids::seeded(1);
    let calls = vec![
        valid("ls", &json!({"path": "."})),
        valid("ask_client", &json!({"question": "which?"})),
    ];
    let asked = assistant(&ids, "", calls, StopReason::ToolUse);
    let [ls, ask]: [CallId; 2] =
        asked.calls().iter().map(|(id, _)| (*id).clone()).collect::<Vec<_>>().try_into().unwrap();
    let word = LastWord::Asked { question: "which?".into(), need: crate::speech::Need::Input };
    let said = ToolResult::success("x").with(ToolArtifact::LastWord { word: word.clone() });
    let mut log = vec![user(&ids), asked];
    log.push(said.into_message(ids.message(), &ask, "ask_client"));
    assert_eq!(next(&log), Next::Tools(vec![ls.clone()]));
    log.push(ToolResult::success("x").into_message(ids.message(), &ls, "ls"));
    assert_eq!(next(&log), Next::Finish(Outcome::Said(word)));
    // The client's answer begins another run.
    log.push(user(&ids));
    assert_eq!(next(&log), Next::Model);
}

#[test]
fn a_call_of_that_name_without_the_word_in_its_result_ends_nothing() {
    let ids = Ids::seeded(1);
    let call = valid("conclude", &json!({"message": "x"}));
    let asked = assistant(&ids, "", vec![call], StopReason::ToolUse);
    let mut log = vec![user(&ids), asked.clone()];
    let refused = ToolResult::from(tools::unknown(&[]));
    log.push(refused.into_message(ids.message(), asked.calls()[0].0, "conclude"));
    assert_eq!(next(&log), Next::Model);
}
