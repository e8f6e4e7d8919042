//! The sandbox refuses who was overtaken: by the run's fence, and after the run by the generation.

use domain::{InstanceId, TaskId};
use sandbox_protocol::client::{Client, Error, Transport};
use sandbox_protocol::files::WriteRequest;
use sandbox_protocol::runtime_token;
use serde_json::json;

use super::Scene;
use crate::support::caller::{id, message_in, submission};
use crate::support::home::{Home, RUNTIME_KEY};
use crate::support::stage::{Post, Stage};
use crate::support::{age, book};

#[tokio::test]
async fn the_sandbox_refuses_a_worker_that_was_overtaken() {
    let run = |command: &str| json!([{"name": "execute", "args": {"command": command}}]);
    let home = Home::new().with_script(
        "worker",
        &json!([
            {"tool_calls": run("echo one")},
            {"tool_calls": run("echo two")},
            {"text": "Done."},
        ]),
    );
    let scene = Scene::new(home).await;
    let stage = &scene.stage;
    let task = submit(stage, "m-1").await;
    let [wake_up] = stage.take().try_into().unwrap();
    let (mut post, mut kept) = (Post::of(stage), Vec::new());
    let mut paused = scene.pause(&mut post, wake_up, 1, &mut kept).await.unwrap();
    // On to the moment in which its first command is history.
    while book::rows(&stage.pool, "tool_calls where state = 'done'").await == 0 {
        paused = scene.resume(&mut post, paused, 1, &mut kept).await.expect("it is at work");
    }
    let late = Seat::of(stage, &task).await;
    // Who is not polled may hold what others wait for.
    post.run().await;
    age::leases(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    post.run().await;
    kept.append(&mut post.again);
    stage.settle(&task, kept).await;
    let winner = Seat::of(stage, &task).await;
    assert!(winner.fence > late.fence && winner.instance == late.instance);

    let written = late.write().await;
    assert!(matches!(written, Err(Error::Fenced)), "by the fence: {written:?}");
    winner.write().await.expect("the last holder is not refused");
    let again = paused.await.into_iter().collect();
    assert_eq!(stage.pump(again).await, []);
    assert_eq!(book::ended(&stage.pool, &task).await.state, "completed");

    let next = submit(stage, "m-2").await;
    stage.settle(&next, Vec::new()).await;
    let newest = Seat::of(stage, &next).await;
    let older = Seat { generation: winner.generation, ..newest.clone() };
    let written = older.write().await;
    assert!(matches!(written, Err(Error::Fenced)), "by the generation: {written:?}");
    newest.write().await.expect("the next run's own is not refused");
}

async fn submit(stage: &Stage, message_id: &str) -> String {
    let request = submission(&message_in("c", message_id, "Work."));
    id(&stage.call("worker", "SendMessage", &request).await.unwrap()["task"])
}

/// What a worker of a task's run tells the sandbox of itself.
#[derive(Debug, Clone)]
struct Seat {
    instance: InstanceId,
    endpoint: String,
    generation: i64,
    fence: i64,
}

impl Seat {
    async fn of(stage: &Stage, task: &str) -> Self {
        let task: TaskId = task.parse().unwrap();
        let statement = "select r.fence, i.instance_id, i.endpoint, i.generation
                           from runs r join sandbox_leases l on l.session_id = r.session_id
                           join sandbox_instances i on i.instance_id = l.instance_id
                          where r.task_id = $1";
        let row = stage.pool.query_opt(statement, &[task.into()]).await.unwrap().unwrap();
        Self {
            instance: row.get("instance_id").unwrap(),
            endpoint: row.get("endpoint").unwrap(),
            generation: row.get("generation").unwrap(),
            fence: row.get("fence").unwrap(),
        }
    }

    async fn write(&self) -> Result<(), Error> {
        let token = runtime_token(RUNTIME_KEY.as_bytes(), self.instance.as_uuid());
        let client = Client::new(&Transport::new().unwrap(), &self.endpoint, token)
            .with_generation(self.generation)
            .with_run_fence(self.fence);
        let file = WriteRequest { path: "late.txt".to_owned(), content: "late".to_owned() };
        client.write(&file).await.map(drop)
    }
}
