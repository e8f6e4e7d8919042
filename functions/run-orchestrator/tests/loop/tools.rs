//! Tools on a real sandbox server.

use std::sync::Arc;
use std::time::Duration;

use agent::{Body, Message, ToolArtifact, ToolStatus};
use domain::{ArtifactContent, EventBody, PublicationFailure, TaskState};
use lambda_kit::deadline::Budget;
use messages::Queue;
use model::{DemoModel, Providers};
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::Pool;

use crate::common::{INVOCATION, Setup, World, on_both};
use crate::rig::{Prompt, Rig};

/// Calls these tools, one answer after the other, and then says "done".
fn script(calls: impl IntoIterator<Item = Value>) -> Value {
    let mut turns: Vec<_> =
        calls.into_iter().map(|call| json!({"tool_calls": as_list(call)})).collect();
    turns.push(json!({"text": "done"}));
    json!({"turns": turns})
}

fn as_list(call: Value) -> Value {
    if call.is_array() { call } else { json!([call]) }
}

pub(crate) fn write(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "args": {"file_path": path, "content": content}})
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Value {
    let args = json!({"file_path": path, "old_string": old, "new_string": new});
    json!({"name": "edit_file", "args": args})
}

pub(crate) fn execute(command: &str) -> Value {
    json!({"name": "execute", "args": {"command": command}})
}

pub(crate) fn publish(path: &str) -> Value {
    json!({"name": "publish_artifact", "args": {"path": path, "media_type": "text/csv"}})
}

/// Status, code and text of each result, in the log's order.
pub(crate) fn results(log: &[Message]) -> Vec<(bool, String, String)> {
    let result = |message: &Message| match &message.body {
        Body::Tool { status, code, .. } => {
            Some((*status == ToolStatus::Success, code.clone().unwrap_or_default(), message.text()))
        }
        _ => None,
    };
    log.iter().filter_map(result).collect()
}

/// Runs a script to its end.
async fn run(pool: &Pool, rig: &Rig, scenario: Value) -> World {
    let world = World::new(pool, scenario).await;
    rig.settle(&world).await;
    assert_eq!(world.state().await, TaskState::Completed, "{:?}", world.code().await);
    world
}

#[tokio::test]
async fn t02_t03_a_file_is_written_and_written_again() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world =
            run(&pool, &rig, script([write("a.txt", "x"), write("/workspace/a.txt", "y")])).await;
        assert_eq!(rig.file(&world, "a.txt").await.as_deref(), Some("y"));
        let log = world.log().await;
        assert_eq!(log.len(), 5);
        assert!(results(&log).iter().all(|(ok, ..)| *ok));
        assert_eq!(world.model.calls().len(), 3);
    })
    .await;
}

/// T04 to T06.
#[tokio::test]
async fn t04_t05_t06_an_edit_changes_what_is_there_exactly_once_or_says_why_not() {
    on_both(async |pool| {
        let rig = Rig::new();
        let mut all = edit("a.txt", "x", "z");
        all["args"]["replace_all"] = true.into();
        let world = run(
            &pool,
            &rig,
            script([
                write("a.txt", "x\r\nx\r\nx"),
                edit("a.txt", "x", "z"),
                edit("a.txt", "x\n", "z"),
                all,
                edit("a.txt", "z\nz\n", "y\n"),
                edit("b.txt", "x", "y"),
            ]),
        )
        .await;
        let codes: Vec<_> = results(&world.log().await).into_iter().map(|r| r.1).collect();
        assert_eq!(codes, ["", "NOT_UNIQUE", "NOT_UNIQUE", "", "", "FILE_NOT_FOUND"]);
        assert_eq!(rig.file(&world, "a.txt").await.as_deref(), Some("y\r\nz"));
    })
    .await;
}

