//! Whose context a message continues, and what the same message means when it comes again.

use std::sync::Arc;

use domain::FailureCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::runs::{Ending, finish};
use testkit::{on_both, on_both_databases};

use crate::common::{Call, claimed, message, scene, sent};

fn with(mut message: Value, key: &str, value: &Value) -> Value {
    message[key] = value.clone();
    message
}

/// The one field that a refusal names.
async fn refused(scene: &crate::common::Scene, message: &Value) -> (i64, Value) {
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    let error = Call::rpc("SendMessage", &params).send(scene).await.json()["error"].clone();
    let field = error["data"][1]["fieldViolations"][0]["field"].clone();
    (error["code"].as_i64().unwrap_or_default(), field)
}

#[tokio::test]
async fn o4_a_context_is_made_kept_or_inferred_and_never_replaced() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let made = sent(&scene, &message("m1")).await;
        assert!(!made["contextId"].as_str().unwrap().is_empty());
        let kept = sent(&scene, &with(message("m2"), "contextId", &json!("mine"))).await;
        assert_eq!(kept["contextId"], "mine");
        assert_eq!(kept["history"][0]["contextId"], "mine");
        let ask = Ending::InputRequired { message: "which?".to_owned() };
        finish(&pool, claimed(&scene).await, &[], &ask).await.unwrap();
        let more = with(message("m3"), "taskId", &kept["id"]);
        let inferred = sent(&scene, &more).await;
        assert_eq!((&inferred["contextId"], &inferred["id"]), (&json!("mine"), &kept["id"]));
        let users: Vec<&Value> =
            inferred["history"].as_array().unwrap().iter().map(|m| &m["messageId"]).collect();
        assert_eq!(users, ["m2", "m3"]);
        let wrong = with(with(message("m4"), "taskId", &kept["id"]), "contextId", &json!("other"));
        assert_eq!(refused(&scene, &wrong).await, (-32602, json!("message.contextId")));
    })
    .await;
}

#[tokio::test]
async fn scenario_22_who_is_busy_says_so_by_the_field_that_named_it() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &with(message("m1"), "contextId", &json!("c"))).await;
        let lease = claimed(&scene).await;
        let context = with(message("m2"), "contextId", &json!("c"));
        assert_eq!(refused(&scene, &context).await, (-32602, json!("message.contextId")));
        let working = with(message("m2"), "taskId", &task["id"]);
        assert_eq!(refused(&scene, &working).await, (-32602, json!("message.taskId")));
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let ended = with(message("m2"), "taskId", &task["id"]);
        assert_eq!(refused(&scene, &ended).await, (-32004, Value::Null));
        // The context is free again, and a refused messageId was not used up.
        let next = sent(&scene, &context).await;
        assert_ne!(next["id"], task["id"]);
        assert_eq!(next["contextId"], "c");
    })
    .await;
}

#[tokio::test]
async fn with_idempotency_off_the_same_message_makes_two_tasks() {
    on_both(async |pool| {
        let mut scene = scene(&pool);
        Arc::get_mut(&mut scene.ingress.desk).unwrap().idempotent = false;
        let (one, two) = (sent(&scene, &message("m")).await, sent(&scene, &message("m")).await);
        assert_ne!(one["id"], two["id"]);
        assert_ne!(one["contextId"], two["contextId"]);
    })
    .await;
}

#[tokio::test]
async fn scenario_20_two_ingress_processes_answer_the_same_message_with_one_task() {
    on_both_databases(async |database| {
        let (one, two) = (database.pool(1).await, database.pool(1).await);
        let (one, two) = (scene(&one), scene(&two));
        for round in 0..5 {
            let message = message(&format!("m{round}"));
            let (first, second) = tokio::join!(sent(&one, &message), sent(&two, &message));
            assert_eq!(first["id"], second["id"]);
            assert_eq!(first, second);
        }
        assert_eq!(one.queues.sent().len() + two.queues.sent().len(), 5, "one wake-up each");
    })
    .await;
}

#[tokio::test]
async fn a_repeated_message_may_ask_for_another_answer() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let first = sent(&scene, &message("m1")).await;
        let ask = Ending::InputRequired { message: "which?".to_owned() };
        finish(&pool, claimed(&scene).await, &[], &ask).await.unwrap();
        let more = with(message("m2"), "taskId", &first["id"]);
        sent(&scene, &more).await;
        for (length, expected) in [(json!(0), 0), (json!(1), 1), (json!(9), 2), (Value::Null, 2)] {
            let configuration = json!({"returnImmediately": true, "historyLength": length});
            let params = json!({"message": more, "configuration": configuration});
            let task = Call::rpc("SendMessage", &params).result(&scene).await["task"].clone();
            let history =
                task.get("history").map_or(0, |history| history.as_array().unwrap().len());
            assert_eq!(history, expected, "{length}");
            assert_eq!(task.get("history").is_none(), expected == 0);
        }
        // A blocking repeat of what is over does not wait.
        let code = FailureCode::Internal;
        let failed = Ending::Failed { code, message: "broke".to_owned() };
        finish(&pool, claimed(&scene).await, &[], &failed).await.unwrap();
        let again = Call::rpc("SendMessage", &json!({"message": more})).result(&scene).await;
        assert_eq!(again["task"]["status"]["state"], "TASK_STATE_FAILED");
    })
    .await;
}

#[tokio::test]
async fn a_streaming_repeat_resumes_where_its_client_was() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let first = sent(&scene, &message("m1")).await;
        finish(&pool, claimed(&scene).await, &[], &Ending::Completed).await.unwrap();
        let call = Call::rpc("SendStreamingMessage", &json!({"message": message("m1")}));
        let call = call.with("Last-Event-ID", "1");
        let body = call.raw(&scene).await.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let ids: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
        assert_eq!(ids, ["2", "3"], "what it has seen does not come again");
        assert!(body.contains(first["id"].as_str().unwrap()));
        // A message that is new has no past, whatever its client says.
        let new = Call::rpc("SendStreamingMessage", &json!({"message": message("m2")}));
        let new = new.with("Last-Event-ID", "99").raw(&scene).await;
        let work = async {
            finish(&pool, claimed(&scene).await, &[], &Ending::Completed).await.unwrap();
        };
        let (body, ()) = tokio::join!(new.into_body().collect(), work);
        let body = String::from_utf8(body.unwrap().to_bytes().to_vec()).unwrap();
        assert!(body.contains("\"task\":{"), "{body}");
    })
    .await;
}
