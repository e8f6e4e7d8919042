//! P4 with section 3.8: who registers a webhook as 0.3 has it is told as 0.3 has it.

use serde_json::{Value, json};

use super::{CREATE, GET};
use crate::support::client::{Binding, Client, everywhere, message, reply};
use crate::support::receiver::{Posted, Receiver};

fn is_over(posted: &[Posted]) -> bool {
    posted.iter().any(|posted| posted.body["status"]["state"] == "completed")
}

fn config(id: &str, receiver: &Receiver) -> Value {
    json!({
        "id": id,
        "url": receiver.url(),
        "token": "the receiver's token",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "the-secret"},
    })
}

/// A call of 0.3 that has a result.
async fn call(client: &Client, method: &str, params: &Value) -> Value {
    let answer = client.without("a2a-version").over(Binding::JsonRpc).call(method, params).await;
    let mut answer = answer.json();
    assert_eq!(answer["error"], Value::Null, "{answer:#}");
    answer["result"].take()
}

/// A POST of 0.3 over HTTP.
async fn post(client: &Client, path: &str, body: &Value) -> Value {
    let silent = client.without("a2a-version");
    let answer = silent.rest("POST", &format!("/v1{path}"), &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Sends a message of 0.3 with a webhook, waits for nothing, and returns the task's id.
async fn send(client: &Client, text: &str, receiver: &Receiver) -> Value {
    let id = message("x")["messageId"].clone();
    let config = config("inline", receiver);
    if client.binding == Binding::JsonRpc {
        let part = json!({"kind": "text", "text": text});
        let params = json!({
            "message": {"kind": "message", "messageId": id, "role": "user", "parts": [part]},
            "configuration": {"blocking": false, "pushNotificationConfig": config},
        });
        return call(client, "message/send", &params).await["id"].clone();
    }
    let body = json!({
        "message": {"messageId": id, "role": "ROLE_USER", "content": [{"text": text}]},
        "configuration": {"blocking": false, "pushNotification": config},
    });
    post(client, "/message:send", &body).await["task"]["id"].clone()
}

/// Registers a webhook of a task by the operation of 0.3.
async fn register(client: &Client, task: &Value, id: &str, receiver: &Receiver) {
    let config = config(id, receiver);
    if client.binding == Binding::JsonRpc {
        let params = json!({"taskId": task, "pushNotificationConfig": config});
        call(client, "tasks/pushNotificationConfig/set", &params).await;
    } else {
        let path = format!("/tasks/{}/pushNotificationConfigs", task.as_str().unwrap());
        let body = json!({"configId": id, "config": {"pushNotificationConfig": config}});
        post(client, &path, &body).await;
    }
}

/// What was said in the task that was posted.
fn said(posted: &Posted) -> &str {
    posted.body["artifacts"][0]["parts"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn p4_a_webhook_that_came_with_a_message_of_0_3_is_told_the_whole_task() {
    everywhere(async |client| {
        let receiver = Receiver::start().await;
        let counter = client.of("counter");
        let id = send(&counter, "twenty", &receiver).await;
        let posted = receiver.until(is_over).await;
        for told in &posted {
            assert_eq!(told.line, "POST /hook");
            assert_eq!(told.headers["content-type"], "application/json");
            assert_eq!(told.headers["authorization"], "Bearer the-secret");
            assert_eq!(told.headers["x-a2a-notification-token"], "the receiver's token");
            assert_eq!((&told.body["kind"], &told.body["id"]), (&json!("task"), &id));
            assert_eq!(told.body["history"][0]["parts"][0]["kind"], "text");
        }
        assert!(posted.iter().map(|told| said(told).len()).is_sorted(), "never an older task");
        let ended = { posted.iter() }.find(|told| told.body["status"]["state"] == "completed");
        let task = call(&counter, "tasks/get", &json!({"id": id})).await;
        assert_eq!(ended.unwrap().body, task, "what 0.3 reads over JSON-RPC");
    })
    .await;
}

/// Two receivers of one task, each in its version; either version reads both.
#[tokio::test]
async fn p4_each_webhook_of_a_task_is_told_in_the_version_that_registered_it() {
    everywhere(async |client| {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let asked = client.send(&message("ask")).await;
        let task = &asked["id"];
        register(&client, task, "old", &old).await;
        let config = json!({"taskId": task, "id": "new", "url": new.url()});
        client.ask(CREATE, &config).await.unwrap();

        let read = client.ask(GET, &json!({"taskId": task, "id": "old"})).await.unwrap();
        let scheme = json!({"scheme": "Bearer"});
        assert_eq!((&read["url"], &read["authentication"]), (&json!(old.url()), &scheme));
        let params = json!({"id": task, "pushNotificationConfigId": "new"});
        let read = call(&client, "tasks/pushNotificationConfig/get", &params).await;
        assert_eq!(read["pushNotificationConfig"]["url"], new.url());

        let ended = client.send(&reply("the first", &asked)).await;
        assert_eq!(ended["status"]["state"], "TASK_STATE_COMPLETED");
        let tasks = old.until(is_over).await;
        assert!(tasks.iter().all(|told| told.body["kind"] == "task"), "{tasks:#?}");
        let updates = new.until(super::is_over).await;
        assert!(updates.iter().all(|told| told.body["kind"].is_null()), "{updates:#?}");
        assert_eq!(updates[0].headers["content-type"], "application/a2a+json");
    })
    .await;
}

/// The version is that of the last registration.
#[tokio::test]
async fn p4_a_webhook_that_is_registered_again_in_1_0_is_told_in_1_0() {
    everywhere(async |client| {
        let receiver = Receiver::start().await;
        let asked = client.send(&message("ask")).await;
        register(&client, &asked["id"], "mine", &receiver).await;
        let config = json!({"taskId": asked["id"], "id": "mine", "url": receiver.url()});
        client.ask(CREATE, &config).await.unwrap();
        client.send(&reply("the first", &asked)).await;
        let updates = receiver.until(super::is_over).await;
        assert!(updates.iter().all(|told| told.body["kind"].is_null()), "{updates:#?}");
    })
    .await;
}

/// Each question of a task has a message id of its own, which everybody sees.
#[tokio::test]
async fn p4_two_questions_of_one_task_are_two_messages() {
    everywhere(async |client| {
        let receiver = Receiver::start().await;
        let first = client.send(&message("ask")).await;
        let config = json!({"taskId": first["id"], "id": "c", "url": receiver.url()});
        client.ask(CREATE, &config).await.unwrap();
        let second = client.send(&reply("ask me again", &first)).await;
        let message = |task: &Value| task["status"]["message"].clone();
        assert_ne!(message(&first)["messageId"], message(&second)["messageId"]);
        assert_eq!(message(&client.task(&first["id"]).await), message(&second));
        let question = |told: &Posted| told.body["statusUpdate"]["status"]["message"].is_object();
        let posted = receiver.until(|posted| posted.iter().any(question)).await;
        let told = { posted.iter() }.find(|told| question(told)).unwrap();
        assert_eq!(told.body["statusUpdate"]["status"]["message"], message(&second));
    })
    .await;
}
