//! Reading and cancelling, and that both bindings say the same.

use domain::Ids;
use serde_json::{Value, json};
use store::runs::{Ending, Output, finish};
use store::steps::{self, LoopMessage, ModelCommit};
use store::{Lease, Pool};
use testkit::on_both;

use crate::common::{Call, claimed, message, scene, sent};

#[tokio::test]
async fn a_task_is_the_same_over_both_bindings() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let id = task["id"].as_str().unwrap();
        let rpc = Call::rpc("GetTask", &json!({"id": id})).result(&scene).await;
        for path in [format!("/tasks/{id}"), format!("/tasks/{id}/")] {
            let rest = Call::rest("GET", &path, &Value::Null).send(&scene).await;
            assert_eq!(rest.headers["content-type"], "application/a2a+json");
            assert_eq!(rest.json(), rpc, "{path}");
        }
        let none = Call::rest("GET", &format!("/tasks/{id}?historyLength=0"), &Value::Null);
        assert_eq!(none.send(&scene).await.json().get("history"), None);
        let bad = Call::rest("GET", &format!("/tasks/{id}?historyLength=-1"), &Value::Null);
        assert_eq!(bad.send(&scene).await.status, 400);
    })
    .await;
}

/// What the agent says in one step; without words it is a turn that only calls a tool.
async fn says(pool: &Pool, lease: &Lease, step: i32, words: &str) {
    let attempt = steps::begin(pool, lease, step, "p", "m").await.unwrap();
    let id = Ids::random().message();
    let content =
        if words.is_empty() { json!([]) } else { json!([{"type": "text", "text": words}]) };
    let body = json!({"v": 1, "id": id, "body": {"role": "assistant", "content": content}});
    let commit = ModelCommit {
        step,
        attempt,
        message: LoopMessage { id, body: body.to_string() },
        speaks: !words.is_empty(),
        calls: Vec::new(),
        answered: Vec::new(),
        stop_reason: "tool_use",
        usage: None,
        events: Vec::new(),
        output: Output::default(),
    };
    steps::commit(pool, lease, &commit).await.unwrap();
}

#[tokio::test]
async fn o7_a_history_length_counts_the_messages_that_a_client_sees() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let lease = claimed(&scene).await;
        for (step, words) in [(1, "One moment."), (2, ""), (3, ""), (4, "Done.")] {
            says(&pool, &lease, step, words).await;
        }
        let said = async |length: Value| {
            let params = json!({"id": task["id"], "historyLength": length});
            let task = Call::rpc("GetTask", &params).result(&scene).await;
            let history = task["history"].as_array().cloned().unwrap_or_default();
            let texts = history.iter().map(|message| message["parts"][0]["text"].clone());
            texts.collect::<Value>()
        };
        assert_eq!(said(Value::Null).await, json!(["hello", "One moment.", "Done."]));
        assert_eq!(said(json!(9)).await, json!(["hello", "One moment.", "Done."]));
        assert_eq!(said(json!(2)).await, json!(["One moment.", "Done."]));
        assert_eq!(said(json!(1)).await, json!(["Done."]));
        assert_eq!(said(json!(0)).await, json!([]));
    })
    .await;
}

#[tokio::test]
async fn another_scope_learns_nothing_from_any_operation() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let params = json!({"id": task["id"]});
        let unknown = json!({"id": "00000000-0000-4000-8000-000000000000"});
        for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
            let foreign = Call::rpc(method, &params).account("other").send(&scene).await;
            let absent = Call::rpc(method, &unknown).account("other").send(&scene).await;
            assert_eq!(foreign.body, absent.body, "{method}");
            assert_eq!(foreign.json()["error"]["code"], -32001);
        }
        let own = Call::rpc("GetTask", &params).result(&scene).await;
        assert_eq!(own["status"]["state"], "TASK_STATE_SUBMITTED");
    })
    .await;
}

#[tokio::test]
async fn scenario_24_a_cancel_answers_with_the_canceled_task_also_the_second_time() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let id = task["id"].as_str().unwrap();
        let first = Call::rpc("CancelTask", &json!({"id": id})).result(&scene).await;
        assert_eq!(first["status"]["state"], "TASK_STATE_CANCELED");
        let path = format!("/tasks/{id}:cancel");
        let second = Call::rest("POST", &path, &Value::Null).send(&scene).await;
        assert_eq!((second.status, second.json()), (200, first));
    })
    .await;
}

#[tokio::test]
async fn an_ended_task_cannot_be_canceled() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        finish(&pool, claimed(&scene).await, &[], &Ending::Completed).await.unwrap();
        let call = Call::rpc("CancelTask", &json!({"id": task["id"]}));
        assert_eq!(call.code(&scene).await, -32002);
    })
    .await;
}
