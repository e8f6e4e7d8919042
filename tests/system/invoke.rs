//! `make invoke`: each handler alone, on each sample of its event, answers as its contract says.
//!
//! The database is empty. So runs, tasks, instances and publications of the samples are unknown, and
//! what is asserted is what each function does with a message that came to the wrong place or too
//! late.

use std::fs;

use cognition_local::invoke::{FUNCTIONS, invoke};
use serde_json::{Value, json};

use crate::events::{Sample, samples};
use crate::support::home::Home;

/// Runs every sample of the function, and gives each answer to `check`.
async fn answers(function: &str, check: impl Fn(&Sample, &Value)) {
    let (home, samples) = (Home::new(), samples(&format!("{function}/")));
    assert!(!samples.is_empty());
    for sample in samples {
        // Each sample finds an empty database.
        let options = cognition_local::Options { memory: true, ..home.options() };
        let answer = invoke(&options, function, &sample.path).await;
        check(&sample, &answer.unwrap_or_else(|error| panic!("{}: {error:#}", sample.name)));
    }
}

fn acknowledged(sample: &Sample, answer: &Value) {
    assert_eq!(*answer, json!({"batchItemFailures": []}), "{}", sample.name);
}

/// Every message goes on to the dead-letter queue in the end.
fn rejected(sample: &Sample, answer: &Value) {
    let event: Value = serde_json::from_str(&sample.text).unwrap();
    let ids = event["Records"].as_array().unwrap().iter().map(|record| &record["messageId"]);
    let failures: Vec<_> = ids.map(|id| json!({"itemIdentifier": id})).collect();
    assert_eq!(*answer, json!({"batchItemFailures": failures}), "{}", sample.name);
}

#[tokio::test]
async fn the_orchestrator_acknowledges_runs_that_it_does_not_know() {
    answers("run-orchestrator", acknowledged).await;
}

#[tokio::test]
async fn the_controller_rejects_what_it_does_not_know() {
    answers("sandbox-controller", rejected).await;
}

#[tokio::test]
async fn the_publisher_rejects_publications_that_it_does_not_know() {
    answers("artifact-publisher", rejected).await;
}

#[tokio::test]
async fn the_notifier_acknowledges_webhooks_that_it_does_not_know() {
    answers("push-notifier", acknowledged).await;
}

#[tokio::test]
async fn the_sweeper_finds_nothing_to_do() {
    answers("sweeper", |_, answer| {
        let swept = answer["swept"].as_str().unwrap();
        assert!(swept.starts_with("Swept {") && swept.contains("failed: []"), "{swept}");
    })
    .await;
}

#[tokio::test]
async fn the_ingress_admits_a_message_and_knows_no_task() {
    answers("a2a-ingress", |sample, answer| {
        let body = answer["body"].as_str().unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        let error = |name: &str| -> Value {
            serde_json::from_str(&samples(&format!("http/{name}.json"))[0].text).unwrap()
        };
        match sample.name.as_str() {
            "a2a-ingress/send-message.json" => {
                assert_eq!(answer["statusCode"], 200);
                assert_eq!(body["id"], "1");
                assert_eq!(body["result"]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
            }
            "a2a-ingress/function-url.json" => {
                assert_eq!(answer["statusCode"], 200);
                assert_eq!(body["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
            }
            "a2a-ingress/get-task.json" => {
                assert_eq!(
                    (&answer["statusCode"], body),
                    (&404.into(), error("a2a-http-json-error"))
                );
            }
            "a2a-ingress/get-task-json-rpc.json" => {
                assert_eq!(
                    (&answer["statusCode"], body),
                    (&200.into(), error("a2a-json-rpc-error"))
                );
            }
            other => panic!("what does the ingress answer to {other}? {answer}"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_of_a_newer_version_is_kept_for_a_newer_function() {
    let home = Home::new();
    for (function, sample) in [
        ("run-orchestrator", "admitted"),
        ("sandbox-controller", "acquire"),
        ("artifact-publisher", "requested"),
    ] {
        let sample = samples(&format!("{function}/{sample}.json")).remove(0);
        let newer = sample.text.replacen(r#"\"v\":1"#, r#"\"v\":2"#, 1);
        assert_ne!(newer, sample.text);
        let file = home.path().join("newer.json");
        fs::write(&file, newer).unwrap();
        rejected(&sample, &invoke(&home.options(), function, &file).await.unwrap());
    }
}

#[tokio::test]
async fn an_unknown_function_and_an_unreadable_event_are_told() {
    let home = Home::new();
    let event = samples("sweeper/").remove(0).path;
    let error = invoke(&home.options(), "nobody", &event).await.unwrap_err().to_string();
    assert!(FUNCTIONS.iter().all(|function| error.contains(function)), "{error}");
    let error = invoke(&home.options(), "run-orchestrator", &home.path().join("absent.json")).await;
    assert!(error.unwrap_err().to_string().contains("absent.json"));
}
