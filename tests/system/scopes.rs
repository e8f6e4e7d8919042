//! Two scopes do not see, block or detect each other, and nothing of them reaches a log (issue "from
//! message to deliverable", 10).

use std::path::Path;

use cognition_local::{Options, System};
use serde_json::{Value, json};
use testkit::{Database, eventually};
use tokio::time::timeout;

use crate::support::caller::{Caller, id, message, message_in, state, submission};
use crate::support::home::Home;
use crate::support::life::Deployment;
use crate::support::{PATIENCE, book};

/// An agent that leaves a file in its workspace, says what is there, and can be kept busy.
fn nosy() -> Home {
    let execute = |command: &str| json!([{"name": "execute", "args": {"command": command}}]);
    Home::new().with_script(
        "nosy",
        &json!([
            [
                {"when": {"last_user_contains": "wait"}, "tool_calls": execute("sleep 100")},
                {"tool_calls": execute("touch {{user.text}}; ls")},
            ],
            {"text": "There is {{tool.text}}"},
        ]),
    )
}

#[tokio::test]
async fn two_scopes_with_the_same_ids_do_not_see_block_or_detect_each_other_on_sqlite() {
    let home = nosy();
    do_not_meet(&home.options()).await;
}

#[tokio::test]
async fn two_scopes_with_the_same_ids_do_not_see_block_or_detect_each_other_on_postgresql() {
    let (home, database) = (nosy(), Database::postgres().await);
    let options = Options { database_url: Some(database.url().to_owned()), ..home.options() };
    do_not_meet(&options).await;
}

async fn do_not_meet(options: &Options) {
    let system = System::start(options).await.unwrap();
    let anybody = Caller::new(system.url(), "nosy");
    let (alice, bob) = (anybody.of_user("alice"), anybody.of_user("bob"));

    // The same ids, and another content: no conflict.
    let (hers, his) = (message_in("c", "m-1", "hers"), message_in("c", "m-1", "his"));
    let sent = async { tokio::join!(alice.send(&hers), bob.send(&his)) };
    let (a, b) = timeout(PATIENCE, sent).await.expect("both end");
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_ne!(id(&a), id(&b));
    for (task, own, other) in [(&a, "hers", "his"), (&b, "his", "hers")] {
        assert_eq!(state(task), "TASK_STATE_COMPLETED", "{task:#}");
        assert_eq!(task["contextId"], "c");
        let said = task["artifacts"].to_string();
        assert!(said.contains(own) && !said.contains(other), "its own workspace: {said}");
    }
    assert_eq!(alice.send(&hers).await.unwrap(), a, "each has its own task again");
    assert_eq!(bob.send(&his).await.unwrap(), b);

    nothing_tells_that_there_is_a_task(&alice, &bob, &id(&a)).await;
    let empty_scope = anybody;
    nothing_tells_that_there_is_a_task(&alice, &empty_scope, &id(&a)).await;

    // A context that is busy in one scope is free in the other.
    let waiting = alice.submit(&message_in("c", "m-2", "wait")).await.unwrap();
    let busy = alice.submit(&message_in("c", "m-3", "more")).await.unwrap_err();
    assert_eq!(busy["code"], -32602, "{busy}");
    let free = timeout(PATIENCE, bob.send(&message_in("c", "m-2", "more"))).await;
    let free = free.expect("he does not wait for her").unwrap();
    assert_eq!(state(&free), "TASK_STATE_COMPLETED");
    assert_eq!(state(&alice.task(&id(&waiting)).await.unwrap()), "TASK_STATE_WORKING");
    alice.cancel(&id(&waiting)).await.unwrap();
    for task in [&a, &b, &waiting, &free] {
        book::ended(system.pool(), &id(task)).await;
    }
    system.stop().await;
}

