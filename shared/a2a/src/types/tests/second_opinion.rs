//! What the official Rust types make of our JSON, and we of theirs.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;

/// Reads our JSON with the official type, and its JSON with ours: nothing is lost on the way.
#[track_caller]
fn agree<Theirs: DeserializeOwned + Serialize, Ours: DeserializeOwned + Serialize>(ours: &Ours) {
    let written = serde_json::to_string(ours).unwrap();
    let theirs: Theirs = serde_json::from_str(&written).unwrap();
    let back = serde_json::to_string(&theirs).unwrap();
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap();
    assert_eq!(value(&back), value(&written));
    let again: Ours = serde_json::from_str(&back).unwrap();
    assert_eq!(value(&serde_json::to_string(&again).unwrap()), value(&written));
}

#[test]
fn the_official_types_read_what_we_write_and_the_reverse() {
    agree::<a2a_lf::Task, Task>(&task());
    agree::<a2a_lf::StreamResponse, StreamResponse>(&StreamResponse::Task(task()));
    let message = message(Role::User, Part::text("hello"));
    agree::<a2a_lf::StreamResponse, StreamResponse>(&StreamResponse::Message(message.clone()));
    for state in TaskState::ALL {
        let status = TaskStatus {
            state: *state,
            message: Some(message.clone()),
            timestamp: Some(Timestamp::from_micros(1_790_000_000_123_000)),
        };
        let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
        let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
        agree::<a2a_lf::StreamResponse, _>(&StreamResponse::StatusUpdate(update));
    }
    for (append, last_chunk) in [(false, false), (true, false), (true, true)] {
        let update = TaskArtifactUpdateEvent {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            artifact: task().artifacts.remove(0),
            append,
            last_chunk,
            metadata: None,
        };
        agree::<a2a_lf::StreamResponse, _>(&StreamResponse::ArtifactUpdate(update));
    }
}

#[test]
fn we_read_what_the_official_client_sends() {
    let theirs = a2a_lf::SendMessageRequest {
        message: a2a_lf::Message::new(a2a_lf::Role::User, vec![a2a_lf::Part::text("hello")]),
        configuration: None,
        metadata: None,
        tenant: None,
    };
    let json = serde_json::to_string(&theirs).unwrap();
    let request = SendMessageRequest::read(&json, Place::default()).unwrap();
    assert_eq!(request.message.parts, [Part::text("hello")]);
    assert_eq!(request.message.role, Role::User);
}
