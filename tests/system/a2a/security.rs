//! A1 to A4: what strangers learn, and what nobody may send.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, NO_TASK, everywhere, list, message, reply, with};

/// Every operation that names a task, about this one.
pub(super) fn probes(task: &str) -> Vec<(&'static str, Value)> {
    let id = json!({ "id": task });
    let message = with(message("more"), "taskId", task);
    let config = json!({"taskId": task, "id": "c"});
    vec![
        ("GetTask", id.clone()),
        ("CancelTask", id.clone()),
        ("SubscribeToTask", id),
        ("SendMessage", json!({"message": message})),
        ("SendStreamingMessage", json!({"message": message})),
        ("CreateTaskPushNotificationConfig", with(config.clone(), "url", "https://example.com/x")),
        ("GetTaskPushNotificationConfig", config.clone()),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": task })),
        ("DeleteTaskPushNotificationConfig", config),
    ]
}

/// Scenarios 19 and 21: the owner's task, whatever state it is in, is to everybody else as if it were
/// not there: the same answer, byte for byte but for the request's id.
#[tokio::test]
async fn a1_a_stranger_is_answered_as_for_an_id_that_does_not_exist_by_every_operation() {
    everywhere(async |owner| {
        let stranger = owner.of_user("a stranger");
        let nobody = owner.without("x-cognition-scope-user");
        let ended = owner.send(&message("hello")).await;
        let waiting = owner.send(&message("ask")).await;
        for task in [&ended, &waiting] {
            let before = owner.task(&task["id"]).await;
            let ours = task["id"].as_str().unwrap();
            for other in [&stranger, &nobody, &owner.of("echo")] {
                for (probe, unknown) in probes(ours).into_iter().zip(probes(NO_TASK)) {
                    let told = other.refused(probe.0, &probe.1).await;
                    assert_eq!(told.reason, "TASK_NOT_FOUND", "{}", probe.0);
                    assert_eq!(told, other.refused(unknown.0, &unknown.1).await, "{}", probe.0);
                }
                let listed = other.tasks(&json!({"contextId": task["contextId"]})).await;
                assert_eq!((list(&listed["tasks"]).len(), &listed["totalSize"]), (0, &json!(0)));
            }
            assert_eq!(owner.task(&task["id"]).await, before, "and nothing has happened to it");
        }
        owner.send(&reply("the first", &waiting)).await;
    })
    .await;
}

/// Contexts and message ids are their owners': two users may use the same ones and never notice.
#[tokio::test]
async fn a1_the_ids_that_a_client_chooses_mean_nothing_to_another_one() {
    everywhere(async |alice| {
        let bob = alice.of_user(&format!("bob of {:?}", alice.binding));
        let mut hers = with(message("hers"), "contextId", "our context");
        hers["messageId"] = "our message".into();
        let his = with(hers.clone(), "parts", json!([{"text": "his"}]));
        let (a, b) = (alice.of("echo").send(&hers).await, bob.of("echo").send(&his).await);
        assert_ne!(a["id"], b["id"]);
        assert_eq!(a["contextId"], b["contextId"]);
        for (client, task) in [(&alice, &a), (&bob, &b)] {
            let filter = json!({"contextId": "our context"});
            let listed = client.of("echo").tasks(&filter).await;
            assert_eq!(list(&listed["tasks"]).len(), 1);
            assert_eq!(listed["tasks"][0]["id"], task["id"]);
        }
    })
    .await;
}

/// Nor does the time that an answer takes tell. The fastest of many is compared: it is what the work
/// itself takes, whatever else the machine does.
#[tokio::test]
async fn a1_a_strangers_question_takes_no_longer_than_one_about_nothing() {
    everywhere(async |owner| {
        let task = owner.send(&message("hello")).await;
        let stranger = owner.of_user("a timekeeper");
        for operation in 0..probes(NO_TASK).len() {
            let ours = fastest(&stranger, &probes(task["id"].as_str().unwrap())[operation]).await;
            let none = fastest(&stranger, &probes(NO_TASK)[operation]).await;
            let slack = Duration::from_millis(10);
            assert!(ours < none * 3 + slack && none < ours * 3 + slack, "{ours:?} {none:?}");
        }
    })
    .await;
}

async fn fastest(client: &Client, (operation, params): &(&str, Value)) -> Duration {
    let mut fastest = Duration::MAX;
    for _ in 0..8 {
        let begin = Instant::now();
        client.refused(operation, params).await;
        fastest = fastest.min(begin.elapsed());
    }
    fastest
}

/// Scenario 17: what a message claims about its sender is content.
#[tokio::test]
async fn a1_nothing_in_a_message_names_whose_it_is() {
    everywhere(async |client| {
        let claim = json!({"user": "somebody else", "X-Cognition-Scope-User": "somebody else"});
        let sent = with(message("hello"), "metadata", claim.clone());
        let params = json!({"message": sent, "metadata": claim});
        let task = client.of("echo").ask("SendMessage", &params).await.unwrap()["task"].clone();
        assert_eq!(client.of("echo").task(&task["id"]).await["id"], task["id"]);
        let other = client.of("echo").of_user("somebody else");
        let refusal = other.refused("GetTask", &json!({"id": task["id"]})).await;
        assert_eq!(refusal.reason, "TASK_NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn a3_what_is_too_large_is_refused_and_leaves_nothing_behind() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let many = |count: usize| {
            let parts: Vec<Value> = (0..count).map(|n| json!({"text": n.to_string()})).collect();
            json!({"message": with(message("m"), "parts", parts)})
        };
        assert!(echo.ask("SendMessage", &many(64)).await.is_ok(), "the limit is inside");
        assert_eq!(echo.refused("SendMessage", &many(65)).await.reason, "INVALID_PARAMS");
        let long = "x".repeat(2 * 1024 * 1024 + 1);
        let params = json!({"message": message(&long)});
        assert_eq!(echo.refused("SendMessage", &params).await.reason, "INVALID_PARAMS");
        assert_eq!(echo.tasks(&json!({})).await["totalSize"], 1);
    })
    .await;
}
