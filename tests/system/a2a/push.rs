//! P1 to P7: push notifications, with a real receiver on the loopback address.

mod wire_03;

use serde_json::{Value, json};

use crate::support::client::{Client, NO_TASK, everywhere, kind, list, message, unique, with};
use crate::support::receiver::{Posted, Receiver};

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

fn is_over(posted: &[Posted]) -> bool {
    posted.iter().any(|posted| {
        posted.body["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
            || posted.body["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    })
}

/// A message whose task tells this webhook, with secrets.
fn telling(words: &str, receiver: &Receiver) -> Value {
    json!({
        "message": message(words),
        "configuration": {
            "returnImmediately": true,
            "taskPushNotificationConfig": {
                "id": "inline",
                "url": receiver.url(),
                "token": "the receiver's token",
                "authentication": {"scheme": "Bearer", "credentials": "the-secret"},
            },
        },
    })
}

async fn ids(client: &Client, task: &Value) -> Vec<String> {
    let all = client.ask(LIST, &json!({ "taskId": task })).await.unwrap();
    let ids = list(&all["configs"]).iter().map(|config| config["id"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn p1_an_agent_that_does_not_push_refuses_all_four_and_the_inline_one() {
    everywhere(async |client| {
        let plain = client.of("plain");
        let config = json!({"taskId": NO_TASK, "id": "c"});
        for (operation, params) in [
            (CREATE, with(config.clone(), "url", "https://example.com/hook")),
            (GET, config.clone()),
            (LIST, json!({"taskId": NO_TASK})),
            (DELETE, config),
            (
                "SendMessage",
                json!({
                    "message": message("hello"),
                    "configuration": {"taskPushNotificationConfig": {"url": "https://example.com"}},
                }),
            ),
        ] {
            let refusal = plain.refused(operation, &params).await;
            assert_eq!(refusal.reason, "PUSH_NOTIFICATION_NOT_SUPPORTED", "{operation}");
        }
    })
    .await;
}

/// §2.3, 5: also for a task that has ended, at addresses that nobody could reach, and twice.
#[tokio::test]
async fn p2_p3_a_webhook_is_stored_fetched_listed_replaced_and_forgotten() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let task = echo.send(&message("hello")).await["id"].clone();
        let config = |id: &str, url: &str| json!({"taskId": task, "id": id, "url": url});
        for url in ["https://example.com/hook", "http://127.0.0.1:9/hook?x=1"] {
            let made = echo.ask(CREATE, &config("mine", url)).await.unwrap();
            assert_eq!((&made["id"], &made["url"]), (&json!("mine"), &json!(url)), "{made}");
            assert_eq!(made["taskId"], task);
            let got = echo.ask(GET, &json!({"taskId": task, "id": "mine"})).await.unwrap();
            assert_eq!(got, made);
            assert_eq!(ids(&echo, &task).await, ["mine"], "the same id replaces");
        }
        let named = json!({"taskId": task, "url": "https://example.com/other"});
        let named = echo.ask(CREATE, &named).await.unwrap()["id"].clone();
        assert!(!named.as_str().unwrap().is_empty(), "the server gives one a name");
        assert_eq!(ids(&echo, &task).await.len(), 2);
        for _ in 0..2 {
            let gone = echo.ask(DELETE, &json!({"taskId": task, "id": named})).await;
            assert_eq!(gone.unwrap(), json!({}));
        }
        assert_eq!(ids(&echo, &task).await, ["mine"]);
        let gone = echo.refused(GET, &json!({"taskId": task, "id": named})).await;
        assert_eq!(gone.reason, "TASK_NOT_FOUND");
        for (operation, params) in [
            (CREATE, with(config("c", "https://example.com"), "taskId", NO_TASK)),
            (GET, json!({"taskId": NO_TASK, "id": "mine"})),
            (LIST, json!({"taskId": NO_TASK})),
            (DELETE, json!({"taskId": NO_TASK, "id": "mine"})),
        ] {
            assert_eq!(echo.refused(operation, &params).await.reason, "TASK_NOT_FOUND");
        }
        let refusal = echo.refused(CREATE, &json!({"taskId": task})).await;
        assert_eq!(refusal.fields, ["url"]);
    })
    .await;
}

#[tokio::test]
async fn p2_webhooks_come_in_pages() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let task = echo.send(&message("hello")).await["id"].clone();
        for id in ["a", "b", "c"] {
            let config = json!({"taskId": task, "id": id, "url": "https://example.com/hook"});
            echo.ask(CREATE, &config).await.unwrap();
        }
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = json!({"taskId": task, "pageSize": 2, "pageToken": token});
            let page = echo.ask(LIST, &page).await.unwrap();
            seen.extend(list(&page["configs"]).iter().map(|config| config["id"].clone()));
            page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, ["a", "b", "c"]);
    })
    .await;
}

