//! Streams: the task first, then what happens, the same for everybody, and a way back in.

use std::time::Duration;

use a2a_ingress::ResponseBody;
use domain::{About, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody};
use http::Response;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::events::Place;
use store::runs::{Ending, Output, PlacedEvent, append, finish};
use store::{Lease, Pool};
use testkit::{eventually, on_both};

use crate::common::{Call, Scene, claimed, message, scene, sent};

/// The events of an SSE body: id and `result`.
fn events(body: &str) -> Vec<(i64, Value)> {
    let mut events = Vec::new();
    let mut id = 0;
    for line in body.lines() {
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.parse().unwrap();
        } else if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            events.push((id, data["result"].clone()));
        }
    }
    events
}

async fn text(response: Response<ResponseBody>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn say(pool: &Pool, lease: &Lease, ordinal: i32, text: &str) {
    let body = EventBody::Artifact(ArtifactUpdate {
        artifact: ArtifactId::response(lease.task()),
        name: Some("response".to_owned()),
        append: ordinal > 0,
        last_chunk: false,
        content: ArtifactContent::Text { text: text.to_owned() },
        about: About::default(),
    });
    let place = Place { step: 1, attempt: 1, ordinal };
    append(pool, lease, &[PlacedEvent { place, body }], Output::default()).await.unwrap();
}

/// Plays the worker of the newest message: two chunks of text, then the end.
async fn work(scene: &Scene) {
    let lease = claimed(scene).await;
    say(&scene.pool, &lease, 0, "one ").await;
    say(&scene.pool, &lease, 1, "two").await;
    finish(&scene.pool, lease, &[], &Ending::Completed).await.unwrap();
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_last_status() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = Call::rpc("SendStreamingMessage", &json!({"message": message("m1")}));
        let worker = async {
            eventually(Duration::from_secs(5), async || scene.queues.sent().len() == 1).await;
            work(&scene).await;
        };
        let (reply, ()) = tokio::join!(call.send(&scene), worker);
        assert_eq!(reply.headers["content-type"], "text/event-stream");
        let events = events(&reply.body);
        assert_eq!(events[0].1["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
        let states: Vec<&str> = events
            .iter()
            .filter_map(|(_, e)| e["statusUpdate"]["status"]["state"].as_str())
            .collect();
        assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
        let text: String = events
            .iter()
            .filter_map(|(_, e)| e["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str())
            .collect();
        assert_eq!(text, "one two");
        let ids: Vec<i64> = events.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5]);
        assert!(events.last().unwrap().1["statusUpdate"].is_object());
    })
    .await;
}

#[tokio::test]
async fn scenario_31_two_subscribers_see_the_same_and_one_comes_back_without_a_gap() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let params = json!({"id": task["id"]});
        let subscribe = Call::rpc("SubscribeToTask", &params);
        let rest = Call::rest(
            "GET",
            &format!("/tasks/{}:subscribe", task["id"].as_str().unwrap()),
            &Value::Null,
        );
        // Both have their snapshot before anything happens.
        let (one, two) = (subscribe.raw(&scene).await, rest.raw(&scene).await);
        let (one, two, ()) = tokio::join!(text(one), text(two), work(&scene));
        let one = events(&one);
        let two: Vec<Value> = two
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        let seen: Vec<Value> = one.iter().map(|(_, event)| event.clone()).collect();
        assert_eq!(seen, two);
        let (middle, _) = one[2];
        let resumed =
            Call::rpc("SubscribeToTask", &params).with("Last-Event-ID", &middle.to_string());
        let resumed = events(&resumed.send(&scene).await.body);
        assert_eq!(resumed, one[3..]);
        // An id that the log never gave hides nothing that is still to come, and ends with the task.
        let (_, last) = one.last().unwrap();
        let other = sent(&scene, &message("m9")).await;
        let beyond = Call::rpc("SubscribeToTask", &json!({"id": other["id"]}))
            .with("Last-Event-ID", "99999999999");
        let (beyond, ()) = tokio::join!(beyond.send(&scene), work(&scene));
        let beyond = events(&beyond.body);
        assert_eq!(
            beyond.last().unwrap().1["statusUpdate"]["status"]["state"],
            last["statusUpdate"]["status"]["state"]
        );
        assert_eq!(Call::rpc("SubscribeToTask", &params).code(&scene).await, -32004);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_streaming_message_joins_its_task() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let again = Call::rpc("SendStreamingMessage", &json!({"message": message("m1")}));
        // It has its snapshot before anything happens.
        let reply = again.raw(&scene).await;
        let (reply, ()) = tokio::join!(text(reply), work(&scene));
        let events = events(&reply);
        assert_eq!(events[0].1["task"]["id"], task["id"]);
        let last = &events.last().unwrap().1;
        assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        let over = Call::rpc("SendStreamingMessage", &json!({"message": message("m1")}));
        let body = over.send(&scene).await.body;
        assert_eq!(self::events(&body).len(), 1, "the task as it is, and nothing more");
    })
    .await;
}

#[tokio::test]
async fn a_stream_stays_open_while_the_task_waits_for_its_client() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let subscribe = Call::rpc("SubscribeToTask", &json!({"id": task["id"]}));
        let worker = async {
            let ask = Ending::InputRequired { message: "which?".to_owned() };
            finish(&pool, claimed(&scene).await, &[], &ask).await.unwrap();
            let mut more = message("m2");
            more["taskId"] = task["id"].clone();
            sent(&scene, &more).await;
            work(&scene).await;
        };
        let (reply, ()) = tokio::join!(subscribe.send(&scene), worker);
        let states: Vec<String> = events(&reply.body)
            .iter()
            .filter_map(|(_, e)| e["statusUpdate"]["status"]["state"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(
            states,
            [
                "TASK_STATE_WORKING",
                "TASK_STATE_INPUT_REQUIRED",
                "TASK_STATE_SUBMITTED",
                "TASK_STATE_WORKING",
                "TASK_STATE_COMPLETED"
            ]
        );
    })
    .await;
}
