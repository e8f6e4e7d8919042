//! What a model says to its client by tools: each word once, whoever dies.

use agent::{Body, Role, ToolCode};
use domain::{About, ArtifactContent, ArtifactUpdate, EventBody, TaskState};
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::Pool;
use testkit::{Database, killed_after};

use crate::common::{Setup, World, on_both};
use crate::rig::Rig;
use crate::tools::write;

#[expect(clippy::needless_pass_by_value, reason = "made where it is called")]
fn call(tool: &str, args: Value) -> Value {
    json!({"name": tool, "args": args})
}

fn put(args: Value) -> Value {
    call("put_artifact", args)
}

/// An agent that has all of these tools.
#[expect(clippy::needless_pass_by_value, reason = "made where it is called")]
fn speaker(turns: Value) -> Setup {
    let tools = json!(["ask_client", "decline_task", "reply_directly", "conclude", "put_artifact"]);
    Setup { client_tools: tools, ..Setup::new(json!({ "turns": turns })) }
}

async fn driven(pool: &Pool, turns: Value) -> (World, Outcome) {
    let world = speaker(turns).world(pool).await;
    let outcome = world.drive().await;
    (world, outcome)
}

/// What was handed over, in its order.
async fn updates(world: &World) -> Vec<ArtifactUpdate> {
    let updates = world.events().await.into_iter().filter_map(|event| match event {
        EventBody::Artifact(update) => Some(update),
        _ => None,
    });
    updates.collect()
}

async fn codes(world: &World) -> Vec<Option<String>> {
    let log = world.log().await;
    let codes = log.into_iter().filter_map(|message| match message.body {
        Body::Tool { code, .. } => Some(code),
        _ => None,
    });
    codes.collect()
}

#[tokio::test]
async fn each_last_word_ends_the_task_as_it_says_without_a_placeholder() {
    on_both(async |pool| {
        let cases = [
            ("ask_client", json!({"question": "w"}), TaskState::InputRequired),
            (
                "ask_client",
                json!({"question": "w", "need": "authorization"}),
                TaskState::AuthRequired,
            ),
            ("decline_task", json!({"reason": "w"}), TaskState::Rejected),
            ("reply_directly", json!({"text": "w"}), TaskState::Completed),
            ("conclude", json!({"message": "w"}), TaskState::Completed),
        ];
        for (tool, args, state) in cases {
            let (world, outcome) = driven(&pool, json!([{"tool_calls": [call(tool, args)]}])).await;
            let waits = state.is_interrupted();
            assert_eq!(outcome, if waits { Outcome::Paused } else { Outcome::Terminal });
            let task = world.task().await;
            assert_eq!((task.state, task.status_message.as_deref()), (state, Some("w")), "{tool}");
            assert_eq!(updates(&world).await, [], "{tool}");
            let events = world.events().await;
            let replies = events.iter().filter(|event| matches!(event, EventBody::Reply { .. }));
            assert_eq!(replies.count(), usize::from(tool == "reply_directly"), "{tool}");
            assert_eq!(world.model.calls().len(), 1, "the model is not asked again");
        }
    })
    .await;
}

/// O16: the client's next message starts a run that sees question and answer.
#[tokio::test]
async fn a_question_is_answered_by_the_next_message_of_the_task() {
    on_both(async |pool| {
        let ask = call("ask_client", json!({"question": "Which year?"}));
        let asking = speaker(json!([{"text": "Well.", "tool_calls": [ask]}]));
        let first = asking.world(&pool).await;
        assert_eq!(first.drive().await, Outcome::Paused);
        assert!(!updates(&first).await.iter().any(|update| update.last_chunk), "it goes on");
        let answering = Setup {
            says: "2025".to_owned(),
            task: Some(first.taken.task),
            ..speaker(json!([{"text": "So be it."}]))
        };
        let second = answering.world(&pool).await;
        assert_eq!(second.drive().await, Outcome::Terminal);
        assert_eq!(second.state().await, TaskState::Completed);
        assert_eq!(second.answer().await, "Well.\n\nSo be it.");
        let [(request, _)] = second.model.calls().try_into().unwrap();
        let seen: Vec<_> = request.messages.iter().map(|m| (m.role(), m.text())).collect();
        let told = "The question was put to the client.".to_owned();
        let said = |role, text: &str| (role, text.to_owned());
        assert_eq!(
            seen,
            [
                said(Role::User, "hello"),
                said(Role::Assistant, "Well."),
                (Role::Tool, told),
                said(Role::User, "2025")
            ]
        );
        assert_eq!(request.messages[1].tool_calls()[0].args["question"], "Which year?");
    })
    .await;
}

