use std::collections::BTreeSet;

use agent::conversation::{Block, ToolArtifact};
use agent::render::{PartContent, RenderedPart};
use agent::turn::StepKey;
use agent::{AssistantTurn, CallArgs, Message, ToolCode, ToolResult, Usage};
use domain::Ids;
use futures_util::StreamExt as _;

use super::*;
use crate::collect;

/// A conversation with one scenario.
struct Talk {
    model: ScriptedModel,
    ids: Ids,
    log: Vec<Message>,
}

impl Talk {
    fn new(scenario: &str, said: &str) -> Self {
        let scenario = Scenario::parse(scenario).unwrap();
        let model = ScriptedModel::new().with("s", scenario);
        let mut talk = Self { model, ids: Ids::seeded(1), log: vec![] };
        talk.say(said);
        talk
    }

    /// Says something under a `messageId` of the client's choice.
    fn say_as(&mut self, id: &str, content: Vec<Block>) {
        let message = Message::user(self.ids.message(), content);
        self.log.push(message.with_client_id(Some(id.to_owned())));
    }

    fn say(&mut self, text: &str) {
        self.log.push(Message::user(self.ids.message(), vec![Block::text(text)]));
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            model: "s".into(),
            system: vec![],
            messages: self.log.clone(),
            tools: vec![],
        }
    }

    fn context(&self, attempt: u32) -> CallContext {
        let step = u32::try_from(self.log.len()).unwrap();
        CallContext { run: self.ids.run(), step, attempt, timeout: Duration::from_secs(9) }
    }

    async fn attempt(&self, attempt: u32) -> Result<AssistantTurn, ErrorClass> {
        let stream = self.model.stream(self.request(), self.context(attempt)).await;
        collect(stream.map_err(|error| error.class)?).await.map_err(|error| error.class)
    }

    /// Lets the model speak, and every call of it be answered.
    async fn step(&mut self, result: &ToolResult) -> AssistantTurn {
        let turn = self.attempt(1).await.unwrap();
        let at = StepKey { run: self.ids.run(), step: 1, attempt: 1, provider: "p", model: "s" };
        let message = turn.clone().into_message(at, &BTreeSet::new());
        self.log.push(message.clone());
        for (id, name) in message.calls() {
            let result = result.clone().into_message(self.ids.message(), id, name);
            self.log.push(result);
        }
        turn
    }
}

fn args(turn: &AssistantTurn) -> String {
    match &turn.calls[0].args {
        CallArgs::Object(args) => serde_json::to_string(args).unwrap(),
        CallArgs::Invalid { raw, .. } => format!("invalid {raw}"),
    }
}

#[tokio::test]
async fn t01_a_text_is_said_in_pieces_and_ends_the_turn() {
    let scenario = r#"{"turns":[{"text":"héllo","chunk":2,"usage":{"input":3,"output":2}}]}"#;
    let talk = Talk::new(scenario, "hi");
    let stream = talk.model.stream(talk.request(), talk.context(1)).await.unwrap();
    let events: Vec<_> = stream.map(|event| event.unwrap()).collect().await;
    let text = |text: &str| ModelEvent::TextDelta { index: 0, text: text.into() };
    assert_eq!(
        events,
        [
            ModelEvent::Start { request: Some("scripted-1-1".into()) },
            text("hé"),
            text("ll"),
            text("o"),
            ModelEvent::Usage(Usage::new(3, 2)),
            ModelEvent::Stop(StopReason::EndTurn),
        ]
    );
}

#[tokio::test]
async fn t02_turns_follow_the_conversation_and_not_the_process() {
    let scenario = r#"{"turns":[
        {"tool_calls":[{"name":"write_file","args":{"file_path":"a","content":"x"}}]},
        {"text":"done"}
    ]}"#;
    let mut talk = Talk::new(scenario, "hi");
    let first = talk.step(&ToolResult::success("ok")).await;
    assert_eq!(first.stop, StopReason::ToolUse);
    assert_eq!(args(&first), r#"{"content":"x","file_path":"a"}"#);
    let elsewhere = Talk { model: talk.model.clone(), ids: Ids::seeded(9), log: talk.log.clone() };
    assert_eq!(elsewhere.attempt(1).await.unwrap().text, "done");
    assert_eq!(talk.step(&ToolResult::success("ok")).await.text, "done");
    assert_eq!(talk.attempt(1).await, Err(ErrorClass::ScriptExhausted));
    talk.say("again");
    assert_eq!(talk.attempt(1).await.unwrap().calls.len(), 1, "a new request starts anew");
}

