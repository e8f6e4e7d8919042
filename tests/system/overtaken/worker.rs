//! The orchestrator is paused at random moments of the demo, and another one takes the run over.

use std::collections::BTreeMap;

use domain::Scope;
use messages::Message as _;
use messages::runs::RunReady;
use serde_json::json;
use store::runs::{Claim, claim};
use tokio::time::timeout;

use super::{Paused, Scene};
use crate::support::caller::{id, message, submission};
use crate::support::chance::Chance;
use crate::support::home::Home;
use crate::support::stage::{Letter, Post};
use crate::support::{PATIENCE, REQUEST, age, book};

const TIMES: usize = 12;
/// About as many polls as the demo takes.
const POLLS: u64 = 250;

/// How far the other worker has come when the first one wakes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    HasBegun,
    HasFinished,
}

#[tokio::test]
async fn what_an_overtaken_worker_does_touches_no_row_of_a_run_that_another_holds() {
    at_random_moments(Other::HasBegun, 0x51ee_9e42).await;
}

#[tokio::test]
async fn what_an_overtaken_worker_does_touches_no_row_of_a_run_that_another_finished() {
    at_random_moments(Other::HasFinished, 0x0bed_71e5).await;
}

async fn at_random_moments(other: Other, seed: u64) {
    let mut chance = Chance::seeded(seed);
    let scene = Scene::new(Home::new()).await;
    let mut overtaken = 0;
    for time in 0..TIMES {
        let polls = usize::try_from(1 + chance.below(POLLS)).unwrap();
        overtaken += usize::from(is_overtaken(&scene, time, polls, other).await);
    }
    println!("{overtaken} of {TIMES} were overtaken, the others were done before");
    assert!(overtaken > TIMES / 2);
}

/// Whether the worker was still at work after so many polls.
async fn is_overtaken(scene: &Scene, time: usize, polls: usize, other: Other) -> bool {
    let stage = &scene.stage;
    let at = format!("paused after {polls} polls, the other one {other:?}");
    let request = submission(&message(&format!("m-{time}"), REQUEST));
    let task = id(&stage.call("analyst", "SendMessage", &request).await.unwrap()["task"]);
    let [wake_up] = stage.take().try_into().unwrap();
    let run = RunReady::parse(&wake_up.body).unwrap().run;
    let (mut post, mut kept) = (Post::of(stage), Vec::new());
    let mut paused = scene.pause(&mut post, wake_up, polls, &mut kept).await;
    let overtaken = paused.is_some();
    // Who is not polled may hold what others wait for.
    post.run().await;
    kept.append(&mut post.again);
    age::leases(&stage.pool).await;

    if other == Other::HasBegun && overtaken {
        let claimed = claim(&stage.pool, &Scope::empty().digest(), run, "another").await.unwrap();
        assert!(matches!(claimed, Claim::Yes(_)), "{at}: {claimed:?}");
        kept.extend(wakes_up_in_vain(scene, paused.take(), &at).await);
        age::leases(&stage.pool).await;
    }
    stage.functions.sweeper.sweep().await;
    stage.settle(&task, kept).await;
    let shown = async || stage.call("analyst", "GetTask", &json!({ "id": task })).await.unwrap();
    let view = shown().await;
    let again = wakes_up_in_vain(scene, paused, &at).await;
    assert_eq!(stage.pump(again.into_iter().collect()).await, [], "{at}");
    assert_eq!(shown().await, view, "{at}");
    let ended = book::ended(&stage.pool, &task).await;
    assert_eq!((ended.state.as_str(), ended.files.len()), ("completed", 2), "{at}");

    age::idle_sandboxes(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    assert_eq!(stage.pump(Vec::new()).await, [], "{at}");
    overtaken
}

/// Lets the worker go on to its end. Returns its message, if that must come again.
async fn wakes_up_in_vain(scene: &Scene, worker: Option<Paused>, at: &str) -> Option<Letter> {
    let worker = worker?;
    let before = rows(scene).await;
    let again = timeout(PATIENCE, worker).await.expect("it stops");
    assert_eq!(rows(scene).await, before, "{at}");
    again
}

/// All rows, but for messages on their way: what the worker had committed before, it may still send.
async fn rows(scene: &Scene) -> BTreeMap<String, Vec<String>> {
    let mut rows = book::everything(&scene.stage.pool).await;
    rows.remove("outbox");
    rows
}