/// §2.3, 6. The caller does not wait, and its connection is long gone.
#[tokio::test]
async fn p4_p5_a_receiver_is_told_each_update_once_in_order_with_its_secrets() {
    everywhere(async |client| {
        let receiver = Receiver::start().await;
        let counter = client.of("counter");
        let params = telling("twenty", &receiver);
        let mut stream = counter.open("SendStreamingMessage", &params).await;
        let id = stream.one().await.says["task"]["id"].clone();
        let streamed = stream.rest().await;
        let posted = receiver.until(is_over).await;
        for told in &posted {
            assert_eq!(told.line, "POST /hook");
            assert_eq!(told.headers["content-type"], "application/a2a+json");
            assert_eq!(told.headers["authorization"], "Bearer the-secret");
            for name in ["x-a2a-notification-token", "a2a-notification-token"] {
                assert_eq!(told.headers[name], "the receiver's token");
            }
            let update = &told.body[kind(&told.body)];
            let named = update.get("taskId").unwrap_or(&update["id"]);
            assert_eq!(*named, id);
        }
        // The first event is the task itself, for whoever was there at its beginning.
        let told: Vec<&Value> = posted.iter().map(|posted| &posted.body).collect();
        let updates: Vec<&Value> = streamed.iter().map(|seen| &seen.says).collect();
        assert!(told.ends_with(&updates), "{told:#?} {updates:#?}");
    })
    .await;
}

#[tokio::test]
async fn p5_a_receiver_that_fails_is_told_again() {
    everywhere(async |client| {
        let receiver = Receiver::start().await;
        receiver.answers(&["503 Busy"]);
        client.of("echo").ask("SendMessage", &telling("hello", &receiver)).await.unwrap();
        let posted = receiver.until(|posted| posted.len() > 1 && is_over(&posted[1..])).await;
        assert_eq!(
            posted[0].body, posted[1].body,
            "the refused one comes again, before the others"
        );
    })
    .await;
}

/// P6: where a webhook leads is judged when it is called; a redirect is an answer like another.
#[tokio::test]
async fn p6_nothing_but_the_named_receiver_is_ever_called() {
    everywhere(async |client| {
        let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
        let location = format!("307 Elsewhere\r\nlocation: {}", elsewhere.url());
        receiver.answers(&[Box::leak(location.into_boxed_str())]);
        let echo = client.of("echo");
        echo.ask("SendMessage", &telling("hello", &receiver)).await.unwrap();
        receiver.until(|posted| !posted.is_empty()).await;

        // Loopback by another name or number is not what the setting allows.
        let inner = elsewhere.url().replace("127.0.0.1", "127.0.0.2");
        let task = echo.send(&message("hello")).await["id"].clone();
        for url in [inner, elsewhere.url().replace("127.0.0.1", "[::ffff:127.0.0.2]")] {
            let id = format!("inner-{}", unique());
            let made = echo.ask(CREATE, &json!({"taskId": task, "id": id, "url": url})).await;
            if let Err(refusal) = made {
                assert_eq!(refusal.reason, "INVALID_PARAMS");
            }
        }
        let witness = Receiver::start().await;
        echo.ask("SendMessage", &telling("hello", &witness)).await.unwrap();
        witness.until(is_over).await;
        assert!(elsewhere.posted().is_empty());
    })
    .await;
}

#[tokio::test]
async fn p6_what_would_break_a_header_is_refused_and_so_is_one_webhook_too_many() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let task = echo.send(&message("hello")).await["id"].clone();
        let config = json!({"taskId": task, "url": "https://example.com/hook"});
        let scheme = json!({"scheme": "Bearer", "credentials": "a\r\nx: y"});
        for (field, value) in [
            ("token", json!("a\nb")),
            ("authentication", scheme),
            ("url", json!("ftp://example.com")),
            ("url", json!("not an address")),
            ("url", json!("https://user:secret@example.com/")),
        ] {
            let refusal = echo.refused(CREATE, &with(config.clone(), field, value)).await;
            assert_eq!(refusal.reason, "INVALID_PARAMS", "{field}");
            assert!(refusal.fields[0].starts_with(field), "{refusal:?}");
            assert!(!refusal.message.contains("secret"), "{refusal:?}");
        }
        for _ in 0..10 {
            echo.ask(CREATE, &config).await.unwrap();
        }
        assert_eq!(echo.refused(CREATE, &config).await.reason, "INVALID_PARAMS");
    })
    .await;
}

/// P7: they are for the receiver, and come back to nobody.
#[tokio::test]
async fn p7_secrets_are_never_given_back() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let task = echo.send(&message("hello")).await["id"].clone();
        let config = json!({
            "taskId": task, "id": "c", "url": "https://example.com/hook", "token": "canary-token",
            "authentication": {"scheme": "Bearer", "credentials": "canary-credentials"},
        });
        let made = echo.ask(CREATE, &config).await.unwrap();
        let got = echo.ask(GET, &json!({"taskId": task, "id": "c"})).await.unwrap();
        let all = echo.ask(LIST, &json!({ "taskId": task })).await.unwrap();
        for answer in [made, got, all] {
            assert!(!answer.to_string().contains("canary"), "{answer}");
            assert!(answer.to_string().contains("Bearer"), "{answer}");
        }
    })
    .await;
}
