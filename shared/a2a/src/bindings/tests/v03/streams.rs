//! Streams as clients of 0.3 read them.

use super::*;
use crate::types::TaskArtifactUpdateEvent;

fn status(id: i64, state: TaskState) -> StreamEvent {
    let StreamResponse::StatusUpdate(mut update) = event(id).response else { unreachable!() };
    update.status.state = state;
    StreamEvent { id: Some(id), response: StreamResponse::StatusUpdate(update) }
}

/// Frames of 0.3, and the end where the task needs the client.
#[tokio::test]
async fn a_stream_is_bare_objects_and_ends_with_the_final_one() {
    let agent = || {
        let mut task = task("t");
        task.history.clear();
        let artifact = full_task().artifacts.remove(0);
        let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            artifact: Artifact { parts: vec![Part::text("x")], ..artifact },
            append: true,
            last_chunk: false,
            metadata: None,
        });
        Arc::new(Agent::streaming(vec![
            Ok(StreamEvent { id: Some(1), response: StreamResponse::Task(task) }),
            Ok(StreamEvent { id: Some(2), response: artifact }),
            Ok(status(3, TaskState::Working)),
            Ok(status(4, TaskState::InputRequired)),
            Ok(status(5, TaskState::Working)),
        ]))
    };
    let of_rpc = ask(&agent(), old_rpc("tasks/resubscribe", r#"{"id":"t"}"#)).await;
    insta::assert_snapshot!(of_rpc.text, @r#"
    id: 1
    data: {"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}

    id: 2
    data: {"jsonrpc":"2.0","id":1,"result":{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","name":"n","parts":[{"kind":"text","text":"x"}],"extensions":["urn:x"]},"append":true,"lastChunk":false}}

    id: 3
    data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false}}

    id: 4
    data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}}
    "#);
    let rest = ask(&agent(), old_rest(Method::GET, "/v1/tasks/t:subscribe", "")).await;
    insta::assert_snapshot!(rest.text, @r#"
    id: 1
    data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}

    id: 2
    data: {"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","name":"n","parts":[{"text":"x"}],"extensions":["urn:x"]},"append":true,"lastChunk":false}}

    id: 3
    data: {"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"final":false}}

    id: 4
    data: {"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true}}
    "#);
    // 1.0 goes on.
    let new = ask(&agent(), rpc("SubscribeToTask", r#"{"id":"t"}"#)).await;
    assert_eq!(new.text.matches("data: ").count(), 5);
    // The first event may be the final one.
    let over = Arc::new(Agent::streaming(vec![
        Ok(status(1, TaskState::Completed)),
        Ok(status(2, TaskState::Completed)),
    ]));
    let rpc = ask(&over, old_rpc("tasks/resubscribe", r#"{"id":"t"}"#)).await;
    assert_eq!(rpc.text.matches("data: ").count(), 1);
}

/// S5.
#[tokio::test]
async fn an_error_after_the_first_event_is_the_last_event() {
    let agent = || {
        let failure = A2aError::internal("req-1");
        let events = vec![Ok(status(1, TaskState::Working)), Err(failure), Ok(event(2))];
        Arc::new(Agent::streaming(events))
    };
    let last = |reply: &Reply| reply.text.split("\n\n").nth(1).unwrap().to_owned();
    let of_rpc = ask(&agent(), old_rpc("tasks/resubscribe", r#"{"id":"t"}"#)).await;
    insta::assert_snapshot!(last(&of_rpc), @r#"data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"requestId":"req-1"}}]}}"#);
    let rest = ask(&agent(), old_rest(Method::GET, "/v1/tasks/t:subscribe", "")).await;
    insta::assert_snapshot!(last(&rest), @r#"
    event: error
    data: {"code":-32603,"message":"internal error","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"requestId":"req-1"}}]}
    "#);
    assert_eq!(of_rpc.text.matches("data: ").count(), 2);
    assert_eq!(rest.text.matches("data: ").count(), 2);
}
