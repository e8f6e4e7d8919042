//! Scenario 47: the controller dies at every await, and the message comes again.

use std::sync::Arc;

use messages::sandboxes::Command;
use store::sandboxes::InstanceState;
use testkit::queues::Fault;
use testkit::{Database, MemoryQueues, killed_after, on_both};

use super::world::{World, acquire, body};
use crate::{End, LaunchError};

#[tokio::test]
async fn killed_anywhere_in_an_acquisition_there_is_one_sandbox_and_no_orphan() {
    let database = Database::sqlite().await;
    let world = World::new(database.pool(1).await).await;
    for polls in 0.. {
        let run = world.run_in(&format!("context {polls}")).await;
        let message = acquire(&run);
        let survived = killed_after(polls, world.handle(&message)).await.is_some();
        assert!(world.running().len() <= 1, "killed after {polls} polls");
        world.handle(&message).await.unwrap();

        let held = world.held(&run).await;
        assert_eq!(held.generation, 1, "killed after {polls} polls");
        let running: Vec<_> = world.running().into_iter().map(|server| server.0).collect();
        assert_eq!(running, [held.instance], "killed after {polls} polls");
        assert_eq!(world.live_instances().await, 1, "killed after {polls} polls");
        assert_eq!(world.state(held.instance).await, InstanceState::Ready);

        world.end(run.clone()).await;
        world.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        world.handle(&body(&run, Command::Release { instance: held.instance })).await.unwrap();
        if survived {
            assert!(polls > 20, "the awaits are there to be died at");
            break;
        }
    }
}

#[tokio::test]
async fn killed_anywhere_in_a_replacement_the_old_sandbox_ends_before_the_new_one_starts() {
    let database = Database::sqlite().await;
    let world = World::new(database.pool(1).await).await;
    for polls in 0.. {
        let context = format!("context {polls}");
        let first = world.run_in(&context).await;
        world.ask(&first).await;
        let old = world.held(&first).await;
        world.end(first).await;
        world.sql("update sandbox_instances set config_digest = 'of last week'").await;

        let second = world.run_in(&context).await;
        let message = acquire(&second);
        let survived = killed_after(polls, world.handle(&message)).await.is_some();
        world.handle(&message).await.unwrap();
        let new = world.held(&second).await;
        let running: Vec<_> = world.running().into_iter().map(|server| server.0).collect();
        assert_eq!(running, [new.instance], "killed after {polls} polls");
        assert_eq!(world.state(old.instance).await, InstanceState::Terminated);
        assert_eq!(world.instances_in_time().await, "ended before the next was launched");

        world.end(second.clone()).await;
        world.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        let release = body(&second, Command::Release { instance: new.instance });
        world.handle(&release).await.unwrap();
        if survived {
            break;
        }
    }
}

#[tokio::test]
async fn killed_anywhere_in_a_release_the_sandbox_is_ended_by_the_next_one() {
    let database = Database::sqlite().await;
    let world = World::new(database.pool(1).await).await;
    for polls in 0.. {
        let run = world.run_in(&format!("context {polls}")).await;
        world.ask(&run).await;
        let held = world.held(&run).await;
        let release = body(&run, Command::Release { instance: held.instance });
        world.end(run).await;
        world.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        let survived = killed_after(polls, world.handle(&release)).await.is_some();
        world.handle(&release).await.unwrap();
        assert_eq!(world.running(), [], "killed after {polls} polls");
        assert_eq!(world.live_instances().await, 0, "killed after {polls} polls");
        if survived {
            break;
        }
    }
}

#[tokio::test]
async fn a_launch_that_fails_and_is_killed_anywhere_is_told_once_for_all() {
    let database = Database::sqlite().await;
    let world = World::with_server(database.pool(1).await, "/bin/false".into()).await;
    for polls in 0.. {
        let run = world.run_in(&format!("context {polls}")).await;
        let message = acquire(&run);
        let survived = killed_after(polls, world.handle(&message)).await.is_some();
        world.handle(&message).await.unwrap();
        let held = world.look(&run).await;
        assert!(matches!(held, store::sandboxes::Held::Failed { .. }), "{polls}: {held:?}");
        assert_eq!(world.instances().await.len(), (polls + 1) * 2, "killed after {polls} polls");
        assert_eq!(world.live_instances().await, 0);
        if survived {
            break;
        }
    }
}

/// A launch and a release can be under way at the same time: one has read its row before the other
/// has changed it.
#[tokio::test]
async fn what_was_ended_is_never_started_again() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        let instance = world.reserve(&run).await;
        assert_eq!(world.controller.backend.terminate(&instance).await, End::Confirmed);
        let late = world.controller.backend.launch(&instance).await;
        assert!(matches!(late, Err(LaunchError::Ended)), "{late:?}");
        assert_eq!(world.running(), []);
        // The run gets another one.
        world.ask(&run).await;
        assert_ne!(world.held(&run).await.instance, instance.id);
    })
    .await;
}

#[tokio::test]
async fn a_wake_up_that_is_not_sent_stays_for_the_sweeper() {
    on_both(async |pool| {
        let mut world = World::new(pool).await;
        let queues = Arc::new(MemoryQueues::new().always_failing(Fault::Unavailable));
        world.controller.queues = queues.clone();
        let run = world.run().await;
        world.handle(&acquire(&run)).await.unwrap();
        assert_eq!(queues.sent(), []);
        assert_eq!(world.outbox().await, 1);
        world.held(&run).await;
    })
    .await;
}