#[tokio::test]
async fn t07_t10_t11_a_file_is_read_in_pages() {
    on_both(async |pool| {
        let rig = Rig::new();
        let lines: Vec<_> = (1..=250).map(|n| format!("line {n}")).collect();
        let lines = lines.join("\n");
        let read = |offset: i64, limit: i64| {
            let args = json!({"file_path": "a", "offset": offset, "limit": limit});
            json!({"name": "read_file", "args": args})
        };
        let world = run(
            &pool,
            &rig,
            script([
                write("a", &lines),
                read(0, 100),
                read(200, 100),
                read(0, 0),
                read(-5, 1),
                read(250, 1),
                json!({"name": "read_file", "args": {"file_path": "nothing"}}),
            ]),
        )
        .await;
        let results = results(&world.log().await);
        assert!(results[1].2.contains("100  line 100") && results[1].2.contains("offset=100"));
        assert!(results[2].2.ends_with("250  line 250"), "{}", results[2].2);
        assert!(results[3].2.contains("not inspected"));
        assert!(results[4].2.contains("1  line 1") && results[4].2.contains("below zero"));
        assert_eq!(results[5].1, "OFFSET_OUT_OF_RANGE");
        assert_eq!(results[6].1, "FILE_NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn files_are_listed_found_searched_and_removed() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world = run(
            &pool,
            &rig,
            script([
                json!([write("a/b.txt", "needle\n"), write("c.txt", "hay\n")]),
                json!({"name": "ls", "args": {"path": "."}}),
                json!({"name": "glob", "args": {"pattern": "**/*.txt"}}),
                json!({"name": "grep", "args": {"pattern": "needle", "output_mode": "content"}}),
                json!({"name": "grep", "args": {"pattern": "a|b"}}),
                json!({"name": "delete", "args": {"file_path": "a"}}),
                json!({"name": "delete", "args": {"file_path": "a"}}),
                json!({"name": "ls", "args": {"path": "a"}}),
            ]),
        )
        .await;
        let results = results(&world.log().await);
        assert_eq!(results[2].2, "/workspace/a/\n/workspace/c.txt");
        assert_eq!(results[3].2, "/workspace/a/b.txt\n/workspace/c.txt");
        assert_eq!(results[4].2, "/workspace/a/b.txt:\n  1: needle");
        assert!(results[5].2.contains("literally"));
        assert!(results[6].0);
        assert_eq!(results[7].1, "FILE_NOT_FOUND");
        assert_eq!(results[8].1, "PATH_NOT_FOUND");
    })
    .await;
}

#[tokio::test]
async fn t17_t18_a_command_tells_how_it_ended_and_where_its_output_is() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world = run(
            &pool,
            &rig,
            script([
                execute("echo out; echo err >&2; exit 3"),
                execute("seq 1 200000"),
                json!({"name": "execute", "args": {"command": "touch x", "timeout": 99_999}}),
                execute("cat a-file"),
            ]),
        )
        .await;
        let log = world.log().await;
        let results = results(&log);
        assert!(results[0].0 && results[0].2.contains("[exit code 3: failed]"), "{}", results[0].2);
        assert!(results[0].2.contains("out") && results[0].2.contains("err"));
        let artifact = log.iter().find_map(|message| match &message.body {
            Body::Tool { artifact: Some(artifact), .. } => Some(artifact.clone()),
            _ => None,
        });
        assert_eq!(artifact, Some(ToolArtifact::Command { exit_code: Some(3) }));
        let (_, path) = results[1].2.split_once("/workspace/").expect("where the output is");
        let path = path.split(".]").next().unwrap();
        let whole = rig.file(&world, path).await.unwrap();
        assert!(whole.ends_with("199999\n200000\n"), "{path}");
        assert_eq!(results[2].1, "TIMEOUT_TOO_LARGE");
        assert!(rig.file(&world, "x").await.is_none(), "nothing ran");
        assert!(results[3].2.contains("[exit code 1: failed]"));
    })
    .await;
}

