//! Messages: what is admitted, what is refused, and that nothing is left of what was refused.

use serde_json::json;
use store::runs::{Ending, finish};
use testkit::queues::Fault;
use testkit::{MemoryQueues, on_both};

use crate::common::{Call, claimed, id, message, scene, scene_with, sent};

#[tokio::test]
async fn a_message_is_a_task_and_a_wake_up_that_was_sent() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
        assert_eq!(task["history"][0]["messageId"], "m1");
        assert!(task["contextId"].is_string());
        assert_eq!(scene.queues.sent().len(), 1);
        assert_eq!(store::outbox::backlog(&pool).await.unwrap().0, 0, "nothing is left to send");
    })
    .await;
}

#[tokio::test]
async fn when_the_queue_is_down_the_message_stays_for_the_sweeper() {
    on_both(async |pool| {
        let down = MemoryQueues::new().always_failing(Fault::Unavailable);
        let scene = scene_with(&pool, down);
        sent(&scene, &message("m1")).await;
        assert_eq!(scene.queues.sent().len(), 0);
        assert_eq!(store::outbox::backlog(&pool).await.unwrap().0, 1);
    })
    .await;
}

#[tokio::test]
async fn scenario_10_parts_of_all_kinds_keep_their_order_and_their_values() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let parts = json!([
            {"text": "Analyze"},
            {"data": {"priority": 3, "x": 1.0}},
            {"raw": "aGVsbG8=", "filename": "note.txt", "mediaType": "text/plain"},
            {"url": "https://example.com/report.pdf", "mediaType": "application/pdf"},
            {"data": null},
        ]);
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts,
            "metadata": {"account": "other"}, "extensions": ["https://e.example/x"],
            "referenceTaskIds": ["t"]});
        let task = sent(&scene, &message).await;
        let history = &task["history"][0];
        assert_eq!(history["parts"], parts);
        assert_eq!(history["metadata"], message["metadata"]);
        assert_eq!(history["extensions"], message["extensions"]);
        assert_eq!(history["referenceTaskIds"], message["referenceTaskIds"]);
        // Metadata is no authority.
        let foreign = Call::rpc("GetTask", &json!({"id": task["id"]})).account("other");
        assert_eq!(foreign.code(&scene).await, -32001);
    })
    .await;
}

#[tokio::test]
async fn scenario_12_a_part_without_content_leaves_nothing_behind() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for parts in [
            json!([{}]),
            json!([]),
            json!([{"text": "a", "url": "https://b"}]),
            json!([{"raw": "%"}]),
        ] {
            let params =
                json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}});
            assert_eq!(Call::rpc("SendMessage", &params).code(&scene).await, -32602, "{parts}");
            let rest = Call::rest("POST", "/message:send", &params).send(&scene).await;
            assert_eq!(rest.status, 400);
        }
        assert_eq!(scene.queues.sent().len(), 0);
        let row = pool.query_opt("select count(*) as n from tasks", &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn scenario_14_an_undeclared_media_type_is_kept_or_refused_as_the_agent_says() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let part = json!({"raw": "", "mediaType": "application/x-unsupported"});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
        sent(&scene, &message).await;
        let mut strict = Call::rpc("SendMessage", &json!({"message": message}));
        strict.path = "/a2a/strict".to_owned();
        assert_eq!(strict.code(&scene).await, -32005);
    })
    .await;
}

#[tokio::test]
async fn scenario_18_and_19_a_repeated_message_is_its_task_and_a_reused_id_is_refused() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let first = sent(&scene, &message("m1")).await;
        let again = sent(&scene, &message("m1")).await;
        assert_eq!(first["id"], again["id"]);
        let other = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "else"}]});
        let call = Call::rpc("SendMessage", &json!({"message": other}));
        assert_eq!(call.code(&scene).await, -32602);
        assert_eq!(scene.queues.sent().len(), 1, "one run");
    })
    .await;
}

#[tokio::test]
async fn scenario_21_to_23_contexts_and_continuations() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut first = message("m1");
        first["contextId"] = json!("c1");
        let task = sent(&scene, &first).await;
        assert_eq!(task["contextId"], "c1");
        let send = |id: &str, more: serde_json::Value| {
            let mut message = message(id);
            for (key, value) in more.as_object().unwrap() {
                message[key] = value.clone();
            }
            let params = json!({"message": message, "configuration": {"returnImmediately": true}});
            Call::rpc("SendMessage", &params)
        };
        assert_eq!(send("m2", json!({"contextId": "c1"})).code(&scene).await, -32602);
        let foreign = send("m3", json!({"taskId": task["id"]})).account("other");
        assert_eq!(foreign.code(&scene).await, -32001);
        assert_eq!(send("m4", json!({"taskId": "no-id"})).code(&scene).await, -32001);
        let ask = Ending::InputRequired { message: "which year?".to_owned() };
        finish(&pool, claimed(&scene).await, &[], &ask).await.unwrap();
        let wrong = send("m5", json!({"taskId": task["id"], "contextId": "c2"}));
        assert_eq!(wrong.code(&scene).await, -32602);
        let more = send("m6", json!({"taskId": task["id"]})).result(&scene).await;
        assert_eq!(more["task"]["id"], task["id"]);
        assert_eq!(more["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
        finish(&pool, claimed(&scene).await, &[], &Ending::Completed).await.unwrap();
        let retry = send("m6", json!({"taskId": task["id"]})).result(&scene).await;
        assert_eq!(retry["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        let late = send("m7", json!({"taskId": task["id"]}));
        assert_eq!(late.code(&scene).await, -32004);
    })
    .await;
}

#[tokio::test]
async fn a_blocking_send_waits_for_the_end_and_for_a_question() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = Call::rpc("SendMessage", &json!({"message": message("m1")}));
        let work = async {
            testkit::eventually(std::time::Duration::from_secs(5), async || {
                scene.queues.sent().len() == 1
            })
            .await;
            let ask = Ending::InputRequired { message: "which year?".to_owned() };
            finish(&pool, claimed(&scene).await, &[], &ask).await.unwrap();
        };
        let (answer, ()) = tokio::join!(call.result(&scene), work);
        let status = &answer["task"]["status"];
        assert_eq!(status["state"], "TASK_STATE_INPUT_REQUIRED");
        assert_eq!(status["message"]["parts"][0]["text"], "which year?");
        let _ = id(&answer["task"]);
    })
    .await;
}
