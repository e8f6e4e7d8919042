//! What clients get of a model's words.

use agent::{Body, StopReason};
use domain::{ArtifactContent, EventBody, TaskState};
use run_orchestrator::{Outcome, answer};
use serde_json::json;

use crate::common::{Setup, World, on_both};

#[tokio::test]
async fn t01_a_text_is_one_artifact_that_is_closed_at_the_end() {
    on_both(async |pool| {
        let world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.state().await, TaskState::Completed);
        assert_eq!(world.answer().await, "hi");
        let updates: Vec<_> = world
            .events()
            .await
            .into_iter()
            .filter_map(|event| match event {
                EventBody::Artifact(update) => {
                    Some((update.name.unwrap(), update.append, update.last_chunk, update.content))
                }
                _ => None,
            })
            .collect();
        let text = |text: &str| ArtifactContent::Text { text: text.to_owned() };
        let name = || answer::NAME.to_owned();
        assert_eq!(updates, [(name(), false, false, text("hi")), (name(), true, true, text(""))]);
        assert_eq!(world.model.calls().len(), 1);
        let log = world.log().await;
        assert_eq!(log.len(), 1);
        assert_eq!(log[0].text(), "hi");
    })
    .await;
}

#[tokio::test]
async fn the_model_is_shown_prompt_message_and_tools() {
    on_both(async |pool| {
        let mut world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        world.settings.publication = false;
        world.drive().await;
        let [(request, context)] = world.model.calls().try_into().unwrap();
        assert_eq!(request.system, ["Be good."]);
        assert_eq!(request.messages.len(), 1);
        assert_eq!(request.messages[0].text(), "hello");
        assert_eq!((context.step, context.attempt), (1, 1));
        let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert!(tools.contains(&"execute"));
        assert!(!tools.contains(&"publish_artifact"), "it is switched off here");
    })
    .await;
}

#[tokio::test]
async fn a_long_text_is_seen_while_it_is_said() {
    on_both(async |pool| {
        let text = "word ".repeat(40);
        let turn = json!({"text": text, "chunk": 20, "delay_ms": 8});
        let world = World::new(&pool, json!({"turns": [turn]})).await;
        world.drive().await;
        assert_eq!(world.answer().await, text);
        let updates = world.events().await;
        let pieces = updates.iter().filter(|event| matches!(event, EventBody::Artifact(_)));
        assert!(pieces.count() > 2, "{updates:?}");
    })
    .await;
}

#[tokio::test]
async fn texts_of_several_steps_are_joined_and_calls_are_told_without_arguments() {
    on_both(async |pool| {
        let call = json!({"name": "no_such_tool", "args": {"secret": "canary"}});
        let turns = json!([{"text": "First.", "tool_calls": [call]}, {"text": "Second."}]);
        let world = World::new(&pool, json!({"turns": turns})).await;
        world.drive().await;
        assert_eq!(world.answer().await, "First.\n\nSecond.");
        let events = world.events().await;
        assert!(!format!("{events:?}").contains("canary"));
        let tools: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                EventBody::ToolCalled { tool, .. } => Some((tool.as_str(), true, None)),
                EventBody::ToolFinished { tool, ok, code, .. } => {
                    Some((tool.as_str(), *ok, code.as_deref()))
                }
                _ => None,
            })
            .collect();
        let finished = ("no_such_tool", false, Some("UNKNOWN_TOOL"));
        assert_eq!(tools, [("no_such_tool", true, None), finished]);
    })
    .await;
}

/// T20, T21: nothing runs, and the model may try again in the same run.
#[tokio::test]
async fn t20_t21_calls_that_cannot_run_are_answered_at_once() {
    on_both(async |pool| {
        let calls = json!([
            {"name": "ls", "args": {"path": 3}},
            {"name": "no_such_tool", "args": {}},
            {"name": "publish_artifact", "args": {"path": "/workspace/a"}},
            {"name": "read_file", "args": {"file_path": "/workspace/../etc/passwd"}},
        ]);
        let broken = json!({"kind": "malformed_tool_json"});
        let turns = json!([
            {"tool_calls": calls},
            {"tool_calls": [{"name": "ls", "args": {"path": "."}}], "fault": broken},
            {"text": "done"},
        ]);
        let mut world = World::new(&pool, json!({"turns": turns})).await;
        world.settings.publication = false;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.state().await, TaskState::Completed);
        let log = world.log().await;
        let codes: Vec<_> = log
            .iter()
            .filter_map(|message| match &message.body {
                Body::Tool { code, .. } => code.clone(),
                _ => None,
            })
            .collect();
        assert_eq!(
            codes,
            [
                "INVALID_ARGUMENTS",
                "UNKNOWN_TOOL",
                "UNKNOWN_TOOL",
                "INVALID_PATH",
                "INVALID_ARGUMENTS"
            ]
        );
        assert_eq!(world.queues.sent(), [], "nothing needed a sandbox");
    })
    .await;
}

