//! The publisher is paused on its way, and what happens meanwhile decides whether its file counts.

use messages::Queue;
use serde_json::json;
use store::sandboxes;
use tokio::time::timeout;

use super::Scene;
use crate::support::caller::{id, message, submission};
use crate::support::home::Home;
use crate::support::stage::{Letter, Post};
use crate::support::{PATIENCE, REQUEST, age, book};

/// What happens while the publisher sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Canceled,
    /// The sandbox is lost, and with it the generation from which the file comes.
    Replaced,
}

#[tokio::test]
async fn a_file_does_not_count_when_its_task_is_canceled_while_the_publisher_sleeps() {
    wherever_the_publisher_sleeps(Meanwhile::Canceled).await;
}

#[tokio::test]
async fn a_file_does_not_count_when_its_sandbox_is_replaced_while_the_publisher_sleeps() {
    wherever_the_publisher_sleeps(Meanwhile::Replaced).await;
}

async fn wherever_the_publisher_sleeps(meanwhile: Meanwhile) {
    let scene = Scene::new(Home::new()).await;
    let mut times = 0;
    for polls in (1..).step_by(3) {
        times += 1;
        if !sleeps(&scene, polls, meanwhile).await {
            break;
        }
    }
    assert!(times > 5, "a publication takes more than {times} steps");
}

/// Whether the publisher was still at work after so many polls.
async fn sleeps(scene: &Scene, polls: usize, meanwhile: Meanwhile) -> bool {
    let stage = &scene.stage;
    let request = submission(&message(&format!("m-{polls}"), REQUEST));
    let task = id(&stage.call("analyst", "SendMessage", &request).await.unwrap()["task"]);
    let counted = book::rows(&stage.pool, "publications where state = 'active'").await;
    let mut post = Post::of(stage);
    let publications = run_until_publications(scene, &mut post).await;
    let [first, second] = publications.try_into().unwrap();
    let mut kept = Vec::new();
    let paused = scene.pause(&mut post, first, polls, &mut kept).await;
    let slept = paused.is_some();
    // It may have done its work, and sleep on its way home.
    let counts = book::rows(&stage.pool, "publications where state = 'active'").await - counted;
    let counts = usize::try_from(counts).unwrap();

    match meanwhile {
        Meanwhile::Canceled => {
            stage.call("analyst", "CancelTask", &json!({ "id": task })).await.unwrap();
        }
        Meanwhile::Replaced => {
            let live = sandboxes::of_other_runners(&stage.pool, "process", "").await.unwrap();
            for instance in live {
                assert!(sandboxes::lost(&stage.pool, &instance, "lost").await.unwrap());
            }
        }
    }
    if let Some(sleeper) = paused {
        kept.extend(timeout(PATIENCE, sleeper).await.expect("it ends"));
    }
    kept.push(second);
    kept.append(&mut post.again);
    stage.settle(&task, kept).await;

    let at = format!("{meanwhile:?} after {polls} polls");
    let ended = book::ended(&stage.pool, &task).await;
    match meanwhile {
        Meanwhile::Canceled => {
            assert_eq!(ended.state, "canceled", "{at}");
            assert_eq!((ended.files.len(), ended.refused.len()), (counts, 2 - counts), "{at}");
        }
        Meanwhile::Replaced => {
            assert_eq!(ended.state, "completed", "{at}");
            assert_eq!(ended.files, ["report.md", "sales.csv"], "{at}: from the next sandbox");
            assert_eq!(ended.refused.len(), 2 - counts, "{at}");
        }
    }
    age::idle_sandboxes(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    assert_eq!(stage.pump(Vec::new()).await, []);
    slept
}

/// Lets everybody but the publisher work until both files are asked for and the run rests.
async fn run_until_publications(scene: &Scene, post: &mut Post<'_>) -> Vec<Letter> {
    let mut publications = Vec::new();
    loop {
        for letter in scene.stage.take() {
            if letter.queue == Queue::Publications {
                publications.push(letter);
            } else {
                post.deliver(letter);
            }
        }
        if !post.is_busy() {
            return publications;
        }
        post.work().await;
    }
}