/// T23: the results are presented in call order, and what depends on each other runs in order.
#[tokio::test]
async fn t23_parallel_calls_are_answered_in_call_order() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world = run(
            &pool,
            &rig,
            script([
                json!([
                    write("a.txt", "1"),
                    edit("a.txt", "1", "2"),
                    edit("a.txt", "2", "3"),
                    write("b.txt", "b"),
                    execute("cat a.txt b.txt"),
                ]),
                json!({"name": "read_file", "args": {"file_path": "a.txt"}}),
            ]),
        )
        .await;
        assert_eq!(rig.file(&world, "a.txt").await.as_deref(), Some("3"));
        let (request, _) = world.model.calls().remove(1);
        let shown = results(&request.messages);
        assert_eq!(shown.len(), 5);
        assert!(shown.iter().all(|(ok, ..)| *ok), "{shown:?}");
        assert!(shown[0].2.starts_with("Wrote") && shown[4].2.starts_with("3b"), "{shown:?}");
    })
    .await;
}

#[tokio::test]
async fn a_published_file_is_told_by_name_size_and_artifact() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world = run(
            &pool,
            &rig,
            script([json!([
                write("out.csv", "a,b\n"),
                publish("/workspace/out.csv"),
                publish("/workspace/missing.csv"),
            ])]),
        )
        .await;
        let results = results(&world.log().await);
        let published: Vec<_> = results.iter().filter(|r| r.2.starts_with("Published")).collect();
        assert_eq!(published.len(), 1);
        assert!(published[0].2.contains("out.csv (4 bytes)"));
        assert!(results.iter().any(|r| r.1 == "FILE_NOT_FOUND"), "{results:?}");
        let announced = world.events().await.into_iter().filter(|event| {
            matches!(event, EventBody::Artifact(update)
                if matches!(update.content, ArtifactContent::Published { .. }))
        });
        assert_eq!(announced.count(), 1);
    })
    .await;
}

/// "Must be seen" 8: no announcement, a clear error to the model, and the run goes on.
#[tokio::test]
async fn a_publication_that_fails_is_an_error_to_the_model_and_no_announcement() {
    on_both(async |pool| {
        let rig = Rig::refusing(PublicationFailure::VerificationFailed);
        let calls = json!([write("a.csv", "x"), publish("/workspace/a.csv")]);
        let world = run(&pool, &rig, script([calls])).await;
        let results = results(&world.log().await);
        assert_eq!(results[1].1, "PUBLICATION_FAILED");
        assert!(results[1].2.contains("VERIFICATION_FAILED"), "{}", results[1].2);
        assert_eq!(world.answer().await, "done");
    })
    .await;
}

/// The whole of it in one invocation: sandbox and publication come while the worker waits.
#[tokio::test]
async fn what_comes_quickly_is_waited_for_in_place() {
    on_both(async |pool| {
        let rig = Rig::new();
        let calls = [
            json!([write("a.csv", "x"), execute("cp a.csv b.csv")]),
            json!([publish("/workspace/a.csv"), publish("/workspace/b.csv")]),
        ];
        let mut world = World::new(&pool, script(calls)).await;
        world.settings.time.patience = Duration::from_secs(30);
        let claimed = world.claim().await;
        let outcome = rig.beside(&world, world.drive_claimed(claimed, INVOCATION)).await;
        assert_eq!(outcome, Outcome::Terminal);
        let results = results(&world.log().await);
        assert_eq!(results.len(), 4);
        assert!(results.iter().all(|(ok, ..)| *ok), "{results:?}");
    })
    .await;
}

#[tokio::test]
async fn a_run_rests_until_its_sandbox_is_there() {
    on_both(async |pool| {
        let rig = Rig::new();
        let world = World::new(&pool, script([write("a", "x")])).await;
        assert_eq!(world.drive().await, Outcome::Yield);
        let sent = world.queues.sent();
        assert!(sent.iter().all(|message| message.queue == Queue::Sandboxes), "{sent:?}");
        rig.settle(&world).await;
        assert_eq!(world.state().await, TaskState::Completed);
        assert_eq!(rig.file(&world, "a").await.as_deref(), Some("x"));
    })
    .await;
}

