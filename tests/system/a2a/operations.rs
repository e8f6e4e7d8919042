//! O1 to O17: what the operations do.

mod listing;

use serde_json::{Value, json};

use crate::support::cast::{QUESTION, SIGN_IN};
use crate::support::client::{Client, NO_TASK, everywhere, list, members, message, reply, with};

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

fn text(parts: &Value) -> String {
    list(parts).iter().map(|part| part["text"].as_str().unwrap_or_default()).collect()
}

/// A task that goes on until somebody ends it.
async fn begun(client: &Client) -> Value {
    client.of("counter").submit(&message("go on")).await
}

#[tokio::test]
async fn o1_an_answer_is_a_task_or_a_message_and_each_has_what_it_owes() {
    everywhere(async |client| {
        let sent = client.ask("SendMessage", &json!({"message": message("hello")})).await.unwrap();
        assert_eq!(members(&sent), ["task"]);
        let task = &sent["task"];
        for field in ["id", "contextId"] {
            assert!(!task[field].as_str().unwrap().is_empty(), "{field}: {task:#}");
        }
        for message in list(&task["history"]).iter().filter(|said| said["role"] == "ROLE_AGENT") {
            assert!(!message["messageId"].as_str().unwrap().is_empty());
            assert!(!list(&message["parts"]).is_empty());
            assert_eq!(message["contextId"], task["contextId"]);
            assert_eq!(message["taskId"], task["id"]);
        }

        let sent = client.ask("SendMessage", &json!({"message": message("reply")})).await.unwrap();
        assert_eq!(members(&sent), ["message"]);
        let said = &sent["message"];
        assert_eq!(
            (said["role"].as_str(), text(&said["parts"])),
            (Some("ROLE_AGENT"), "A plain answer.".to_owned(),)
        );
        assert!(said["messageId"].is_string() && said["contextId"].is_string(), "{said}");
    })
    .await;
}

/// §2.3, 10.
#[tokio::test]
async fn o2_a_send_waits_for_the_end_unless_it_is_told_not_to() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let ended = counter.send(&message("twenty")).await;
        assert_eq!(state(&ended), "TASK_STATE_COMPLETED");
        assert!(text(&ended["artifacts"][0]["parts"]).ends_with("number 20, "), "{ended:#}");
        let begun = counter.submit(&message("go on")).await;
        assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state(&begun)));
        counter.ask("CancelTask", &json!({"id": begun["id"]})).await.unwrap();

        let asked = client.send(&message("ask")).await;
        assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
        assert_eq!(text(&asked["status"]["message"]["parts"]), QUESTION);
    })
    .await;
}

#[tokio::test]
async fn o3_a_task_is_named_by_the_server_and_by_nobody_else() {
    everywhere(async |client| {
        for unknown in [NO_TASK, "my-own-task", "../tasks"] {
            let message = with(message("hello"), "taskId", unknown);
            for operation in ["SendMessage", "SendStreamingMessage"] {
                let refusal = client.refused(operation, &json!({"message": message})).await;
                assert_eq!(refusal.reason, "TASK_NOT_FOUND", "{operation} {unknown}");
            }
            let id = json!({"id": unknown});
            assert_eq!(client.refused("GetTask", &id).await.reason, "TASK_NOT_FOUND");
        }
        assert_eq!(client.tasks(&json!({})).await["totalSize"], 0, "and no task was made");
    })
    .await;
}

/// §2.3, 9.
#[tokio::test]
async fn o4_a_context_is_made_kept_and_inferred() {
    everywhere(async |client| {
        let made = client.send(&message("hello")).await;
        let other = client.send(&message("hello")).await;
        assert_ne!(made["contextId"], other["contextId"]);

        let own = with(message("ask"), "contextId", "a context of the client's");
        let asked = client.send(&own).await;
        assert_eq!(asked["contextId"], "a context of the client's");
        let inferred = client.send(&reply("the first", &asked)).await;
        assert_eq!(inferred["contextId"], asked["contextId"]);
        assert_eq!(inferred["id"], asked["id"]);

        let asked = client.send(&message("ask")).await;
        let elsewhere = with(reply("the first", &asked), "contextId", made["contextId"].clone());
        let refusal = client.refused("SendMessage", &json!({"message": elsewhere})).await;
        assert_eq!(
            (refusal.reason.as_str(), refusal.fields),
            ("INVALID_PARAMS", vec!["message.contextId".to_owned()],)
        );
    })
    .await;
}

