//! Direct replies: a message in place of a task, the same one however often it is asked for.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::runs::{Ending, finish};
use testkit::{eventually, on_both};

use crate::common::{Call, Scene, claimed, message, scene};

fn valet(method: &str, params: &Value) -> Call {
    Call { path: "/a2a/valet".to_owned(), ..Call::rpc(method, params) }
}

/// Plays the worker of the next message: it replies directly.
async fn reply(scene: &Scene, sent: usize, text: &str) {
    eventually(Duration::from_secs(60), async || scene.queues.sent().len() == sent).await;
    let replied = Ending::Replied { text: text.to_owned() };
    finish(&scene.pool, claimed(scene).await, &[], &replied).await.unwrap();
}

fn results(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone()).collect()
}

/// O1: exactly one of `task` and `message`.
#[tokio::test]
async fn scenario_33_a_direct_reply_is_one_message_and_a_retry_gets_the_same() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let params = json!({"message": message("m1")});
        let call = valet("SendMessage", &params);
        let (first, ()) = tokio::join!(call.result(&scene), reply(&scene, 1, "nine to five"));
        assert_eq!(first["task"], Value::Null, "{first}");
        let said = &first["message"];
        assert_eq!(said["role"], "ROLE_AGENT");
        assert_eq!(said["parts"], json!([{"text": "nine to five"}]));
        assert!(said["contextId"].is_string() && said["taskId"].is_null(), "{said}");
        assert_eq!(call.result(&scene).await, first);
        let streamed = valet("SendStreamingMessage", &params).send(&scene).await;
        assert_eq!(results(&streamed.body), std::slice::from_ref(&first));
        // O2: not waiting makes no difference to what is a message already.
        let hurried =
            json!({"message": message("m1"), "configuration": {"returnImmediately": true}});
        assert_eq!(valet("SendMessage", &hurried).result(&scene).await, first);
        let mut rest = Call::rest("POST", "/message:send", &params);
        rest.path = "/a2a/valet/message:send".to_owned();
        assert_eq!(rest.send(&scene).await.json(), first);
        assert_eq!(scene.queues.sent().len(), 1, "one run");
    })
    .await;
}

/// S2: either exactly one message, or the task and what happens to it.
#[tokio::test]
async fn scenario_33_a_stream_of_a_direct_reply_is_exactly_one_message() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = valet("SendStreamingMessage", &json!({"message": message("m1")}));
        let (streamed, ()) = tokio::join!(call.send(&scene), reply(&scene, 1, "nine to five"));
        assert_eq!(streamed.headers["content-type"], "text/event-stream");
        let [only] = results(&streamed.body).try_into().unwrap();
        assert_eq!(only["message"]["parts"][0]["text"], "nine to five");
        assert!(!streamed.body.contains("id: "), "there is nothing to resume");
    })
    .await;
}

#[tokio::test]
async fn who_does_not_wait_finds_the_words_in_the_tasks_status() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let hurried =
            json!({"message": message("m1"), "configuration": {"returnImmediately": true}});
        let task = valet("SendMessage", &hurried).result(&scene).await["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
        // O10: who follows the task gets the words with its last status.
        let follow = valet("SubscribeToTask", &json!({"id": task["id"]}));
        // It has its snapshot before anything happens.
        let followed = follow.raw(&scene).await.into_body();
        let (followed, ()) = tokio::join!(followed.collect(), reply(&scene, 1, "nine to five"));
        let followed = followed.unwrap().to_bytes();
        let followed = results(str::from_utf8(&followed).unwrap());
        assert!(followed[0]["task"].is_object());
        assert!(followed.iter().all(|event| event["message"].is_null()), "{followed:?}");
        let last = &followed.last().unwrap()["statusUpdate"]["status"];
        let later = valet("GetTask", &json!({"id": task["id"]})).result(&scene).await;
        for status in [last, &later["status"]] {
            assert_eq!(status["state"], "TASK_STATE_COMPLETED");
            assert_eq!(status["message"]["parts"][0]["text"], "nine to five");
        }
    })
    .await;
}

/// A stream that has shown its task stays one of a task.
#[tokio::test]
async fn a_reply_that_comes_late_is_told_with_the_status() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = valet("SendStreamingMessage", &json!({"message": message("m1")}));
        let mut body = call.raw(&scene).await.into_body();
        let mut seen = String::new();
        while !seen.contains("data: ") {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            seen.push_str(std::str::from_utf8(&frame).unwrap());
        }
        // S6: nothing had to keep the stream open before that.
        assert!(seen.starts_with("id: "), "{seen}");
        // The task is shown: now it is too late for a bare message.
        reply(&scene, 1, "late").await;
        let rest = body.collect().await.unwrap().to_bytes();
        seen.push_str(std::str::from_utf8(&rest).unwrap());
        let events = results(&seen);
        assert_eq!(events[0]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
        let last = &events.last().unwrap()["statusUpdate"]["status"];
        assert_eq!(last["message"]["parts"][0]["text"], "late");
    })
    .await;
}

/// What was held back is all there, in its order: the task as it was first, then what happened.
#[tokio::test]
async fn an_agent_that_may_reply_but_works_streams_everything() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = valet("SendStreamingMessage", &json!({"message": message("m1")}));
        let worker = async {
            eventually(Duration::from_secs(60), async || scene.queues.sent().len() == 1).await;
            let end = Ending::Concluded { message: "done".to_owned() };
            finish(&scene.pool, claimed(&scene).await, &[], &end).await.unwrap();
        };
        let (streamed, ()) = tokio::join!(call.send(&scene), worker);
        let events = results(&streamed.body);
        assert_eq!(events[0]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
        let states: Vec<_> = events
            .iter()
            .filter_map(|event| event["statusUpdate"]["status"]["state"].as_str())
            .collect();
        assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
        // O1: a completed task with a word in its status is no direct reply.
        let again = valet("SendMessage", &json!({"message": message("m1")})).result(&scene).await;
        assert!(again["task"].is_object() && again["message"].is_null(), "{again}");
    })
    .await;
}