#[tokio::test]
async fn text_beside_a_last_word_is_the_answer_and_is_closed() {
    on_both(async |pool| {
        let conclude = call("conclude", json!({"message": "done"}));
        let (world, _) = driven(&pool, json!([{"text": "So.", "tool_calls": [conclude]}])).await;
        assert_eq!(world.answer().await, "So.");
        assert!(updates(&world).await.last().unwrap().last_chunk);
    })
    .await;
}

/// Scenario 30: each kind streams exactly once, with its last chunk; numbers stay as written.
#[tokio::test]
async fn scenario_30_each_kind_of_content_is_one_update() {
    on_both(async |pool| {
        let calls = json!([
            put(json!({"text": "t", "name": "n", "description": "d", "extensions": ["urn:e"]})),
            put(json!({"data": null})),
            put(json!({"url": "https://example.com/x", "filename": "x", "media_type": "a/b"})),
        ]);
        let scenario = json!({"turns": [{"tool_calls": calls}, {}]}).to_string();
        let scenario = scenario.replace(r#""data":null"#, r#""data":{"a":1.50,"b":1e2}"#);
        let taken = speaker(json!([])).admit(&pool).await;
        let world = World::played(&pool, taken, &scenario);
        assert_eq!(world.drive().await, Outcome::Terminal);
        let updates = updates(&world).await;
        assert!(updates.iter().all(|update| update.last_chunk && !update.append), "{updates:?}");
        let contents: Vec<_> = updates.iter().map(|update| update.content.clone()).collect();
        let expected = [
            ArtifactContent::Text { text: "t".into() },
            ArtifactContent::Data { json: r#"{"a":1.50,"b":1e2}"#.into() },
            ArtifactContent::Link { url: "https://example.com/x".into() },
        ];
        assert_eq!(contents, expected);
        let about = About {
            description: Some("d".into()),
            extensions: vec!["urn:e".into()],
            ..About::default()
        };
        assert_eq!((updates[0].name.as_deref(), &updates[0].about), (Some("n"), &about));
        assert_eq!(updates[2].about.media_type.as_deref(), Some("a/b"));
        // The answer is there without a word of ours: the artifacts are the result.
        assert_eq!(world.state().await, TaskState::Completed);
    })
    .await;
}

/// O14, and the order of calls in one turn and over several.
#[tokio::test]
async fn what_cannot_be_said_any_more_is_told_to_the_model() {
    on_both(async |pool| {
        let chunk = |text: &str, append: bool, last: bool| {
            put(json!({"artifact_id": "a", "text": text, "append": append, "last_chunk": last}))
        };
        let turns = json!([
            {"tool_calls": [chunk("1", false, false), chunk("2", true, true), chunk("3", true, true)]},
            {"tool_calls": [chunk("4", true, true)]},
            {"tool_calls": [
                call("conclude", json!({"message": "first"})),
                call("decline_task", json!({"reason": "second"})),
            ]},
        ]);
        let (world, _) = driven(&pool, turns).await;
        let code = |code: ToolCode| Some(code.as_str().to_owned());
        let closed = || code(ToolCode::ArtifactClosed);
        let ending = code(ToolCode::AlreadyEnding);
        assert_eq!(codes(&world).await, [None, None, closed(), closed(), None, ending]);
        let text: String = updates(&world)
            .await
            .into_iter()
            .map(|update| match update.content {
                ArtifactContent::Text { text } => text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, "12");
        assert_eq!(world.task().await.status_message.as_deref(), Some("first"));
    })
    .await;
}

#[tokio::test]
async fn an_agent_has_only_the_tools_that_its_definition_names() {
    on_both(async |pool| {
        let turns =
            json!([{"tool_calls": [call("conclude", json!({"message": "x"}))]}, {"text": "."}]);
        let setup = Setup { client_tools: json!(["ask_client"]), ..speaker(turns) };
        let world = setup.world(&pool).await;
        world.drive().await;
        assert_eq!(codes(&world).await, [Some("UNKNOWN_TOOL".to_owned())]);
        let (request, _) = &world.model.calls()[0];
        let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert!(tools.contains(&"ask_client") && !tools.contains(&"conclude"), "{tools:?}");
    })
    .await;
}

/// Scenario 32.
#[tokio::test]
async fn scenario_32_artifacts_count_to_the_output_limits() {
    on_both(async |pool| {
        let many: Vec<_> = (0..101).map(|n| put(json!({ "data": n }))).collect();
        let (world, _) = driven(&pool, json!([{"tool_calls": many}])).await;
        assert_eq!(world.code().await.as_deref(), Some("OUTPUT_ARTIFACTS_EXCEEDED"));
        let pieces: Vec<_> = (0..101)
            .map(|n| {
                put(json!({"artifact_id": "a", "data": n, "append": true, "last_chunk": false}))
            })
            .collect();
        let (world, _) = driven(&pool, json!([{"tool_calls": pieces}, {}])).await;
        assert_eq!(world.state().await, TaskState::Completed, "one artifact");
    })
    .await;
}

/// A state of failure has a status message, and what was handed over before stays.
#[tokio::test]
async fn a_run_that_fails_keeps_its_artifacts_and_makes_up_none() {
    on_both(async |pool| {
        let turns = json!([{"tool_calls": [put(json!({"text": "t"}))]}]);
        let (world, _) = driven(&pool, turns).await;
        assert_eq!(world.code().await.as_deref(), Some("SCRIPT_EXHAUSTED"));
        assert!(world.task().await.status_message.is_some_and(|message| !message.is_empty()));
        assert_eq!(updates(&world).await.len(), 1);
    })
    .await;
}

/// The other calls of the turn are made first.
#[tokio::test]
async fn calls_beside_a_last_word_are_still_made() {
    on_both(async |pool| {
        let rig = Rig::new();
        let conclude = call("conclude", json!({"message": "done"}));
        let turns = json!([{"tool_calls": [conclude, write("a.txt", "x")]}]);
        let mut world = speaker(turns).world(&pool).await;
        world.settings.time.patience = std::time::Duration::from_secs(30);
        rig.settle(&world).await;
        assert_eq!(world.task().await.status_message.as_deref(), Some("done"));
        assert_eq!(rig.file(&world, "a.txt").await.as_deref(), Some("x"));
        assert_eq!(world.model.calls().len(), 1);
    })
    .await;
}

/// T72: dropped at every await, the lease aged, delivered again.
#[tokio::test]
async fn t72_a_worker_that_dies_at_any_await_says_each_word_once() {
    let database = Database::sqlite().await;
    let pool = database.pool(2).await;
    let chunk = |text: &str, last: bool| {
        put(json!({"artifact_id": "a", "text": text, "append": true, "last_chunk": last}))
    };
    let turns = json!([
        {"text": "One.", "chunk": 2, "tool_calls": [chunk("1", false), put(json!({"data": 1}))]},
        {"text": "Two.", "tool_calls": [chunk("2", true), call("reply_directly", json!({"text": "w"}))]},
    ]);
    for polls in 0.. {
        let mut world = speaker(turns.clone()).world(&pool).await;
        world.settings.chunk_bytes = 4;
        let survived = killed_after(polls, world.deliver()).await.is_some();
        world.age_lease().await;
        world.deliver().await.unwrap();
        let context = format!("killed after {polls} polls");
        assert_eq!(world.endings().await, [TaskState::Completed], "{context}");
        assert_eq!(world.answer().await, "One.\n\nTwo.", "{context}");
        let own = updates(&world).await.into_iter().filter(|update| update.about.is_silent());
        let put: Vec<_> = own.filter(|update| update.name.is_none()).map(|u| u.content).collect();
        let text = |text: &str| ArtifactContent::Text { text: text.into() };
        let data = ArtifactContent::Data { json: "1".into() };
        assert_eq!(put, [text("1"), data, text("2")], "{context}");
        let replies = world.events().await.into_iter();
        let replies = replies.filter(|event| matches!(event, EventBody::Reply { .. }));
        assert_eq!(replies.count(), 1, "{context}");
        if survived {
            assert!(polls > 30, "the worker was killed at {polls} awaits only");
            break;
        }
    }
}