#[tokio::test]
async fn a_run_without_a_word_says_so_in_ours() {
    on_both(async |pool| {
        let world = World::new(&pool, json!({"turns": [{}]})).await;
        world.drive().await;
        assert_eq!(world.answer().await, answer::NO_RESPONSE);
        assert_eq!(world.state().await, TaskState::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_fails_the_task_and_keeps_what_was_said() {
    on_both(async |pool| {
        let turn = json!({"text": "I would rather not", "stop": StopReason::Refusal});
        let world = World::new(&pool, json!({"turns": [turn]})).await;
        world.drive().await;
        assert_eq!(world.state().await, TaskState::Failed);
        assert_eq!(world.code().await.as_deref(), Some("MODEL_REFUSED"));
        assert_eq!(world.answer().await, "I would rather not");
    })
    .await;
}

#[tokio::test]
async fn a_text_that_was_cut_is_kept_and_calls_that_are_cut_again_and_again_fail_the_run() {
    on_both(async |pool| {
        let turn = json!({"text": "and then", "stop": StopReason::MaxTokens});
        let world = World::new(&pool, json!({"turns": [turn]})).await;
        world.drive().await;
        assert_eq!(world.state().await, TaskState::Completed);
        assert_eq!(world.answer().await, "and then");

        let cut = json!({
            "tool_calls": [{"name": "ls", "args": {"path": "."}}],
            "stop": StopReason::MaxTokens,
            "fault": {"kind": "malformed_tool_json", "times": 9},
        });
        let world = World::new(&pool, json!({"turns": [cut], "repeat_last": true})).await;
        world.drive().await;
        assert_eq!(world.code().await.as_deref(), Some("MODEL_OUTPUT_TRUNCATED"));
        assert_eq!(world.model.calls().len(), 3);
    })
    .await;
}

/// T66 within one worker: the stream breaks after clients saw some of it.
#[tokio::test]
async fn t66_a_stream_that_broke_is_replaced_once_by_its_repetition() {
    on_both(async |pool| {
        let fault = json!({"kind": "disconnect_after_chunks", "chunks": 3});
        let spoken = json!({
            "text": "one two three four", "chunk": 4, "delay_ms": 30, "fault": fault,
        });
        let call = json!({"name": "no_such_tool", "args": {}});
        let turns = json!([{"text": "Before.", "tool_calls": [call]}, spoken]);
        let mut world = World::new(&pool, json!({"turns": turns})).await;
        world.settings.chunk_bytes = 4;
        world.drive().await;
        assert_eq!(world.answer().await, "Before.\n\none two three four");
        let replacing = world
            .events()
            .await
            .into_iter()
            .filter(|event| matches!(event, EventBody::Artifact(update) if !update.append));
        assert_eq!(replacing.count(), 2, "the first piece of all, and the repetition's first");
        assert_eq!(world.log().await.iter().filter(|m| !m.text().is_empty()).count(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_second_task_of_the_conversation_has_its_own_answer_and_sees_the_first() {
    on_both(async |pool| {
        let mut setup = Setup::new(json!({"turns": [{"text": "hi"}]}));
        setup.context = Some(format!("c-{}", domain::Ids::random().task()));
        let mut world = setup.clone().world(&pool).await;
        world.drive().await;
        world.taken = setup.admit(&pool).await;
        world.drive().await;
        assert_eq!(world.answer().await, "hi");
        let (request, _) = world.model.calls().pop().unwrap();
        let texts: Vec<_> = request.messages.iter().map(agent::Message::text).collect();
        assert_eq!(texts, ["hello", "hi", "hello"]);
    })
    .await;
}
