//! The main job: a client's message becomes files in the client's hands (issue "from message to
//! deliverable", 1).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cloud::objects::Tag;
use cloud::s3::S3Objects;
use cognition_local::{Options, System};
use domain::limits;
use messages::Queue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{Database, eventually};
use tokio::time::timeout;

use crate::support::caller::{Caller, Seen, id, message, state};
use crate::support::home::Home;
use crate::support::{PATIENCE, REQUEST, book};

#[tokio::test]
async fn the_demo_request_becomes_two_verified_files_on_sqlite() {
    let home = Home::new();
    becomes_two_verified_files(&home, &home.options()).await;
}

#[tokio::test]
async fn the_demo_request_becomes_two_verified_files_on_postgresql() {
    let (home, database) = (Home::new(), Database::postgres().await);
    let options = Options { database_url: Some(database.url().to_owned()), ..home.options() };
    becomes_two_verified_files(&home, &options).await;
}

async fn becomes_two_verified_files(home: &Home, options: &Options) {
    let system = System::start(options).await.unwrap();
    let caller = Caller::new(system.url(), "analyst");
    let sent = json!({"message": message("m-1", REQUEST)});
    let seen = caller.open("SendStreamingMessage", &sent).await.rest().await;
    let task = the_stream_tells_the_story(&seen);

    let shown = caller.task(&task).await.unwrap();
    assert_eq!(state(&shown), "TASK_STATE_COMPLETED");
    let files = files(&shown);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["report.md", "sales.csv"]);
    assert_eq!(files["sales.csv"].0, "text/csv");
    assert_eq!(text(&files["sales.csv"]), "sale,amount_usd\n1,10\n2,20\n3,30\n");
    assert_eq!(files["report.md"].0, "text/markdown");
    let report = text(&files["report.md"]);
    assert!(report.contains("60"), "the report holds the total: {report}");

    let history: Vec<_> = shown["history"].as_array().unwrap().iter().collect();
    assert_eq!(history[0]["messageId"], "m-1");
    assert_eq!(history[0]["parts"][0]["text"], REQUEST);
    assert!(history[1..].iter().all(|said| said["role"] == "ROLE_AGENT"), "{history:?}");
    assert!(history.len() >= 3, "an opening and a closing: {history:?}");
    assert_eq!(caller.task(&task).await.unwrap(), shown, "the same, whenever it is asked for");

    let ended = book::ended(system.pool(), &task).await;
    assert_eq!(ended.state, "completed");
    assert_eq!(ended.files, ["report.md", "sales.csv"]);
    assert_eq!(ended.refused, Vec::<String>::new());
    timeout(PATIENCE, system.queues().drained()).await.expect("the queues are drained");
    for queue in Queue::ALL {
        assert_eq!(system.queues().dead_letters(queue), []);
    }
    assert_eq!(book::rows(system.pool(), "outbox").await, 0);

    assert!(!home.sandboxed().is_empty(), "the sandbox is kept for the next message");
    system.stop().await;
    eventually(PATIENCE, async || home.sandboxed().is_empty()).await;
}

