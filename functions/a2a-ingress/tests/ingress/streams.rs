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

use crate::common::{Call, Scene, claimed, id, message, scene, sent};

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
            eventually(Duration::from_secs(60), async || scene.queues.sent().len() == 1).await;
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
        let beyond = beyond.raw(&scene).await;
        let (beyond, ()) = tokio::join!(text(beyond), work(&scene));
        let beyond = events(&beyond);
        assert_eq!(
            beyond.last().unwrap().1["statusUpdate"]["status"]["state"],
            last["statusUpdate"]["status"]["state"]
        );
        assert_eq!(Call::rpc("SubscribeToTask", &params).code(&scene).await, -32004);
    })
    .await;
}

#[tokio::test]
async fn who_comes_back_after_any_event_gets_exactly_the_rest() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let params = json!({"id": task["id"]});
        let whole = Call::rpc("SubscribeToTask", &params).raw(&scene).await;
        let worker = async {
            let lease = claimed(&scene).await;
            for ordinal in 0..7 {
                say(&pool, &lease, ordinal, &format!("{ordinal} ")).await;
            }
            finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        };
        let (whole, ()) = tokio::join!(text(whole), worker);
        let whole = events(&whole);
        assert_eq!(whole.len(), 10, "the task, working, seven chunks and the end");
        // The context goes on, and with it its log.
        let mut next = message("m2");
        next["contextId"] = task["contextId"].clone();
        sent(&scene, &next).await;
        for (seen, (id, _)) in whole.iter().enumerate() {
            let rest = whole.get(seen + 1..).unwrap();
            for call in [
                Call::rpc("SubscribeToTask", &params),
                Call::rpc("SendStreamingMessage", &json!({"message": message("m1")})),
            ] {
                let call = call.with("Last-Event-ID", &id.to_string());
                let reply = call.send(&scene).await;
                if !rest.is_empty() {
                    assert_eq!(events(&reply.body), rest, "after {id}");
                } else if call.body.contains("SubscribeToTask") {
                    assert_eq!(reply.json()["error"]["code"], -32004, "all is seen and over");
                } else {
                    let repeated = events(&reply.body);
                    assert_eq!(repeated.len(), 1, "the task as it is");
                    let state = &repeated[0].1["task"]["status"]["state"];
                    assert_eq!(state, "TASK_STATE_COMPLETED");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_breaks_off_after_every_event_misses_none() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let params = json!({"id": task["id"]});
        let subscribe = Call::rpc("SubscribeToTask", &params);
        // Both have their snapshot before anything happens.
        let (whole, first) = (subscribe.raw(&scene).await, subscribe.raw(&scene).await);
        let restless = async {
            let mut seen: Vec<(i64, Value)> = Vec::new();
            let mut stream = first;
            let is_over = |seen: &[(i64, Value)]| {
                seen.last().is_some_and(|(_, event)| {
                    event["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
                })
            };
            loop {
                // One piece of the stream, and it is gone.
                let piece = stream.into_body().frame().await.unwrap().unwrap();
                let piece = piece.into_data().unwrap();
                let new = events(str::from_utf8(&piece).unwrap());
                assert!(!new.is_empty(), "each time there was something unread");
                seen.extend(new);
                if is_over(&seen) {
                    return seen;
                }
                let last = seen.last().unwrap().0.to_string();
                let again = Call::rpc("SubscribeToTask", &params).with("Last-Event-ID", &last);
                stream = again.raw(&scene).await;
            }
        };
        let (whole, seen, ()) = tokio::join!(text(whole), restless, work(&scene));
        assert_eq!(seen, events(&whole));
    })
    .await;
}

#[tokio::test]
async fn a_task_of_thousands_of_chunks_is_read_with_as_many_statements_as_a_short_one() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut costs = Vec::new();
        for (number, chunks) in [2_i64, 3000].into_iter().enumerate() {
            let task = sent(&scene, &message(&format!("m{number}"))).await;
            let lease = claimed(&scene).await;
            say(&pool, &lease, 0, "0").await;
            say(&pool, &lease, 1, "1").await;
            let more = "insert into events (session_id, sequence, scope_digest, task_id, run_id,
                                            kind, payload, created_at)
                 with recursive n(i) as (select 4 union all select i + 1 from n where i <= $2)
                 select e.session_id, n.i + 1, e.scope_digest, e.task_id, e.run_id, e.kind,
                        e.payload, e.created_at
                   from n join events e on e.task_id = $1 and e.sequence = 4
                  where n.i <= $2";
            pool.execute(more, &[id(&task).into(), (chunks + 1).into()]).await.unwrap();
            let before = pool.statements();
            let read = Call::rpc("GetTask", &json!({"id": task["id"]})).result(&scene).await;
            costs.push(pool.statements() - before);
            let text = read["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
            assert_eq!(text.len(), usize::try_from(chunks).unwrap());
        }
        assert_eq!(costs[0], costs[1]);
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
        // It has its snapshot before anything happens.
        let reply = subscribe.raw(&scene).await;
        let (reply, ()) = tokio::join!(text(reply), worker);
        let states: Vec<String> = events(&reply)
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
