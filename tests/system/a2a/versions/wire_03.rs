//! V2: who names no version is answered as protocol 0.3 has it.

use serde_json::{Value, json};

use crate::support::client::{Binding, Client, NO_TASK, list, message, over};

/// A JSON-RPC call of 0.3, and the whole response.
async fn call(client: &Client, method: &str, params: &Value) -> Value {
    let answer = client.without("a2a-version").call(method, params).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    answer.json()
}

fn told(text: &str) -> Value {
    let id = message("x")["messageId"].clone();
    json!({
        "kind": "message", "messageId": id, "role": "user",
        "parts": [{"kind": "text", "text": text}],
    })
}

#[tokio::test]
async fn v2_json_rpc_without_a_version_has_the_methods_and_shapes_of_0_3() {
    over(Binding::JsonRpc, async |client| {
        let echo = client.of("echo");
        let sent = call(&echo, "message/send", &json!({"message": told("hello")})).await;
        let task = &sent["result"];
        assert_eq!(
            (&task["kind"], &task["status"]["state"]),
            (&json!("task"), &json!("completed"))
        );
        assert_eq!(task["history"][0]["role"], "user");
        assert_eq!(task["history"][0]["parts"][0], json!({"kind": "text", "text": "hello"}));
        assert_eq!(task["artifacts"][0]["parts"][0]["kind"], "text");
        let got = call(&echo, "tasks/get", &json!({"id": task["id"], "historyLength": 1})).await;
        assert_eq!(list(&got["result"]["history"]).len(), 1);
        let again = call(&echo, "tasks/cancel", &json!({"id": task["id"]})).await;
        assert_eq!(again["error"]["code"], -32002);
        let none = call(&echo, "tasks/get", &json!({"id": NO_TASK})).await;
        assert_eq!(none["error"]["code"], -32001);
        // What one version made, the other sees.
        assert_eq!(echo.task(&task["id"]).await["status"]["state"], "TASK_STATE_COMPLETED");
    })
    .await;
}

#[tokio::test]
async fn v2_names_of_one_version_are_unknown_to_the_other() {
    over(Binding::JsonRpc, async |client| {
        let echo = client.of("echo");
        let mixed = call(&echo, "GetTask", &json!({"id": NO_TASK})).await;
        assert_eq!(mixed["error"]["code"], -32009, "a name of 1.0 without a version");
        let mixed = echo.call("tasks/get", &json!({"id": NO_TASK})).await;
        assert_eq!(mixed.reason(), "METHOD_NOT_FOUND", "a name of 0.3 with version 1.0");
    })
    .await;
}

#[tokio::test]
async fn v2_a_stream_of_0_3_has_bare_objects_and_says_which_status_is_the_last() {
    over(Binding::JsonRpc, async |client| {
        let params = json!({"message": told("twenty")});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": params});
        let silent = client.of("counter").without("a2a-version");
        let answer = silent.post(&body.to_string()).await;
        assert_eq!(answer.header("content-type"), "text/event-stream");
        let events: Vec<Value> = answer
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| serde_json::from_str::<Value>(data.trim()).unwrap()["result"].clone())
            .collect();
        assert_eq!(events[0]["kind"], "task");
        let (last, rest) = events.split_last().unwrap();
        assert_eq!(last["kind"], "status-update");
        assert_eq!((&last["final"], &last["status"]["state"]), (&json!(true), &json!("completed")));
        assert!(rest.iter().all(|event| event["final"] != true), "{rest:?}");
        assert!(rest.iter().any(|event| event["kind"] == "artifact-update"));
    })
    .await;
}

#[tokio::test]
async fn v2_http_json_without_a_version_has_the_paths_of_0_3() {
    over(Binding::HttpJson, async |client| {
        let echo = client.of("echo").without("a2a-version");
        let id = message("x")["messageId"].clone();
        let sent = json!({"message": {
            "messageId": id, "role": "ROLE_USER", "content": [{"text": "hello"}],
        }, "configuration": {"blocking": true}});
        let answer = echo.rest("POST", "/v1/message:send", &sent.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let task = answer.json()["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task:#}");
        assert_eq!(task["history"][0]["content"][0]["text"], "hello");
        let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
        let got = echo.rest("GET", &path, "").await.json();
        assert_eq!(got["id"], task["id"]);
        let none = echo.rest("GET", &format!("/v1/tasks/{NO_TASK}"), "").await;
        assert_eq!(none.status, 404, "{none:?}");
        let card = echo.rest("GET", "/v1/card", "").await;
        assert!([200, 400].contains(&card.status), "{card:?}");
        // The paths of 1.0 are not those of 0.3.
        let mixed = echo.rest("GET", &format!("/tasks/{NO_TASK}"), "").await;
        assert_eq!(mixed.reason(), "VERSION_NOT_SUPPORTED");
    })
    .await;
}
