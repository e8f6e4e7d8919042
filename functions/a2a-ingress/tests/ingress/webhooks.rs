//! The operations on webhooks: P2, P6 and P7.

use serde_json::{Value, json};
use testkit::on_both;

use crate::common::{Call, scene};

fn message() -> Value {
    json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]})
}

fn webhook(id: &str) -> Value {
    json!({
        "id": id, "url": "https://example.com/canary", "token": "canary-token",
        "authentication": {"scheme": "Bearer", "credentials": "canary-words"},
    })
}

/// P2, P7: made, read, listed page by page and deleted twice; token and credentials come back nowhere,
/// and another scope learns nothing.
#[tokio::test]
async fn p2_a_webhook_is_made_read_listed_and_deleted_without_its_secrets() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let inline = json!({"returnImmediately": true, "taskPushNotificationConfig": webhook("")});
        let params = json!({"message": message(), "configuration": inline});
        let sent = Call::rest("POST", "/message:send", &params).send(&scene).await;
        assert_eq!(sent.status, 200, "{}", sent.body);
        let sent: Value = serde_json::from_str(&sent.body).unwrap();
        let task = sent["task"]["id"].as_str().unwrap().to_owned();
        let path = format!("/tasks/{task}/pushNotificationConfigs");
        let shown = |id: &str| {
            json!({"id": id, "taskId": task, "url": "https://example.com/canary",
                   "authentication": {"scheme": "Bearer"}})
        };
        let call = async |method: &'static str, path: &str, body: &Value| {
            let answer = Call::rest(method, path, body).send(&scene).await;
            assert!(!answer.body.contains("canary-"), "{}", answer.body);
            (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
        };
        // The inline one has the task's id.
        let found = call("GET", &format!("{path}/{task}"), &Value::Null).await;
        assert_eq!(found, (200, shown(&task)));
        for _ in 0..2 {
            assert_eq!(call("POST", &path, &webhook("a")).await, (200, shown("a")));
        }
        let made = call("POST", &path, &webhook("")).await.1;
        assert_ne!(made["id"], json!(""));
        // Three are as many as there may be here.
        assert_eq!(call("POST", &path, &webhook("b")).await.0, 400);

        let mut ids = Vec::new();
        let mut token = String::new();
        loop {
            let page = format!("{path}?pageSize=2&pageToken={token}");
            let (status, page) = call("GET", &page, &Value::Null).await;
            assert_eq!(status, 200, "{page}");
            let configs = page["configs"].as_array().unwrap();
            ids.extend(configs.iter().map(|config| config["id"].as_str().unwrap().to_owned()));
            page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        let mut wanted = [task.clone(), "a".to_owned(), made["id"].as_str().unwrap().to_owned()];
        wanted.sort();
        ids.sort();
        assert_eq!(ids, wanted);
        assert_eq!(call("GET", &format!("{path}?pageToken=%21"), &Value::Null).await.0, 400);

        let one = format!("{path}/a");
        for (method, path) in [("GET", &one), ("DELETE", &one), ("GET", &path)] {
            let stranger = Call::rest(method, path, &Value::Null).account("other");
            assert_eq!(stranger.send(&scene).await.status, 404, "{method} {path}");
        }
        for _ in 0..2 {
            assert!(call("DELETE", &one, &Value::Null).await.0 < 300);
        }
        assert_eq!(call("GET", &one, &Value::Null).await.0, 404);
    })
    .await;
}

/// P6: what may not be called is not registered, alone or with a message, which is not admitted then.
#[tokio::test]
async fn p6_an_address_that_may_not_be_called_is_refused() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for url in ["http://example.com/", "https://127.0.0.1/", "https://0x7f000001/", "nowhere"] {
            let inline = json!({"taskPushNotificationConfig": {"url": url}});
            let params = json!({"message": message(), "configuration": inline});
            let answer = Call::rpc("SendMessage", &params).send(&scene).await;
            assert!(answer.body.contains("-32602"), "{url}: {}", answer.body);
            let field = "configuration.taskPushNotificationConfig.url";
            assert!(answer.body.contains(field), "{url}: {}", answer.body);
        }
        let tasks = pool.query("select task_id from tasks", &[]).await.unwrap();
        assert!(tasks.is_empty());
    })
    .await;
}