/// Whatever the stranger asks about the owner's task is answered as if the task did not exist.
async fn nothing_tells_that_there_is_a_task(owner: &Caller, stranger: &Caller, task: &str) {
    let before = owner.task(task).await.unwrap();
    let no_task = "01920000-0000-7000-8000-000000000000";
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let about_his = stranger.call(method, &json!({"id": no_task})).await.unwrap_err();
        let about_hers = stranger.call(method, &json!({ "id": task })).await.unwrap_err();
        assert_eq!(about_hers["code"], -32001, "{method}: {about_hers}");
        assert_eq!(without_request_id(about_hers), without_request_id(about_his), "{method}");
    }
    let continues = |task: &str| {
        let mut message = message("m-9", "more");
        message["taskId"] = task.into();
        submission(&message)
    };
    let about_his = stranger.call("SendMessage", &continues(no_task)).await.unwrap_err();
    let about_hers = stranger.call("SendMessage", &continues(task)).await.unwrap_err();
    assert_eq!(about_hers["code"], -32001);
    assert_eq!(without_request_id(about_hers), without_request_id(about_his));
    assert_eq!(owner.task(task).await.unwrap(), before, "and it is untouched");
}

fn without_request_id(mut error: Value) -> Value {
    for detail in error["data"].as_array_mut().into_iter().flatten() {
        if let Some(metadata) = detail["metadata"].as_object_mut() {
            metadata.remove("requestId");
        }
    }
    error
}

/// What a log must not hold. Nothing else in the story reads like these.
const CANARIES: [(&str, &str); 7] = [
    ("a scope's value", "canary-scope"),
    ("what a client said", "canary-message"),
    ("a system prompt", "canary-prompt"),
    ("what the model said", "canary-answer"),
    ("a command", "canary-command"),
    ("a file's content", "canary-content"),
    ("a file's name", "canary-name"),
];

#[tokio::test]
async fn nothing_of_a_scope_its_words_and_its_files_reaches_a_log() {
    let name = "canary-name.txt";
    let path = format!("/workspace/{name}");
    let publish = json!({"path": path, "media_type": "text/plain"});
    let grow = format!("yes canary-content-canary-command | head -c 300000 >> {name}");
    let home = Home::new().with_script(
        "talker",
        &json!([
            {"text": "canary-answer", "tool_calls": [
                {"name": "write_file", "args": {"file_path": path, "content": "canary-content"}},
            ]},
            {"tool_calls": [{"name": "publish_artifact", "args": publish}]},
            {"tool_calls": [{"name": "execute", "args": {"command": grow}}]},
            {"tool_calls": [{"name": "publish_artifact", "args": publish}]},
            {"tool_calls": [{"name": "execute", "args": {"command": "canary-command"}}]},
            {"tool_calls": [{"name": "read_file", "args": {"file_path": "/workspace/canary-name"}}]},
            {"text": "canary-answer"},
        ]),
    );
    prompt(&home.agents().join("talker.json"));
    let (database, s3) = (Database::postgres().await, home.objects().await);
    let deployment = Deployment {
        home: &home,
        database: database.url(),
        s3: s3.bucket("canary-bucket").unwrap(),
        log: "debug",
    };
    let life = deployment.begin().await;
    let caller = Caller::new(&life.url, "talker").of_user("canary-scope");
    let request = json!({"message": message("m-1", "canary-message")});
    let seen = caller.open("SendStreamingMessage", &request).await;
    let seen = timeout(PATIENCE, seen.rest()).await.expect("it ends");
    let task = caller.task(&id(&seen[0].says["task"])).await.unwrap();
    assert_eq!(state(&task), "TASK_STATE_COMPLETED", "{task:#}");
    let shown = task.to_string();
    assert!(shown.contains("X-Amz-Signature"), "one file travels by address: {shown}");
    let busy = caller.send(&message("m-1", "another canary-message")).await.unwrap_err();
    assert_eq!(busy["code"], -32602, "{busy}");
    let logged = || std::fs::read_to_string(home.log()).unwrap();
    eventually(PATIENCE, async || logged().contains("Terminal")).await;
    let said = life.said.clone();
    life.kill().await;

    let log = logged();
    assert!(log.contains("DEBUG"), "{log}");
    let signed = [("a signed address", "X-Amz-Signature"), ("a bucket", "canary-bucket")];
    for (what, canary) in CANARIES.iter().chain(&signed) {
        let line = log.lines().chain(said.lines()).find(|line| line.contains(canary));
        assert_eq!(line, None, "{what} was logged");
    }
    s3.stop().await;
}

/// Gives an agent a system prompt.
fn prompt(agent: &Path) {
    let mut definition: Value =
        serde_json::from_str(&std::fs::read_to_string(agent).unwrap()).unwrap();
    definition["system_prompt"] = "canary-prompt".into();
    std::fs::write(agent, definition.to_string()).unwrap();
}
