//! The orchestrator is paused at random moments of the demo, and another one finishes the run.

use serde_json::json;
use tokio::time::timeout;

use super::Scene;
use crate::support::caller::{id, message, state, submission};
use crate::support::chance::Chance;
use crate::support::home::Home;
use crate::support::stage::Post;
use crate::support::{PATIENCE, REQUEST, age, book};

const TIMES: usize = 16;
/// About as many polls as the demo takes.
const POLLS: u64 = 250;

#[tokio::test]
async fn what_an_overtaken_worker_does_afterwards_touches_no_row() {
    let mut chance = Chance::seeded(0x51ee_9e42);
    let scene = Scene::new(Home::new()).await;
    let mut overtaken = 0;
    for time in 0..TIMES {
        let polls = usize::try_from(1 + chance.below(POLLS)).unwrap();
        overtaken += usize::from(is_overtaken(&scene, time, polls).await);
    }
    println!("{overtaken} of {TIMES} were overtaken, the others were done before");
    assert!(overtaken > TIMES / 2);
}

/// Whether the worker was still at work after so many polls.
async fn is_overtaken(scene: &Scene, time: usize, polls: usize) -> bool {
    let stage = &scene.stage;
    let at = format!("paused after {polls} polls");
    let request = submission(&message(&format!("m-{time}"), REQUEST));
    let task = id(&stage.call("analyst", "SendMessage", &request).await.unwrap()["task"]);
    let [wake_up] = stage.take().try_into().unwrap();
    let (mut post, mut kept) = (Post::of(stage), Vec::new());
    let paused = scene.pause(&mut post, wake_up, polls, &mut kept).await;

    // Who is not polled may hold what others wait for.
    post.run().await;
    age::leases(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    post.run().await;
    kept.append(&mut post.again);
    stage.settle(&task, kept).await;
    let ended = book::ended(&stage.pool, &task).await;
    assert_eq!((ended.state.as_str(), ended.files.len()), ("completed", 2), "{at}");

    let overtaken = paused.is_some();
    if let Some(sleeper) = paused {
        let shown = async || stage.call("analyst", "GetTask", &json!({ "id": task })).await;
        let (rows, view) = (book::everything(&stage.pool).await, shown().await.unwrap());
        let again = timeout(PATIENCE, sleeper).await.expect("it stops");
        // What it had committed before, it may send once more.
        assert_eq!(stage.pump(again.into_iter().collect()).await, [], "{at}");
        assert_eq!(book::everything(&stage.pool).await, rows, "{at}");
        assert_eq!(state(&view), "TASK_STATE_COMPLETED", "{at}");
        assert_eq!(shown().await.unwrap(), view, "{at}");
    }
    age::idle_sandboxes(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    assert_eq!(stage.pump(Vec::new()).await, [], "{at}");
    overtaken
}
