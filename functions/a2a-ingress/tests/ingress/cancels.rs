//! Cancellation as its client and its subscribers see it (O9).

use domain::FailureCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::runs::{Ending, finish};
use testkit::{on_both, on_both_databases};

use crate::common::{Call, claimed, message, scene, sent};

/// The states that a stream tells, the task's own first.
fn states(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let results = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone());
    let states = results.filter_map(|result| {
        let status = result.get("statusUpdate").or_else(|| result.get("task"))?;
        Some(status["status"]["state"].as_str()?.trim_start_matches("TASK_STATE_").to_owned())
    });
    states.collect()
}

#[tokio::test]
async fn o9_what_has_ended_otherwise_cannot_be_canceled() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let words = || "no".to_owned();
        let failed = Ending::Failed { code: FailureCode::Internal, message: words() };
        let rejected = Ending::Rejected { message: words() };
        for (number, ending) in [Ending::Completed, failed, rejected].into_iter().enumerate() {
            let task = sent(&scene, &message(&format!("m{number}"))).await;
            finish(&pool, claimed(&scene).await, &[], &ending).await.unwrap();
            let call = Call::rpc("CancelTask", &json!({"id": task["id"]}));
            assert_eq!(call.code(&scene).await, -32002, "{ending:?}");
            let path = format!("/tasks/{}:cancel", task["id"].as_str().unwrap());
            let rest = Call::rest("POST", &path, &Value::Null).send(&scene).await;
            assert_eq!(
                (rest.status, &rest.json()["error"]["status"]),
                (400, &json!("FAILED_PRECONDITION"))
            );
        }
    })
    .await;
}

#[tokio::test]
async fn o9_every_subscriber_sees_the_cancel_last_also_of_a_task_that_asks() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for (number, asks) in [false, true].into_iter().enumerate() {
            let task = sent(&scene, &message(&format!("m{number}"))).await;
            let lease = claimed(&scene).await;
            let subscribe = Call::rpc("SubscribeToTask", &json!({"id": task["id"]}));
            let (one, two) = (subscribe.raw(&scene).await, subscribe.raw(&scene).await);
            let cancel = async {
                if asks {
                    let ask = Ending::InputRequired { message: "which?".to_owned() };
                    finish(&pool, lease, &[], &ask).await.unwrap();
                }
                let call = Call::rpc("CancelTask", &json!({"id": task["id"]}));
                (call.result(&scene).await, call.result(&scene).await)
            };
            let (one, two, (first, second)) =
                tokio::join!(one.into_body().collect(), two.into_body().collect(), cancel);
            let (one, two) = (one.unwrap().to_bytes(), two.unwrap().to_bytes());
            assert_eq!(one, two, "several subscribers see the same");
            let expected = if asks {
                ["WORKING", "INPUT_REQUIRED", "CANCELED"].as_slice()
            } else {
                &["WORKING", "CANCELED"]
            };
            assert_eq!(states(&one), expected);
            assert_eq!(first["status"]["state"], "TASK_STATE_CANCELED");
            assert_eq!(first, second, "a second cancel answers with the task");
        }
    })
    .await;
}

#[tokio::test]
async fn o9_of_cancel_and_completion_one_wins_and_everybody_is_told_the_same() {
    on_both_databases(async |database| {
        let (front, back) = (database.pool(1).await, database.pool(1).await);
        let scene = scene(&front);
        for round in 0..8 {
            let task = sent(&scene, &message(&format!("m{round}"))).await;
            let lease = claimed(&scene).await;
            let subscribe = Call::rpc("SubscribeToTask", &json!({"id": task["id"]}));
            let stream = subscribe.raw(&scene).await;
            let cancel = Call::rpc("CancelTask", &json!({"id": task["id"]}));
            let (canceled, finished, seen) = tokio::join!(
                cancel.send(&scene),
                finish(&back, lease, &[], &Ending::Completed),
                stream.into_body().collect()
            );
            let canceled = canceled.json();
            let won = match (&canceled["error"]["code"], finished.is_ok()) {
                (Value::Null, false) => "CANCELED",
                (code, true) if *code == -32002 => "COMPLETED",
                other => panic!("{other:?}"),
            };
            let seen = states(&seen.unwrap().to_bytes());
            assert_eq!(seen.last().unwrap(), won);
            assert_eq!(seen.len(), 2, "one end, and nothing after it: {seen:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_nothing() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let call = Call::rpc("SendStreamingMessage", &json!({"message": message("m1")}));
        drop(call.raw(&scene).await);
        let task = sent(&scene, &message("m1")).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
        finish(&pool, claimed(&scene).await, &[], &Ending::Completed).await.unwrap();
        let after = Call::rpc("GetTask", &json!({"id": task["id"]})).result(&scene).await;
        assert_eq!(after["status"]["state"], "TASK_STATE_COMPLETED");
    })
    .await;
}
