//! O8: listing tasks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{begun, state};
use crate::support::client::{everywhere, list, members, message, with};

#[tokio::test]
async fn o8_a_list_has_all_its_fields_and_artifacts_only_when_asked_for() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let empty = echo.tasks(&json!({})).await;
        let expected = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
        assert_eq!(empty, expected, "§2.3, 11");
        let task = echo.send(&message("hello")).await;
        let listed = echo.tasks(&json!({})).await;
        assert_eq!(members(&listed), ["nextPageToken", "pageSize", "tasks", "totalSize"]);
        assert!(listed["tasks"][0].get("artifacts").is_none(), "{listed:#}");
        assert_eq!(listed["tasks"][0]["status"], task["status"]);
        let with_them = echo.tasks(&json!({"includeArtifacts": true})).await;
        assert_eq!(with_them["tasks"][0]["artifacts"], task["artifacts"]);
        assert_eq!(client.of("strict").tasks(&json!({})).await["totalSize"], 0, "of one agent");
        assert_eq!(echo.of_user("stranger").tasks(&json!({})).await["totalSize"], 0);
    })
    .await;
}

#[tokio::test]
async fn o8_filters_narrow_what_the_others_leave() {
    everywhere(async |client| {
        let hello = client.send(&with(message("hello"), "contextId", "one")).await;
        let asked = client.send(&with(message("ask"), "contextId", "two")).await;
        let again = client.send(&with(message("hello"), "contextId", "one")).await;
        let found = async |filter: Value| {
            let page = client.tasks(&filter).await;
            let ids = list(&page["tasks"]).iter().map(|task| task["id"].clone());
            let ids: Vec<Value> = ids.collect();
            assert_eq!(page["totalSize"], ids.len(), "{filter}");
            ids
        };
        let [hello_id, asked_id, again_id] = [&hello, &asked, &again].map(|t| t["id"].clone());
        let all = vec![again_id.clone(), asked_id.clone(), hello_id.clone()];
        assert_eq!(found(json!({})).await, all, "the newest status first");
        assert_eq!(found(json!({"contextId": "two"})).await, std::slice::from_ref(&asked_id));
        assert_eq!(found(json!({"contextId": "three"})).await, Vec::<Value>::new());
        let completed = json!({"status": "TASK_STATE_COMPLETED"});
        assert_eq!(found(completed.clone()).await, [again_id.clone(), hello_id]);
        assert_eq!(found(with(completed, "contextId", "two")).await, Vec::<Value>::new());
        // At or after, not only after.
        let since = json!({"statusTimestampAfter": asked["status"]["timestamp"]});
        let since_then = found(since.clone()).await;
        assert!(since_then.contains(&asked_id) && since_then.contains(&again_id));
        let both = with(since, "contextId", "one");
        assert!(found(both).await.contains(&again_id));
        let never = json!({"statusTimestampAfter": "2999-01-01T00:00:00Z"});
        assert_eq!(found(never).await, Vec::<Value>::new());
    })
    .await;
}

#[tokio::test]
async fn o8_what_cannot_be_read_is_refused_by_its_name() {
    everywhere(async |client| {
        for (filter, field) in [
            (json!({"pageSize": 0}), "pageSize"),
            (json!({"pageSize": 101}), "pageSize"),
            (json!({"pageSize": -5}), "pageSize"),
            (json!({"pageToken": "nonsense"}), "pageToken"),
            (json!({"status": "FOO"}), "status"),
            (json!({"statusTimestampAfter": "yesterday"}), "statusTimestampAfter"),
        ] {
            let refusal = client.refused("ListTasks", &filter).await;
            assert_eq!(refusal.reason, "INVALID_PARAMS", "{filter}");
            assert_eq!(refusal.fields, [field], "{filter}");
        }
    })
    .await;
}

/// Pages come from the one ingress and from the other; tasks change and appear meanwhile. What was
/// there from the first page to the last comes exactly once.
#[tokio::test]
async fn o8_pages_neither_lose_nor_repeat_while_tasks_change() {
    everywhere(async |client| {
        let echo = client.of("counter");
        let mut there = BTreeSet::new();
        let mut open = Vec::new();
        for number in 0..7 {
            let task =
                if number % 3 == 0 { begun(&client).await } else { echo.send(&message("n")).await };
            there.insert(task["id"].as_str().unwrap().to_owned());
            if number % 3 == 0 {
                open.push(task["id"].clone());
            }
        }
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = echo.tasks(&json!({"pageSize": 2, "pageToken": token})).await;
            assert_eq!(page["pageSize"], 2);
            assert!(list(&page["tasks"]).len() <= 2);
            seen.extend(list(&page["tasks"]).iter().map(|t| t["id"].as_str().unwrap().to_owned()));
            if let Some(id) = open.pop() {
                let canceled = echo.ask("CancelTask", &json!({ "id": id })).await.unwrap();
                assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
            }
            page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        let once: BTreeSet<String> = seen.iter().cloned().collect();
        assert_eq!(once.len(), seen.len(), "none comes twice: {seen:?}");
        assert!(once.is_superset(&there), "none is lost: {seen:?} of {there:?}");
    })
    .await;
}
