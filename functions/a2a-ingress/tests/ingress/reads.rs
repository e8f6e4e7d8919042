//! Reading and cancelling, and that both bindings say the same.

use serde_json::{Value, json};
use store::runs::{Ending, finish};
use testkit::on_both;

use crate::common::{Call, claimed, message, scene, sent};

#[tokio::test]
async fn a_task_is_the_same_over_both_bindings() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let id = task["id"].as_str().unwrap();
        let rpc = Call::rpc("GetTask", &json!({"id": id})).result(&scene).await;
        for path in [format!("/tasks/{id}"), format!("/tasks/{id}/"), format!("/t1/tasks/{id}")] {
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