/// The sandbox is ready after the worker looked for it and before it rests: the worker stays awake.
#[tokio::test]
async fn a_wake_up_between_look_and_rest_is_not_lost() {
    on_both(async |pool| {
        let mut world = World::new(&pool, script([write("a", "x")])).await;
        world.settings.time.patience = Duration::ZERO;
        let claimed = world.claim().await;
        let mut worker = world.worker();
        worker.queues = Arc::new(Prompt { rig: Rig::new(), pool: pool.clone() });
        let outcome = Box::pin(worker.drive(claimed, Budget::of(INVOCATION))).await.unwrap();
        assert_eq!(outcome, Outcome::Terminal);
        assert_eq!(world.state().await, TaskState::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_command_that_outlives_the_invocation_is_attached_to_again() {
    on_both(async |pool| {
        let rig = Rig::new();
        let command = "echo x >> ran; while ! test -e go; do sleep 0.02; done; echo over";
        let mut world = World::new(&pool, script([execute(command)])).await;
        world.settings.time.poll = Duration::from_millis(30);
        world.settings.time.tools_least = Duration::ZERO;
        world.settings.time.model_least = Duration::ZERO;
        world.settings.time.reserve = Duration::ZERO;
        world.settings.time.guard = Duration::ZERO;
        assert_eq!(world.drive().await, Outcome::Yield, "it rests until there is a sandbox");
        rig.serve_once(&world).await;
        for _ in 0..2 {
            assert_eq!(world.drive_for(Duration::from_millis(200)).await, Outcome::Yield);
        }
        std::fs::write(rig.root(&world).await.join("go"), "").unwrap();
        rig.settle(&world).await;
        assert_eq!(rig.file(&world, "ran").await.as_deref(), Some("x\n"), "it ran once");
        assert!(results(&world.log().await)[0].2.starts_with("over"));
    })
    .await;
}

#[tokio::test]
async fn what_a_client_sent_is_read_without_a_sandbox() {
    on_both(async |pool| {
        let read = json!({"name": "read_file", "args": {"file_path": "{{user.artifact}}"}});
        let world = Setup { bytes: Some("aGVsbG8="), ..Setup::new(script([read])) };
        let world = world.world(&pool).await;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(results(&world.log().await)[0].2, "1  hello");
        assert_eq!(world.queues.sent(), []);
    })
    .await;
}

/// The demo's whole way: it computes, writes, runs and publishes through the same tools.
#[tokio::test]
async fn the_demo_model_delivers_two_files() {
    on_both(async |pool| {
        let rig = Rig::new();
        let mut setup = Setup { provider: "demo", ..Setup::new(json!({"turns": []})) };
        setup.says = "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful \
                      downloadable report."
            .to_owned();
        let mut world = setup.world(&pool).await;
        world.settings.time.patience = Duration::from_secs(30);
        let claimed = world.claim().await;
        let mut worker = world.worker();
        worker.models = Providers::new().with("demo", Arc::new(DemoModel::default()));
        let driven = Box::pin(worker.drive(claimed, Budget::of(INVOCATION)));
        assert_eq!(rig.beside(&world, driven).await.unwrap(), Outcome::Terminal);
        assert_eq!(world.state().await, TaskState::Completed);
        let results = results(&world.log().await);
        assert!(results.iter().all(|(ok, ..)| *ok), "{results:?}");
        let published = world.events().await.into_iter().filter(|event| {
            matches!(event, EventBody::Artifact(update)
                if matches!(update.content, ArtifactContent::Published { .. }))
        });
        assert_eq!(published.count(), 2);
        assert!(!world.answer().await.is_empty());
    })
    .await;
}
