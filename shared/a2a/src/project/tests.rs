use domain::{ArtifactId, CallId};
use uuid::Uuid;

use super::*;

fn identity() -> Identity {
    Identity { task: TaskId::from_uuid(Uuid::from_u128(1)), context_id: "c".to_owned() }
}

fn publication() -> PublicationId {
    PublicationId::from_uuid(Uuid::from_u128(2))
}

fn file(content: PublishedContent) -> Resolved {
    let published = Published {
        filename: "r.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        content,
        sha256: "ab12".to_owned(),
        size: 5,
    };
    Resolved::from([(publication(), published)])
}

fn update(artifact: &str, append: bool, content: ArtifactContent) -> ArtifactUpdate {
    let artifact = ArtifactId(artifact.to_owned());
    ArtifactUpdate {
        artifact,
        name: None,
        append,
        last_chunk: false,
        content,
        about: About::default(),
    }
}

fn held(content: ArtifactContent) -> Held {
    Held { content, media_type: None, filename: None }
}

fn text(text: &str) -> ArtifactContent {
    ArtifactContent::Text { text: text.to_owned() }
}

fn data(json: &str) -> ArtifactContent {
    ArtifactContent::Data { json: json.to_owned() }
}

const PUBLISHED: fn() -> ArtifactContent =
    || ArtifactContent::Published { publication: publication() };