#[tokio::test]
async fn a_turn_speaks_only_when_its_conditions_hold() {
    let scenario = r#"{"turns":[
        [{"when":{"last_user_contains":"loud"},"tool_calls":[{"name":"ls"}]},
         {"when":{"last_user_contains":"quiet"},"tool_calls":[{"name":"glob"}]}],
        [{"when":{"last_tool":"ls"},"text":"LS"},{"when":{"last_tool":"glob"},"text":"glob"}]
    ]}"#;
    for (said, answer) in [("be loud", "LS"), ("be quiet", "glob")] {
        let mut talk = Talk::new(scenario, said);
        talk.step(&ToolResult::success("ok")).await;
        assert_eq!(talk.attempt(1).await.unwrap().text, answer);
    }
    let talk = Talk::new(scenario, "hm");
    assert_eq!(talk.attempt(1).await, Err(ErrorClass::ScriptExhausted));
}

#[tokio::test]
async fn templates_read_the_conversation() {
    let scenario = r#"{"turns":[
        {"tool_calls":[{"name":"read_file","args":{"file_path":"{{user.artifact}}"}}]},
        {"text":"{{tool.status}} {{tool.code}} {{ tool.text }} {{tool.artifact/exit_code}}|{{tool.artifact/none}} {{"}
    ]}"#;
    let mut talk = Talk::new(scenario, "look at {\"artifact\": \"/artifacts/a2a-input-1\"}");
    let mut result = ToolResult::error(ToolCode::ToolFailed, "broke");
    result.artifact = Some(ToolArtifact::Command { exit_code: Some(3) });
    let first = talk.step(&result).await;
    assert_eq!(args(&first), r#"{"file_path":"/artifacts/a2a-input-1"}"#);
    assert_eq!(talk.attempt(1).await.unwrap().text, "error TOOL_FAILED broke 3| {{");
}

#[tokio::test]
async fn t52_a_fault_strikes_as_many_attempts_as_it_says() {
    let scenario = |times, wait| {
        format!(
            r#"{{"turns":[{{"text":"ok","fault":{{"kind":"throttle","times":{times},"retry_after_ms":{wait}}}}}]}}"#
        )
    };
    let talk = Talk::new(&scenario(2, 120_000), "hi");
    for attempt in [1, 2] {
        let error = talk.model.stream(talk.request(), talk.context(attempt)).await.err().unwrap();
        assert_eq!(error.class, ErrorClass::RateLimited);
        assert_eq!(error.retry_after, Some(Duration::from_mins(2)));
    }
    assert_eq!(talk.attempt(3).await.unwrap().text, "ok");
    assert_eq!(talk.attempt(1).await, Err(ErrorClass::RateLimited), "nothing is counted");
}

#[tokio::test]
async fn every_fault_is_of_the_class_that_it_is_named_after() {
    for (kind, class) in [
        ("throttle", ErrorClass::RateLimited),
        ("overloaded", ErrorClass::Overloaded),
        ("server_error", ErrorClass::ServerError),
        ("overflow", ErrorClass::ContextOverflow),
        ("timeout", ErrorClass::Timeout),
        ("auth", ErrorClass::Auth),
        ("disconnect_after_chunks", ErrorClass::Connection),
    ] {
        let scenario = format!(r#"{{"turns":[{{"text":"ok","fault":{{"kind":"{kind}"}}}}]}}"#);
        let talk = Talk::new(&scenario, "hi");
        assert_eq!(talk.attempt(1).await, Err(class), "{kind}");
        assert_eq!(talk.attempt(2).await.unwrap().text, "ok");
    }
}

#[tokio::test]
async fn t21_broken_arguments_and_refusals_can_be_played() {
    let scenario = r#"{"turns":[
        {"tool_calls":[{"name":"ls","args":{"path":"."}}],"fault":{"kind":"malformed_tool_json"}},
        {"text":"no","tool_calls":[{"name":"ls"}],"fault":{"kind":"refusal"}}
    ]}"#;
    let mut talk = Talk::new(scenario, "hi");
    let first = talk.step(&ToolResult::success("ok")).await;
    assert_eq!(args(&first), r#"invalid {"path":".""#);
    let second = talk.attempt(1).await.unwrap();
    assert_eq!((second.stop, second.calls.len()), (StopReason::Refusal, 0));
    assert_eq!(second.text, "no");
}

#[tokio::test]
async fn a_broken_text_has_said_what_it_had_said() {
    let scenario = r#"{"turns":[{"text":"abcdef","chunk":2,
        "fault":{"kind":"disconnect_after_chunks","chunks":2}}]}"#;
    let talk = Talk::new(scenario, "hi");
    let stream = talk.model.stream(talk.request(), talk.context(1)).await.unwrap();
    let events: Vec<_> = stream.collect().await;
    let text = |event: &Result<ModelEvent, ModelError>| match event {
        Ok(ModelEvent::TextDelta { text, .. }) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(text).collect::<String>(), "abcd");
    assert!(events.last().unwrap().is_err());
}

