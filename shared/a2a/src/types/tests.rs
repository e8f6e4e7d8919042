mod probes;
mod requests;
mod second_opinion;

use proptest::prelude::*;

use super::*;

fn message(role: Role, part: Part) -> Message {
    Message {
        message_id: "m".to_owned(),
        context_id: Some("c".to_owned()),
        task_id: None,
        role,
        parts: vec![part],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
}

fn task() -> Task {
    let data = Content::Data(JsonText::new("[1, 2.0]".to_owned()).unwrap());
    Task {
        id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus {
            state: TaskState::InputRequired,
            message: Some(message(Role::Agent, Part::text("Which one?"))),
            timestamp: Some(Timestamp::from_micros(1_790_000_000_123_456)),
        },
        artifacts: vec![Artifact {
            artifact_id: "a".to_owned(),
            name: Some("report".to_owned()),
            description: None,
            parts: vec![Part {
                filename: Some("r.bin".to_owned()),
                media_type: Some("application/octet-stream".to_owned()),
                metadata: Some(JsonObject::new(r#"{"k":1}"#.to_owned()).unwrap()),
                ..Part::new(Content::Raw(Base64::encode(&[0xfb, 0xff])))
            }],
            metadata: None,
            extensions: vec!["urn:x".to_owned()],
        }],
        history: vec![message(Role::User, Part::new(data))],
        metadata: None,
    }
}

#[test]
fn a_task_is_written_as_the_protocol_has_it() {
    let task = task();
    let json = serde_json::to_string(&task).unwrap();
    insta::assert_snapshot!(json, @r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"Which one?"}]},"timestamp":"2026-09-21T14:13:20.123Z"},"artifacts":[{"artifactId":"a","name":"report","parts":[{"raw":"+/8=","filename":"r.bin","mediaType":"application/octet-stream","metadata":{"k":1}}],"extensions":["urn:x"]}],"history":[{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"data":[1, 2.0]}]}]}"#);
    let back: Task = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
}

#[test]
fn stream_events_name_their_one_member() {
    let update = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        artifact: task().artifacts.remove(0),
        append: false,
        last_chunk: true,
        metadata: None,
    });
    let json = serde_json::to_string(&update).unwrap();
    insta::assert_snapshot!(json, @r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","name":"report","parts":[{"raw":"+/8=","filename":"r.bin","mediaType":"application/octet-stream","metadata":{"k":1}}],"extensions":["urn:x"]},"lastChunk":true}}"#);
    assert_eq!(serde_json::from_str::<StreamResponse>(&json).unwrap(), update);

    let update = StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus { state: TaskState::Completed, message: None, timestamp: None },
        metadata: None,
    });
    let json = serde_json::to_string(&update).unwrap();
    insta::assert_snapshot!(json, @r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#);
    assert_eq!(serde_json::from_str::<StreamResponse>(&json).unwrap(), update);
}

#[test]
fn a_request_that_we_write_is_one_that_we_read() {
    let mut request = SendMessageRequest::new(message(Role::User, Part::text("hello")));
    let json = serde_json::to_string(&request).unwrap();
    assert_eq!(
        json,
        r#"{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hello"}]}}"#
    );
    request.configuration.return_immediately = true;
    request.configuration.history_length = Some(0);
    let json = serde_json::to_string(&request).unwrap();
    assert_eq!(SendMessageRequest::read(&json, Place::default()), Ok(request));
}

/// O7.
#[test]
fn a_history_is_cut_to_its_last_messages() {
    let mut task = task();
    task.history = ["1", "2", "3"].map(|text| message(Role::User, Part::text(text))).to_vec();
    let texts = |task: &Task| task.history.iter().map(|m| m.parts[0].clone()).collect::<Vec<_>>();
    task.limit_history(None);
    task.limit_history(Some(5));
    assert_eq!(task.history.len(), 3);
    task.limit_history(Some(2));
    assert_eq!(texts(&task), [Part::text("2"), Part::text("3")]);
    task.limit_history(Some(0));
    assert!(!serde_json::to_string(&task).unwrap().contains("history"));
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        proptest::num::f64::NORMAL.prop_map(|n| format!("{n:e}")),
        any::<String>().prop_map(|s| serde_json::Value::from(s).to_string()),
        Just(r#""\u0000\ud83d\ude00""#.to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[ {} ]", items.join(" ,\n"))),
            // The same key each time: repeated keys must survive.
            proptest::collection::vec(inner, 0..4).prop_map(|items| {
                let members: Vec<_> = items.iter().map(|item| format!("\"k\" : {item}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        any::<String>().prop_map(Content::Text),
        any::<Vec<u8>>().prop_map(|bytes| Content::Raw(Base64::encode(&bytes))),
        any::<String>().prop_map(Content::Url),
        json().prop_map(|json| Content::Data(JsonText::new(json).unwrap())),
    ];
    let text = || proptest::option::of(".+");
    let metadata = json().prop_map(|json| JsonObject::new(format!("{{\"m\":{json}}}")).unwrap());
    (content, text(), text(), proptest::option::of(metadata)).prop_map(
        |(content, filename, media_type, metadata)| Part {
            content,
            filename,
            media_type,
            metadata,
        },
    )
}

proptest! {
    #[test]
    fn any_part_reads_back_as_it_was_written(part in part()) {
        let json = serde_json::to_string(&part).unwrap();
        prop_assert_eq!(serde_json::from_str::<Part>(&json).unwrap(), part);
    }

    #[test]
    fn no_bytes_make_the_reader_fail_badly(text in any::<String>()) {
        let _ = serde_json::from_str::<Part>(&text);
        let _ = SendMessageRequest::read(&text, Place::default());
    }
}