fn view() -> TaskView {
    TaskView {
        identity: identity(),
        agent: "analyst".to_owned().try_into().unwrap(),
        status: StatusView {
            run: RunId::from_uuid(Uuid::from_u128(3)),
            state: TaskState::Completed,
            at: Timestamp::from_micros(0),
            message: None,
            code: None,
        },
        history: Vec::new(),
        artifacts: Artifacts::default(),
        current_run: None,
        last_run: None,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn a_task_shows_what_is_stored_of_it() {
    let mut view = view();
    let stored = |kind, value: &str| StoredPart {
        part_id: "a2a-input-0".to_owned(),
        kind,
        value: value.to_owned(),
        media_type: None,
        filename: None,
        metadata: None,
    };
    view.history = vec![
        Said::ByUser {
            message_id: "m".to_owned(),
            parts: vec![
                stored(PartKind::Text, "hi"),
                stored(PartKind::Data, "{ \"a\":1,\"a\":2.0}"),
                stored(PartKind::Raw, "+/8="),
                stored(PartKind::Url, "https://example.com/x"),
            ],
            metadata: Some("{\"k\": 1e2}".to_owned()),
            extensions: vec!["urn:x".to_owned()],
            reference_task_ids: vec!["r".to_owned()],
        },
        Said::ByAgent { message_id: "a".to_owned(), text: "done".to_owned() },
    ];
    view.artifacts.apply(update("response", false, text("one ")));
    view.artifacts.apply(update("response", true, text("two")));
    view.last_run = Some(RunId::from_uuid(Uuid::from_u128(3)));
    let task = task(view, &Resolved::new()).unwrap();
    insta::assert_snapshot!(json(&task), @r#"{"id":"00000000-0000-0000-0000-000000000001","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","timestamp":"1970-01-01T00:00:00.000Z"},"artifacts":[{"artifactId":"response","parts":[{"text":"one two"}]}],"history":[{"messageId":"m","contextId":"c","taskId":"00000000-0000-0000-0000-000000000001","role":"ROLE_USER","parts":[{"text":"hi"},{"data":{ "a":1,"a":2.0}},{"raw":"+/8="},{"url":"https://example.com/x"}],"metadata":{"k": 1e2},"extensions":["urn:x"],"referenceTaskIds":["r"]},{"messageId":"a","contextId":"c","taskId":"00000000-0000-0000-0000-000000000001","role":"ROLE_AGENT","parts":[{"text":"done"}]}],"metadata":{"agentName":"analyst","currentRunId":null,"lastRunId":"00000000-0000-0000-0000-000000000003"}}"#);
}

fn event_of(body: EventBody) -> Event {
    Event {
        sequence: 1,
        task: identity().task,
        run: RunId::from_uuid(Uuid::from_u128(3)),
        at: Timestamp::from_micros(0),
        body,
    }
}

fn shown(body: EventBody) -> Option<StreamResponse> {
    event(&identity(), &event_of(body), &file(PublishedContent::Unavailable)).unwrap()
}

#[test]
fn a_failure_shows_its_code_and_a_stable_message() {
    let failed = EventBody::Status {
        state: TaskState::Failed,
        message: None,
        code: Some("MODEL_TIMEOUT".to_owned()),
    };
    insta::assert_snapshot!(json(&shown(failed)), @r#"{"statusUpdate":{"taskId":"00000000-0000-0000-0000-000000000001","contextId":"c","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"run-00000000-0000-0000-0000-000000000003-status-failed","contextId":"c","taskId":"00000000-0000-0000-0000-000000000001","role":"ROLE_AGENT","parts":[{"text":"MODEL_TIMEOUT"}],"metadata":{"cognition":{"failureCode":"MODEL_TIMEOUT"}}},"timestamp":"1970-01-01T00:00:00.000Z"}}}"#);
}

/// Each question of a task is told by a run of its own. The log and the task's own row say the same
/// of one, however often they are read.
#[test]
fn two_questions_of_one_task_are_two_messages_whoever_reads_them() {
    let ask = |run: u128, question: &str| {
        let (run, state) = (RunId::from_uuid(Uuid::from_u128(run)), TaskState::InputRequired);
        let body = EventBody::Status { state, message: Some(question.to_owned()), code: None };
        let asked = Event { run, ..event_of(body) };
        let status =
            StatusView { run, state, at: asked.at, message: Some(question.to_owned()), code: None };
        let row = task(TaskView { status, ..view() }, &Resolved::new()).unwrap().status;
        for _ in 0..2 {
            let told = event(&identity(), &asked, &Resolved::new()).unwrap();
            let Some(StreamResponse::StatusUpdate(told)) = told else { panic!("{told:?}") };
            assert_eq!(told.status, row);
        }
        row.message.unwrap().message_id
    };
    assert_ne!(ask(3, "Which one?"), ask(4, "Which one?"));
}

#[test]
fn tool_calls_are_not_shown() {
    let call = CallId("c".to_owned());
    let tool = "execute".to_owned();
    assert_eq!(shown(EventBody::ToolCalled { call: call.clone(), tool: tool.clone() }), None);
    assert_eq!(shown(EventBody::ToolFinished { call, tool, ok: true, code: None }), None);
}

/// Publication scenarios 34, 35, 41, 42: the same artifact, whatever became of its bytes.
#[test]
fn a_published_file_is_bytes_or_a_link_or_a_notice() {
    let part = |delivered| json(&content(held(PUBLISHED()), &file(delivered)).unwrap());
    insta::assert_snapshot!(part(PublishedContent::Inline(Base64::encode(b"ab"))), @r#"{"raw":"YWI=","filename":"r.csv","mediaType":"text/csv","metadata":{"cognition":{"sha256":"ab12","sizeBytes":5}}}"#);
    insta::assert_snapshot!(part(PublishedContent::SignedUrl("https://s3/x".to_owned())), @r#"{"url":"https://s3/x","filename":"r.csv","mediaType":"text/csv","metadata":{"cognition":{"sha256":"ab12","sizeBytes":5}}}"#);
    insta::assert_snapshot!(part(PublishedContent::Unavailable), @r#"{"text":"The published content is no longer available.","mediaType":"text/plain","metadata":{"cognition":{"contentAvailability":"unavailable","originalFilename":"r.csv","originalKind":"url","originalMediaType":"text/csv"}}}"#);
}

#[test]
fn what_nobody_resolved_is_not_shown_as_something_else() {
    let missing = Unprojectable::Unresolved(publication());
    let body = EventBody::Artifact(update("a", false, PUBLISHED()));
    assert_eq!(event(&identity(), &event_of(body), &Resolved::new()), Err(missing.clone()));
    let mut view = view();
    view.artifacts.apply(update("a", false, PUBLISHED()));
    assert_eq!(view.artifacts.publications().collect::<Vec<_>>(), [publication()]);
    assert_eq!(task(view, &Resolved::new()), Err(missing));
}

#[test]
fn stored_text_that_cannot_be_read_is_an_error() {
    assert_eq!(content(held(data("{")), &Resolved::new()), Err(Unprojectable::Json(InvalidJson)));
}

/// What a stream's reader holds that does what each update says.
fn applied_literally(updates: &[ArtifactUpdate]) -> Vec<(String, Vec<ArtifactContent>)> {
    let mut held: Vec<(String, Vec<ArtifactContent>)> = Vec::new();
    for update in updates {
        let place = held.iter().position(|(id, _)| *id == update.artifact.0);
        let place = place.unwrap_or_else(|| {
            held.push((update.artifact.0.clone(), Vec::new()));
            held.len() - 1
        });
        let (_, contents) = &mut held[place];
        if !update.append {
            contents.clear();
        }
        contents.push(update.content.clone());
    }
    held
}

/// O14.
#[test]
fn updates_add_up_to_what_a_streams_reader_holds() {
    let updates = [
        update("a", false, text("x")),
        update("b", true, data("1")),
        update("a", true, data("[2]")),
        update("a", true, text("y")),
        update("b", true, data("3")),
        update("c", false, text("gone")),
        update("c", false, PUBLISHED()),
        update("d", false, text("old")),
        update("d", false, text("new")),
    ];
    let merged: Artifacts = updates.iter().cloned().collect();
    let resolved = file(PublishedContent::SignedUrl("https://s3/x".to_owned()));
    let wire = merged.into_wire(&resolved).unwrap();
    let expected = applied_literally(&updates).into_iter().map(|(id, contents)| {
        let parts = contents.into_iter().map(|one| content(held(one), &resolved).unwrap());
        (id, parts.collect::<Vec<_>>())
    });
    let found = wire.into_iter().map(|artifact| (artifact.artifact_id, artifact.parts));
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// O14, publication scenario 29.
#[test]
fn chunks_of_text_become_one_text_under_the_artifacts_name() {
    let mut first = update("a", false, text("one "));
    first.name = Some("response".to_owned());
    let mut last = update("a", true, text(""));
    last.last_chunk = true;
    let artifacts: Artifacts =
        [first, update("a", true, text("two ")), update("a", true, text("three")), last]
            .into_iter()
            .collect();
    let wire = artifacts.into_wire(&Resolved::new()).unwrap();
    insta::assert_snapshot!(json(&wire), @r#"[{"artifactId":"a","name":"response","parts":[{"text":"one two three"}]}]"#);
}

fn about() -> About {
    About {
        description: Some("d".to_owned()),
        extensions: vec!["urn:e".to_owned()],
        media_type: Some("text/markdown".to_owned()),
        filename: Some("a.md".to_owned()),
    }
}

/// O13, X1: what is said of an artifact and of its content is shown, in a stream and in the task.
#[test]
fn an_artifact_shows_what_is_said_of_it() {
    let link = ArtifactContent::Link { url: "https://example.com/a.md".to_owned() };
    let said = ArtifactUpdate { about: about(), last_chunk: true, ..update("a", false, link) };
    let streamed = json(&shown(EventBody::Artifact(said.clone())));
    insta::assert_snapshot!(streamed, @r#"{"artifactUpdate":{"taskId":"00000000-0000-0000-0000-000000000001","contextId":"c","artifact":{"artifactId":"a","description":"d","parts":[{"url":"https://example.com/a.md","filename":"a.md","mediaType":"text/markdown"}],"extensions":["urn:e"]},"lastChunk":true}}"#);
    let artifacts: Artifacts = [said].into_iter().collect();
    let wire = json(&artifacts.into_wire(&Resolved::new()).unwrap());
    insta::assert_snapshot!(wire, @r#"[{"artifactId":"a","description":"d","parts":[{"url":"https://example.com/a.md","filename":"a.md","mediaType":"text/markdown"}],"extensions":["urn:e"]}]"#);
}

/// O14: chunks of one text become one text; a text of another file is another Part.
#[test]
fn text_goes_on_only_with_text_of_the_same_kind() {
    let of = |name: Option<&str>| About { filename: name.map(str::to_owned), ..About::default() };
    let piece = |append, words, name| ArtifactUpdate {
        about: of(name),
        ..update("a", append, text(words))
    };
    let artifacts: Artifacts = [
        piece(false, "1", Some("x")),
        piece(true, "2", None),
        piece(true, "3", Some("x")),
        piece(true, "4", Some("y")),
    ]
    .into_iter()
    .collect();
    let wire = json(&artifacts.into_wire(&Resolved::new()).unwrap());
    insta::assert_snapshot!(wire, @r#"[{"artifactId":"a","parts":[{"text":"123","filename":"x"},{"text":"4","filename":"y"}]}]"#);
}

#[test]
fn data_keeps_its_spelling_and_null_is_a_value() {
    let part = |json_text: &str| json(&content(held(data(json_text)), &Resolved::new()).unwrap());
    assert_eq!(
        part(r#"{"b":1.50,"a":1e2}"#),
        r#"{"data":{"b":1.50,"a":1e2},"mediaType":"application/json"}"#
    );
    assert_eq!(part("null"), r#"{"data":null,"mediaType":"application/json"}"#);
}

/// O1, scenario 33: a message of the log alone; who follows the task sees its status instead.
#[test]
fn a_direct_reply_is_a_message_that_is_the_same_for_everybody() {
    let said = event_of(EventBody::Reply { text: "nine to five".to_owned() });
    let message = reply(&identity(), &said).unwrap();
    insta::assert_snapshot!(json(&message), @r#"{"messageId":"run-00000000-0000-0000-0000-000000000003-reply","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"nine to five"}]}"#);
    assert_eq!(shown(said.body), None);
    let other =
        event_of(EventBody::Status { state: TaskState::Working, message: None, code: None });
    assert_eq!(reply(&identity(), &other), None);
}
