//! S1 to S8: streams, and taking them up again.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::client::{Client, Events, Seen, everywhere, kind, message, reply};

fn ends(event: &Value) -> bool {
    let state = event["statusUpdate"]["status"]["state"].as_str().unwrap_or_default();
    ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].iter().any(|end| state.ends_with(end))
}

fn says(seen: &[Seen]) -> Vec<&Value> {
    seen.iter().map(|seen| &seen.says).collect()
}

/// S1 and the form of each event are held by the client of every test.
#[tokio::test]
async fn s1_s2_a_stream_is_a_task_and_its_updates_or_exactly_one_message() {
    everywhere(async |client| {
        let events = client.of("counter").stream(&message("twenty")).await;
        assert_eq!(kind(&events[0]), "task");
        let task = &events[0]["task"];
        for event in &events[1..] {
            let update = &event[kind(event)];
            assert!(["statusUpdate", "artifactUpdate"].contains(&kind(event)));
            let of = (&update["taskId"], &update["contextId"]);
            assert_eq!(of, (&task["id"], &task["contextId"]));
            assert!(update.get("final").is_none() && update.get("kind").is_none(), "{event}");
        }
        assert_eq!(events.iter().filter(|event| ends(event)).count(), 1);
        assert!(ends(events.last().unwrap()), "the end is the last thing");
        let updates: Vec<&Value> = events.iter().filter_map(|e| e.get("artifactUpdate")).collect();
        assert_ne!(updates[0]["append"], true);
        assert!(updates[1..].iter().all(|update| update["append"] == true), "one artifact grows");
        assert_eq!(updates.last().unwrap()["lastChunk"], true);

        let events = client.stream(&message("reply")).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(kind(&events[0]), "message");
    })
    .await;
}

/// §2.3, 7: two subscribers at two ingresses, and a third request that moves the task.
#[tokio::test]
async fn s3_s4_every_stream_of_a_task_sees_the_same_and_stays_open_until_the_end() {
    everywhere(async |client| {
        let task = client.send(&message("ask")).await;
        let mut streams = [0, 1, 0, 1].map(|ingress| client.at(ingress)).into_iter();
        let open = streams.by_ref().map(|client| {
            let id = task["id"].clone();
            async move { client.subscribe(&id).await }
        });
        let mut open: Vec<Events> = join_all(open).await;
        for stream in &mut open {
            let first = stream.one().await;
            assert_eq!(first.says["task"], task, "O10: the task as it is");
        }
        drop(open.pop());
        let ended = client.send(&reply("the first", &task)).await;
        assert_eq!(ended["status"]["state"], "TASK_STATE_COMPLETED");
        let seen = join_all(open.into_iter().map(Events::rest)).await;
        assert!(seen[0].len() > 1, "{seen:?}");
        assert!(ends(&seen[0].last().unwrap().says));
        for other in &seen[1..] {
            assert_eq!(*other, seen[0]);
        }
    })
    .await;
}

#[tokio::test]
async fn s3_a_stream_that_is_closed_harms_neither_the_task_nor_another_stream() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let params = json!({"message": message("twenty")});
        let mut first = counter.open("SendStreamingMessage", &params).await;
        let task = first.one().await.says["task"].clone();
        let second = counter.subscribe(&task["id"]).await;
        drop(first);
        let rest = second.rest().await;
        assert!(ends(&rest.last().unwrap().says));
        let state = counter.task(&task["id"]).await["status"]["state"].clone();
        assert_eq!(state, "TASK_STATE_COMPLETED");
    })
    .await;
}

/// S8: the snapshot and the place in the log belong together, wherever a subscriber joins.
#[tokio::test]
async fn s8_a_snapshot_and_what_follows_it_make_the_whole_at_any_moment() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let params = json!({"message": message("twenty")});
        let mut stream = counter.open("SendStreamingMessage", &params).await;
        let id = stream.one().await.says["task"]["id"].clone();
        let mut joined = vec![counter.subscribe(&id).await];
        let mut original = Vec::new();
        while let Some(seen) = stream.next().await {
            let last = ends(&seen.says);
            original.push(seen);
            if !last && joined.len() < 8 {
                match counter.try_open("SubscribeToTask", &json!({ "id": id })).await {
                    Ok(stream) => joined.push(stream),
                    Err(refusal) => assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION"),
                }
            }
        }
        let whole = response(&counter.task(&id).await);
        for stream in joined {
            let seen = stream.rest().await;
            let mut text = response(&seen[0].says["task"]);
            for update in seen.iter().filter_map(|seen| seen.says.get("artifactUpdate")) {
                text.push_str(update["artifact"]["parts"][0]["text"].as_str().unwrap());
            }
            assert_eq!(text, whole, "nothing lost, nothing twice");
            let tail = &says(&original)[original.len() + 1 - seen.len()..];
            assert_eq!(says(&seen[1..]), tail, "and the same events");
        }
    })
    .await;
}

fn response(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts = artifacts.flat_map(|artifact| artifact["parts"].as_array().unwrap());
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

/// Cut after every event there is, and taken up behind it, at either ingress: no loss and no
/// repetition.
#[tokio::test]
async fn a_stream_is_taken_up_again_behind_any_event() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let params = json!({"message": message("twenty")});
        let whole = counter.open("SendStreamingMessage", &params).await.rest().await;
        let id = whole[0].says["task"]["id"].clone();
        assert!(whole.iter().all(|seen| seen.id.is_some()), "{whole:?}");
        for cut in 0..whole.len() - 1 {
            let after = whole[cut].id.clone().unwrap();
            let rest = &whole[cut + 1..];
            let there = counter.at(cut % 2).with("last-event-id", &after);
            let subscribed = there.subscribe(&id).await.rest().await;
            assert_eq!(subscribed, rest, "cut behind {cut}");
            let sent_again = there.open("SendStreamingMessage", &params).await.rest().await;
            assert_eq!(sent_again, rest, "cut behind {cut}, by sending the message again");
        }
        let last = whole.last().unwrap().id.clone().unwrap();
        let params = json!({ "id": id });
        let over = counter.with("last-event-id", &last).refused("SubscribeToTask", &params).await;
        assert_eq!(over.reason, "UNSUPPORTED_OPERATION", "there is nothing more to come");
        for nonsense in ["", "x", "-"] {
            let client = counter.with("last-event-id", nonsense);
            let refusal = client.refused("SubscribeToTask", &params).await;
            assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION", "{nonsense} is nothing seen");
        }
    })
    .await;
}

/// The connection breaks again and again while the task goes on, and the client comes back to
/// whichever ingress has its turn.
#[tokio::test]
async fn a_stream_that_breaks_after_each_event_loses_nothing_while_the_task_goes_on() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let params = json!({"message": message("twenty")});
        let mut stream = counter.open("SendStreamingMessage", &params).await;
        let first = stream.one().await;
        let id = first.says["task"]["id"].clone();
        let witness = counter.subscribe(&id).await;
        let mut seen = vec![first];
        while !ends(&seen.last().unwrap().says) {
            drop(stream);
            stream = resumed(&counter, &id, seen.last().unwrap()).await;
            seen.push(stream.one().await);
        }
        assert_eq!(stream.next().await, None);
        let witnessed = witness.rest().await;
        let tail = &seen[seen.len() + 1 - witnessed.len()..];
        assert_eq!(&witnessed[1..], tail);
    })
    .await;
}

async fn resumed(client: &Client, id: &Value, last: &Seen) -> Events {
    client.with("last-event-id", last.id.as_ref().unwrap()).subscribe(id).await
}