/// Task first, then what happens, in the log's order, and the end last. Returns the task's id.
fn the_stream_tells_the_story(seen: &[Seen]) -> String {
    let task = id(&seen[0].says["task"]);
    assert!(seen.windows(2).all(|two| two[0].id < two[1].id), "{seen:#?}");
    let last = &seen.last().unwrap().says["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
    let artifacts = seen.iter().map(|event| &event.says["artifactUpdate"]["artifact"]);
    let names: Vec<_> =
        artifacts.filter_map(|artifact| artifact["parts"][0]["filename"].as_str()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 2, "{names:?}");
    assert_eq!(names.len(), 2, "each file is announced once");
    task
}

fn text((_, bytes): &(String, Vec<u8>)) -> &str {
    str::from_utf8(bytes).unwrap()
}

type Files = BTreeMap<String, (String, Vec<u8>)>;

/// The inline files of a task: media type and bytes, which are what was announced.
fn files(task: &Value) -> Files {
    let mut files = Files::new();
    for artifact in task["artifacts"].as_array().unwrap() {
        let part = &artifact["parts"][0];
        let Some(raw) = part["raw"].as_str() else { continue };
        let bytes = BASE64_STANDARD.decode(raw).unwrap();
        let about = &part["metadata"]["cognition"];
        assert_eq!(about["sha256"], hex::encode(Sha256::digest(&bytes)), "{part}");
        let name = part["filename"].as_str().unwrap().to_owned();
        let kind = part["mediaType"].as_str().unwrap().to_owned();
        assert!(files.insert(name, (kind, bytes)).is_none(), "each file once");
    }
    files
}

/// 300 KiB.
const LARGE: usize = 300 * 1024;

fn bulky() -> Home {
    let command = format!("head -c {LARGE} /dev/zero | tr '\\0' 'x' > bulk.txt");
    let home = Home::new();
    home.with_script(
        "bulky",
        &json!([
            {"tool_calls": [{"name": "execute", "args": {"command": command}}]},
            {"tool_calls": [{
                "name": "publish_artifact",
                "args": {"path": "/workspace/bulk.txt", "media_type": "text/plain"},
            }]},
            {"text": "The file is {{tool.status}}."},
        ]),
    )
}

#[tokio::test]
async fn a_large_file_travels_by_a_fresh_signed_address_that_is_stored_nowhere() {
    const { assert!(LARGE as u64 > limits::INLINE_PUBLICATION_BYTES) };
    let home = bulky();
    let s3 = home.objects().await;
    let settings = s3.bucket("story").unwrap();
    let objects = S3Objects::connect(settings.clone()).await;
    let options = Options { s3: Some(settings), ..home.options() };
    let system = System::start(&options).await.unwrap();
    let caller = Caller::new(system.url(), "bulky");

    let task = caller.send(&message("m-1", "Write much.")).await.unwrap();
    assert_eq!(state(&task), "TASK_STATE_COMPLETED", "{task}");
    let part = published(&task);
    assert_eq!((&part["filename"], &part["mediaType"]), (&"bulk.txt".into(), &"text/plain".into()));
    let url = part["url"].as_str().unwrap_or_else(|| panic!("not by address: {part}")).to_owned();
    assert!(url.contains("X-Amz-Signature=") && url.contains("X-Amz-Expires=900"), "{url}");
    let (headers, bytes) = caller.download(&url).await;
    assert_eq!(headers["content-type"], "text/plain");
    let disposition = headers["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment"), "{disposition}");
    assert!(disposition.contains("bulk.txt"), "{disposition}");
    assert_eq!(bytes.len(), LARGE);
    assert!(bytes.iter().all(|byte| *byte == b'x'));
    assert_eq!(part["metadata"]["cognition"]["sha256"], hex::encode(Sha256::digest(&bytes)));

    // A signature tells the second in which it was made.
    eventually(PATIENCE, async || {
        let again = caller.task(&id(&task)).await.unwrap();
        let fresh = published(&again)["url"].as_str().unwrap().to_owned();
        fresh != url && caller.download(&fresh).await.1 == bytes
    })
    .await;

    nothing_signed_is_stored(&system).await;
    the_object_carries_the_tag(&system, &objects).await;
    assert_eq!(book::ended(system.pool(), &id(&task)).await.files, ["bulk.txt"]);
    system.stop().await;
    s3.stop().await;
}

fn published(task: &Value) -> &Value {
    let parts = task["artifacts"].as_array().unwrap().iter().map(|artifact| &artifact["parts"][0]);
    let mut files = parts.filter(|part| part["filename"].is_string());
    files.next().unwrap_or_else(|| panic!("no file: {task:#}"))
}

async fn nothing_signed_is_stored(system: &System) {
    let all = book::everything(system.pool()).await;
    assert!(all["publications"][0].contains("published/"), "the object's key is there");
    for line in all.values().flatten() {
        assert!(!line.contains("X-Amz-"), "{line}");
    }
}

async fn the_object_carries_the_tag(system: &System, objects: &S3Objects) {
    let statement = "select object_key, descriptor_key from publications";
    let row = system.pool().query_opt(statement, &[]).await.unwrap().unwrap();
    let tags = objects.tags(&row.get::<String>("object_key").unwrap()).await.unwrap();
    let expected =
        Tag { key: limits::CONTENT_CLASS_TAG.into(), value: limits::PUBLISHED_FILE.into() };
    assert_eq!(tags, [expected]);
    let descriptor: String = row.get("descriptor_key").unwrap();
    assert_eq!(objects.tags(&descriptor).await.unwrap(), [], "the descriptor carries none");
}