#[tokio::test]
async fn a_script_may_repeat_its_last_turn_for_ever() {
    let scenario =
        r#"{"repeat_last":true,"turns":[{"tool_calls":[{"name":"ls","args":{"path":"."}}]}]}"#;
    let mut talk = Talk::new(scenario, "hi");
    for _ in 0..5 {
        assert_eq!(talk.step(&ToolResult::success("ok")).await.calls.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn pieces_come_at_their_pace() {
    let scenario = r#"{"turns":[{"text":"abc","chunk":1,"delay_ms":100}]}"#;
    let talk = Talk::new(scenario, "hi");
    let start = tokio::time::Instant::now();
    talk.attempt(1).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(400));
}

#[tokio::test]
async fn an_unknown_scenario_is_a_matter_of_configuration() {
    let mut talk = Talk::new(r#"{"turns":[]}"#, "hi");
    assert_eq!(talk.attempt(1).await, Err(ErrorClass::ScriptExhausted));
    talk.model = ScriptedModel::new();
    assert_eq!(talk.attempt(1).await, Err(ErrorClass::Config));
}

#[test]
fn a_scenario_that_cannot_work_is_refused_when_it_is_loaded() {
    let refused = |json: &str| Scenario::parse(json).unwrap_err().to_string();
    assert_eq!(refused("{"), "read the scenario");
    assert_eq!(refused(r#"{"turns":[{"txt":""}]}"#), "read turn 0 of the scenario");
    assert_eq!(
        refused(r#"{"turns":[{"text":""},[{"text":"{{tool.txt}}"}]]}"#),
        "turn 1 of the scenario reads {{tool.txt}}, which does not exist"
    );
    let nested = r#"{"turns":[{"tool_calls":[{"name":"ls","args":{"a":["{{x}}"]}}]}]}"#;
    assert!(refused(nested).contains("{{x}}"));
}

#[test]
fn a_folder_of_scenarios_is_loaded_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one.json"), r#"{"turns":[]}"#).unwrap();
    fs::write(folder.path().join("notes.txt"), "not a scenario").unwrap();
    let scripted = ScriptedModel::load(folder.path()).unwrap();
    assert_eq!(scripted.scenarios.keys().collect::<Vec<_>>(), ["one"]);

    fs::write(folder.path().join("two.json"), "{").unwrap();
    let error = ScriptedModel::load(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), r#"use scenario "two""#);
    assert!(matches!(ScriptedModel::load(&folder.path().join("none")), Err(LoadError::Folder(_))));
}

#[tokio::test]
async fn a_turn_is_chosen_by_how_the_message_begins() {
    let scenario = r#"{"turns":[[
        {"when":{"message_id_starts_with":"ask-again"},"text":"id, longer"},
        {"when":{"message_id_starts_with":"ask"},"text":"id"},
        {"when":{"first_text_starts_with":"ask"},"text":"text"},
        {"text":"neither"}
    ]]}"#;
    let mut talk = Talk::new(scenario, "ask me");
    assert_eq!(talk.attempt(1).await.unwrap().text, "text", "it has no id");
    let cases = [
        ("ask-again-1", "hi", "id, longer"),
        ("ask-1", "ask", "id"),
        ("m1", "ask", "text"),
        ("m1", "please ask", "neither"),
        ("x-ask", "", "neither"),
    ];
    for (id, text, expected) in cases {
        talk.say_as(id, vec![Block::text(text)]);
        assert_eq!(talk.attempt(1).await.unwrap().text, expected, "{id} {text}");
    }
    // The first text Part, whatever stands before it and whatever is said of it.
    let part = |content| {
        Block::Part(RenderedPart {
            index: 0,
            filename: None,
            media_type: Some("text/plain".into()),
            metadata: None,
            content,
        })
    };
    let data = part(PartContent::Data { json: r#""ask""#.into() });
    talk.say_as("m2", vec![data.clone(), part(PartContent::Text { text: "ask".into() })]);
    assert_eq!(talk.attempt(1).await.unwrap().text, "text");
    talk.say_as("m3", vec![data]);
    assert_eq!(talk.attempt(1).await.unwrap().text, "neither");
}

#[tokio::test]
async fn no_model_is_shown_the_clients_message_id() {
    let mut talk = Talk::new(r#"{"turns":[{"text":"{{user.text}}"}]}"#, "hi");
    talk.say_as("canary", vec![Block::text("hello")]);
    assert_eq!(talk.attempt(1).await.unwrap().text, "hello");
}

#[tokio::test]
async fn numbers_in_arguments_are_said_as_they_are_written() {
    let scenario = r#"{"turns":[{"tool_calls":[
        {"name":"put_artifact","args":{"data": {"b":1.50,"a":1e2}}},
        {"name":"put_artifact","args":{"name":"{{user.text}}","data":1.50}},
        {"name":"ls"}
    ]}]}"#;
    let turn = Talk::new(scenario, "hi").attempt(1).await.unwrap();
    let written: Vec<_> = turn.calls.iter().map(|call| call.written.as_str()).collect();
    let filled = r#"{"data":1.5,"name":"hi"}"#;
    assert_eq!(written, [r#"{"data": {"b":1.50,"a":1e2}}"#, filled, "{}"]);
}
