//! The notifier dies anywhere.

use std::time::Duration;

use lambda_kit::deadline::Budget;
use testkit::{Database, killed_after};

use super::receiver::Receiver;
use super::scene::Scene;

/// Killed at every await and delivered again: no update is skipped, none comes out of its order, and
/// only the one in hand may come twice.
#[tokio::test]
async fn killed_at_every_await_it_skips_no_update() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        scene.say("a").await;
        scene.finish().await;
        let budget = Budget::of(Duration::from_mins(15));
        let notifier = scene.notifier();
        let survived = killed_after(polls, notifier.handle(scene.event(), budget)).await.is_some();
        for _ in 0..2 {
            scene.later().await;
            scene.deliver(&scene.notifier()).await;
        }
        let mut said = receiver.said();
        let all = said.len();
        said.dedup();
        let wanted = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "a", "TASK_STATE_COMPLETED"];
        assert_eq!(said, wanted, "killed after {polls} polls");
        assert!(all <= wanted.len() + 1, "killed after {polls} polls: {all} posts");
        if survived {
            assert!(polls > 10, "the handler was killed {polls} times only");
            break;
        }
    }
}

/// When the invocation's time is nearly over, the rest is left to another one.
#[tokio::test]
async fn what_does_not_fit_into_an_invocation_goes_on_in_the_next() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    let receiver = Receiver::start().await;
    let scene = Scene::new(&pool, &receiver).await;
    let notifier = scene.notifier();
    notifier.handle(scene.event(), Budget::of(Duration::from_secs(10))).await;
    assert_eq!(receiver.said(), Vec::<String>::new());
    assert_eq!(scene.queues.sent().last().unwrap().delay, Duration::ZERO);
    scene.deliver(&notifier).await;
    assert_eq!(receiver.said().len(), 2);
}