/// Scenario 22: a context that is busy says so, and the first message is not disturbed.
#[tokio::test]
async fn o5_a_busy_context_answers_clearly() {
    everywhere(async |client| {
        let client = client.of("counter");
        let first = begun(&client).await;
        for operation in ["SendMessage", "SendStreamingMessage"] {
            let second = with(message("hello"), "contextId", first["contextId"].clone());
            let refusal = client.refused(operation, &json!({"message": second})).await;
            assert_eq!(refusal.reason, "INVALID_PARAMS");
            let third = reply("hello", &first);
            let refusal = client.refused(operation, &json!({"message": third})).await;
            assert_eq!(refusal.reason, "INVALID_PARAMS");
        }
        assert!(state(&client.task(&first["id"]).await) != "TASK_STATE_FAILED");
        client.ask("CancelTask", &json!({"id": first["id"]})).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn o5_nothing_moves_a_task_that_has_ended() {
    everywhere(async |client| {
        let completed = client.send(&message("hello")).await;
        let declined = client.send(&message("decline")).await;
        assert_eq!(state(&declined), "TASK_STATE_REJECTED", "{declined:#}");
        let canceled = begun(&client).await;
        let id = json!({"id": canceled["id"]});
        let canceled = client.of("counter").ask("CancelTask", &id).await.unwrap();
        for (agent, task) in [("actor", completed), ("actor", declined), ("counter", canceled)] {
            let client = client.of(agent);
            let before = client.task(&task["id"]).await;
            for operation in ["SendMessage", "SendStreamingMessage"] {
                let more = json!({"message": reply("more", &task)});
                let refusal = client.refused(operation, &more).await;
                assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION", "{operation} {task:#}");
            }
            let refusal = client.refused("SubscribeToTask", &json!({"id": task["id"]})).await;
            assert_eq!(refusal.reason, "UNSUPPORTED_OPERATION");
            assert_eq!(client.task(&task["id"]).await, before);
        }
    })
    .await;
}

#[tokio::test]
async fn o6_a_type_that_the_card_does_not_name_is_refused_where_the_agent_says_so() {
    everywhere(async |client| {
        let part = |media: &str| json!({"text": "x", "mediaType": media});
        let sends = |part: Value| json!({"message": with(message("m"), "parts", json!([part]))});
        for (media, taken) in [
            ("text/plain", true),
            ("Text/Plain; charset=utf-8", true),
            ("image/webp", true),
            ("application/pdf", false),
            ("text/plainer", false),
        ] {
            for operation in ["SendMessage", "SendStreamingMessage"] {
                let sent = sends(part(media));
                let strict = client.of("strict");
                if taken {
                    assert!(strict.ask("SendMessage", &sent).await.is_ok(), "{media}");
                } else {
                    let refusal = strict.refused(operation, &sent).await;
                    assert_eq!(refusal.reason, "CONTENT_TYPE_NOT_SUPPORTED", "{media}");
                }
            }
            assert!(client.of("echo").ask("SendMessage", &sends(part(media))).await.is_ok());
        }
        assert!(
            client.of("strict").ask("SendMessage", &sends(json!({"raw": "AA=="}))).await.is_ok()
        );
        let modes = json!({"acceptedOutputModes": ["application/x-nothing"]});
        let sent = json!({"message": message("hello"), "configuration": modes});
        assert!(client.ask("SendMessage", &sent).await.is_ok(), "what a client takes is a wish");
    })
    .await;
}

#[tokio::test]
async fn o7_a_history_is_as_long_as_was_asked_for() {
    everywhere(async |client| {
        let asked = client.send(&message("ask first")).await;
        let whole = client.send(&reply("and now", &asked)).await;
        let history = list(&whole["history"]);
        assert!(history.len() >= 3, "§2.3, 14: both sides, both times: {whole:#}");
        let said: Vec<String> = history
            .iter()
            .filter(|said| said["role"] == "ROLE_USER")
            .map(|said| text(&said["parts"]))
            .collect();
        assert_eq!(said, ["ask first", "and now"]);
        let get = |length: usize| json!({"id": whole["id"], "historyLength": length});
        for length in [1, 2, history.len(), history.len() + 7] {
            let newest = &history[history.len().saturating_sub(length)..];
            let task = client.ask("GetTask", &get(length)).await.unwrap();
            assert_eq!(list(&task["history"]), newest, "{length}");
            let filter = json!({"contextId": whole["contextId"], "historyLength": length});
            let tasks = client.tasks(&filter).await;
            assert_eq!(list(&tasks["tasks"][0]["history"]), newest, "{length}");
        }
        assert!(client.ask("GetTask", &get(0)).await.unwrap().get("history").is_none());

        let none = json!({"message": message("hello"), "configuration": {"historyLength": 0}});
        let sent = client.ask("SendMessage", &none).await.unwrap();
        assert!(sent["task"].get("history").is_none(), "{sent:#}");
        let one = json!({"message": message("hello"), "configuration": {"historyLength": 1}});
        let sent = client.ask("SendMessage", &one).await.unwrap();
        assert_eq!(list(&sent["task"]["history"]).len(), 1);
        for (operation, params) in [
            ("GetTask", json!({"id": whole["id"], "historyLength": -1})),
            ("ListTasks", json!({"historyLength": -1})),
            (
                "SendMessage",
                json!({"message": message("x"), "configuration": {"historyLength": -1}}),
            ),
        ] {
            assert_eq!(client.refused(operation, &params).await.reason, "INVALID_PARAMS");
        }
    })
    .await;
}

#[tokio::test]
async fn o9_cancel_answers_with_the_canceled_task_and_does_so_again() {
    everywhere(async |client| {
        let counter = client.of("counter");
        let task = begun(&client).await;
        let id = json!({"id": task["id"]});
        let mut stream = counter.subscribe(&task["id"]).await;
        stream.until(|says| says.get("artifactUpdate").is_some()).await;
        let canceled = counter.ask("CancelTask", &id).await.unwrap();
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
        let rest = stream.rest().await;
        let last = &rest.last().unwrap().says["statusUpdate"];
        assert_eq!(last["status"]["state"], "TASK_STATE_CANCELED", "subscribers see the end");
        let again = counter.ask("CancelTask", &id).await.unwrap();
        assert_eq!(again, canceled, "a second cancel answers with the same task");
        assert_eq!(counter.task(&task["id"]).await, canceled, "and nothing came after it");

        let waiting = client.send(&message("ask")).await;
        let canceled = client.ask("CancelTask", &json!({"id": waiting["id"]})).await.unwrap();
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED", "also one that waits for its client");

        let completed = client.send(&message("hello")).await;
        let declined = client.send(&message("decline")).await;
        for task in [completed, declined] {
            let refusal = client.refused("CancelTask", &json!({"id": task["id"]})).await;
            assert_eq!(refusal.reason, "TASK_NOT_CANCELABLE");
        }
        let unknown = client.refused("CancelTask", &json!({"id": NO_TASK})).await;
        assert_eq!(unknown.reason, "TASK_NOT_FOUND");
    })
    .await;
}

/// Whoever cancels while the work ends gets one of two answers, and it is the one that stays.
#[tokio::test]
async fn o9_cancel_and_completion_race_for_one_end() {
    everywhere(async |client| {
        for pause in 0..6 {
            let task = client.of("echo").submit(&message("hello")).await;
            for _ in 0..pause {
                client.of("echo").task(&task["id"]).await;
            }
            let echo = client.of("echo");
            let canceled = echo.ask("CancelTask", &json!({"id": task["id"]})).await;
            let ended = echo.task(&task["id"]).await;
            match canceled {
                Ok(canceled) => {
                    assert_eq!((state(&canceled), &canceled), ("TASK_STATE_CANCELED", &ended));
                }
                Err(refusal) => {
                    assert_eq!(refusal.reason, "TASK_NOT_CANCELABLE");
                    assert_eq!(state(&ended), "TASK_STATE_COMPLETED");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn o11_a_message_sent_again_is_the_same_request_and_another_under_its_id_is_none() {
    everywhere(async |client| {
        let sent = message("hello");
        let task = client.send(&sent).await;
        assert_eq!(client.send(&sent).await, task);
        let stream = client.stream(&sent).await;
        assert_eq!(stream.len(), 1, "a stream of what has ended is its task: {stream:?}");
        assert_eq!(stream[0]["task"]["id"], task["id"]);
        let length = json!({"message": sent, "configuration": {"historyLength": 0}});
        let again = client.ask("SendMessage", &length).await.unwrap();
        assert_eq!(again["task"]["id"], task["id"], "the configuration is no part of it");
        let other = with(sent.clone(), "parts", json!([{"text": "other"}]));
        let refusal = client.refused("SendMessage", &json!({"message": other})).await;
        assert_eq!(
            (refusal.reason.as_str(), refusal.fields),
            ("INVALID_PARAMS", vec!["message.messageId".to_owned()],)
        );
        let agents = client.of("echo").send(&sent).await;
        assert_ne!(agents["id"], task["id"], "another agent, another request");

        let asked = client.send(&message("ask")).await;
        let answer = reply("the first", &asked);
        let ended = client.send(&answer).await;
        assert_eq!(state(&ended), "TASK_STATE_COMPLETED");
        assert_eq!(client.send(&answer).await, ended, "a continuation too, after the end");
        assert_eq!(client.tasks(&json!({})).await["totalSize"], 2);
    })
    .await;
}

#[tokio::test]
async fn o12_a_message_that_lacks_something_is_told_what() {
    everywhere(async |client| {
        let good = message("hello");
        let less = |name: &str| {
            let mut message = good.clone();
            message.as_object_mut().unwrap().remove(name);
            json!({"message": message})
        };
        let parts = |parts: Value| json!({"message": with(good.clone(), "parts", parts)});
        for (params, field) in [
            (json!({}), "message"),
            (json!({"message": null}), "message"),
            (less("messageId"), "message.messageId"),
            (less("role"), "message.role"),
            (less("parts"), "message.parts"),
            (parts(json!([])), "message.parts"),
            (json!({"message": with(good.clone(), "messageId", "")}), "message.messageId"),
            (json!({"message": with(good.clone(), "role", "ROLE_AGENT")}), "message.role"),
            (json!({"message": with(good.clone(), "role", "ROLE_KING")}), "message.role"),
            (parts(json!([{}])), "message.parts[0]"),
            (parts(json!([{"text": "a"}, {"text": "a", "data": 1}])), "message.parts[1]"),
            (parts(json!([{"filename": "a"}])), "message.parts[0]"),
            (parts(json!([{"raw": "not base64!"}])), "message.parts[0].raw"),
        ] {
            for operation in ["SendMessage", "SendStreamingMessage"] {
                let refusal = client.refused(operation, &params).await;
                assert_eq!(refusal.reason, "INVALID_PARAMS", "{params}");
                assert_eq!(refusal.fields, [field], "{params}");
            }
        }
        assert_eq!(client.tasks(&json!({})).await["totalSize"], 0, "and nothing was made");
    })
    .await;
}

#[tokio::test]
async fn o13_parts_of_every_kind_are_kept_as_they_were_sent() {
    everywhere(async |client| {
        let parts = json!([
            {"text": ""},
            {"text": "# heading", "mediaType": "text/markdown", "filename": "a.md"},
            {"raw": "aGVsbG8=", "filename": "../../note.txt", "mediaType": "text/plain"},
            {"url": "https://example.com/report.pdf", "mediaType": "application/pdf"},
            {"data": {"b": 1.0, "a": [3, 1e2, null, "x"]}, "metadata": {"k": {"n": 3}}},
            {"data": [1]}, {"data": "a\u{0}b"}, {"data": 7}, {"data": true}, {"data": null},
        ]);
        let sent = with(with(message("m"), "parts", parts.clone()), "metadata", json!({"m": 1.50}));
        let task = client.of("echo").send(&sent).await;
        assert_eq!(task["history"][0]["parts"], parts);
        assert_eq!(task["history"][0]["metadata"], sent["metadata"]);
        assert_eq!(task["history"][0]["messageId"], sent["messageId"]);
    })
    .await;
}

#[tokio::test]
async fn o14_o15_results_are_artifacts_and_updates_add_up_to_what_get_shows() {
    everywhere(async |client| {
        let events = client.stream(&message("hand over")).await;
        let mut artifacts: Vec<Value> = Vec::new();
        for update in events.iter().filter_map(|event| event.get("artifactUpdate")) {
            let artifact = &update["artifact"];
            let same = |known: &&mut Value| known["artifactId"] == artifact["artifactId"];
            match artifacts.iter_mut().find(same) {
                Some(known) if update["append"] == true => {
                    let parts = known["parts"].as_array_mut().unwrap();
                    parts.extend(list(&artifact["parts"]).iter().cloned());
                }
                Some(known) => *known = artifact.clone(),
                None => artifacts.push(artifact.clone()),
            }
        }
        let task = client.task(&events[0]["task"]["id"]).await;
        let shown = list(&task["artifacts"]);
        assert_eq!(shown.len(), artifacts.len(), "{task:#}");
        for artifact in &artifacts {
            let id = &artifact["artifactId"];
            let found = shown.iter().find(|shown| shown["artifactId"] == *id).unwrap();
            assert_eq!(text(&found["parts"]), text(&artifact["parts"]), "{id}");
        }
        let named = |name: &str| {
            shown.iter().find(|shown| shown["name"] == name).unwrap_or_else(|| panic!("{task:#}"))
        };
        assert_eq!(text(&named("words")["parts"]), "one two");
        assert_eq!(named("table")["parts"][0]["data"], json!({"rows": [1, 2.50, null]}));
        assert_eq!(named("page")["parts"][0]["url"], "https://example.com/page");
        assert_eq!(named("page")["parts"][0]["mediaType"], "text/html");
    })
    .await;
}

#[tokio::test]
async fn o16_a_task_that_needs_an_authorization_says_which_and_goes_on_by_a_message() {
    everywhere(async |client| {
        let task = client.send(&message("sign in")).await;
        assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED", "{task:#}");
        assert_eq!(text(&task["status"]["message"]["parts"]), SIGN_IN);
        let mut stream = client.subscribe(&task["id"]).await;
        assert_eq!(stream.one().await.says["task"]["id"], task["id"], "streams stay open");
        let ended = client.send(&reply("I did", &task)).await;
        assert_eq!((state(&ended), &ended["id"]), ("TASK_STATE_COMPLETED", &task["id"]));
        let last = stream.rest().await.pop().unwrap();
        assert_eq!(last.says["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    })
    .await;
}

#[tokio::test]
async fn o17_a_message_may_refer_to_other_tasks() {
    everywhere(async |client| {
        let echo = client.of("echo");
        let first = echo.send(&message("one")).await;
        let refers = with(message("two"), "referenceTaskIds", json!([first["id"]]));
        let second = echo.send(&with(refers, "contextId", first["contextId"].clone())).await;
        assert_eq!(second["history"][0]["referenceTaskIds"], json!([first["id"]]));
        assert_eq!(second["contextId"], first["contextId"]);
        assert_ne!(second["id"], first["id"]);
    })
    .await;
}
