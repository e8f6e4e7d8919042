//! What a receiver of protocol 0.3 gets: the task, as it is at each update or later.

use std::time::Duration;

use domain::ProtocolVersion;
use http::StatusCode;
use lambda_kit::deadline::Budget;
use serde_json::{Value, json};
use store::Pool;
use store::webhooks::{self, Created, NewWebhook, Of};
use testkit::{Database, killed_after, on_both, on_both_databases};

use super::receiver::{Arrived, Receiver};
use super::scene::{Scene, Sealer, record};

async fn scene(pool: &Pool, receiver: &Receiver) -> Scene {
    Scene::of(pool, &receiver.url(), ProtocolVersion::V03).await
}

/// How the task stands that was told: what was said so far, and its state.
fn standing(arrived: &Arrived) -> (String, String) {
    let body = &arrived.body;
    assert_eq!(body["kind"], "task", "{body}");
    let text = body["artifacts"][0]["parts"][0]["text"].as_str().unwrap_or_default();
    (text.to_owned(), body["status"]["state"].as_str().unwrap().to_owned())
}

fn standings(receiver: &Receiver) -> Vec<(String, String)> {
    receiver.arrived().iter().map(standing).collect()
}

fn stands(text: &str, state: &str) -> (String, String) {
    (text.to_owned(), state.to_owned())
}

/// No task that was told is older than the one before it.
fn assert_never_backwards(told: &[(String, String)]) {
    let place = |(text, state): &(String, String)| (text.len(), state == "completed");
    assert!(told.is_sorted_by_key(place), "{told:?}");
}

#[tokio::test]
async fn at_each_update_the_task_is_posted_as_0_3_writes_it() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        let notifier = scene.notifier();
        scene.say("one").await;
        scene.deliver(&notifier).await;
        // Submitted, working, and what was said: the task is further than the first two tell.
        assert_eq!(standings(&receiver), vec![stands("one", "working"); 3]);
        scene.say(" two").await;
        scene.deliver(&notifier).await;
        scene.finish().await;
        scene.deliver(&notifier).await;
        let told = [stands("one two", "working"), stands("one two", "completed")];
        assert_eq!(standings(&receiver)[3..], told);
        for arrived in receiver.arrived() {
            let header = |name: &str| arrived.headers[name].to_str().unwrap();
            assert_eq!(header("content-type"), "application/json");
            assert_eq!(header("authorization"), "Bearer canary-credentials");
            assert_eq!(header("x-a2a-notification-token"), "canary-token");
            let mut body = arrived.body;
            let time = body["status"]["timestamp"].take();
            assert!(time.is_string(), "{time}");
            let artifact = body["artifacts"][0]["artifactId"].take();
            let known = json!({
                "kind": "task",
                "id": scene.task.as_uuid().to_string(),
                "contextId": body["contextId"],
                "status": {"state": body["status"]["state"], "timestamp": null},
                "artifacts": [{
                    "artifactId": null,
                    "parts": [{"kind": "text", "text": body["artifacts"][0]["parts"][0]["text"]}],
                }],
                "history": [{
                    "kind": "message", "messageId": "m", "contextId": body["contextId"],
                    "taskId": scene.task.as_uuid().to_string(), "role": "user", "parts": [],
                }],
                "metadata": body["metadata"],
            });
            assert_eq!((body, artifact.is_string()), (known, true));
        }
    })
    .await;
}

/// P5: a refused post comes again, of the task as it is by then; nothing is skipped.
#[tokio::test]
async fn p5_what_was_refused_is_told_again_and_never_of_an_older_task() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        let notifier = scene.notifier();
        scene.say("a").await;
        receiver.answer(StatusCode::SERVICE_UNAVAILABLE, 1);
        scene.deliver(&notifier).await;
        scene.say("b").await;
        scene.finish().await;
        scene.later().await;
        scene.deliver(&notifier).await;
        let mut told = vec![stands("a", "working")];
        told.extend(vec![stands("ab", "completed"); 5]);
        assert_eq!(standings(&receiver), told);
    })
    .await;
}

/// A task without a word in it, at its end.
#[tokio::test]
async fn the_end_is_told_in_the_words_of_0_3() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        scene.cancel().await;
        scene.deliver(&scene.notifier()).await;
        assert_eq!(standings(&receiver), vec![stands("", "canceled"); 3]);
    })
    .await;
}

#[tokio::test]
async fn p5_notifiers_at_the_same_moment_never_tell_an_older_task() {
    on_both_databases(async |database| {
        let pool = database.pool(4).await;
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        let [one, two, three] = [scene.notifier(), scene.notifier(), scene.notifier()];
        tokio::join!(
            async {
                for _ in 0..20 {
                    scene.say("x").await;
                }
                scene.finish().await;
            },
            async {
                for _ in 0..10 {
                    scene.deliver(&one).await;
                }
            },
            async {
                for _ in 0..10 {
                    scene.deliver(&two).await;
                }
            },
        );
        scene.deliver(&three).await;
        let told = standings(&receiver);
        assert_never_backwards(&told);
        assert_eq!(told.len(), 23, "each update once");
        assert_eq!(told.last(), Some(&stands(&"x".repeat(20), "completed")));
        // Each update is in the task that was told for it.
        let said = told[2..22].iter().enumerate();
        assert!({ said }.all(|(index, (text, _))| text.len() > index), "{told:?}");
    })
    .await;
}

/// Killed at every await and delivered again: the end is told, and nothing after it is older.
#[tokio::test]
async fn killed_at_every_await_it_tells_the_end_last() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        scene.say("a").await;
        let budget = Budget::of(Duration::from_mins(15));
        let notifier = scene.notifier();
        let survived = killed_after(polls, notifier.handle(scene.event(), budget)).await.is_some();
        scene.finish().await;
        for _ in 0..2 {
            scene.later().await;
            scene.deliver(&scene.notifier()).await;
        }
        let told = standings(&receiver);
        assert_never_backwards(&told);
        assert!((4..=5).contains(&told.len()), "killed after {polls} polls: {told:?}");
        assert_eq!(told.last(), Some(&stands("a", "completed")), "killed after {polls} polls");
        if survived {
            assert!(polls > 10, "the handler was killed {polls} times only");
            break;
        }
    }
}

/// Whoever registers a webhook again is told in the version that they speak then.
#[tokio::test]
async fn a_webhook_that_is_registered_again_in_another_version_is_told_in_that_one() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = scene(&pool, &receiver).await;
        scene.deliver(&scene.notifier()).await;
        let id = scene.task.as_uuid().to_string();
        let seal = Sealer(record(&receiver.url()));
        let protocol = ProtocolVersion::V10;
        let webhook = NewWebhook { config_id: Some(&id), protocol, seal: &seal, most: 1 };
        let agent = Scene::agent();
        let of = Of { scope: &scene.digest, agent: &agent, task: scene.task };
        let created = webhooks::create(&pool, &domain::Ids::random(), of, &webhook).await;
        assert_eq!(created.unwrap(), Created::Yes);
        scene.finish().await;
        scene.deliver(&scene.notifier()).await;
        let kinds = receiver.arrived().into_iter().map(|arrived| arrived.body["kind"].clone());
        let kinds: Vec<Value> = kinds.collect();
        assert_eq!(kinds, [json!("task"), json!("task"), Value::Null]);
        assert_eq!(receiver.said()[2], "TASK_STATE_COMPLETED");
    })
    .await;
}
