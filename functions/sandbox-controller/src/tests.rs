//! The handler on real databases, with the real sandbox server.

mod faults;
mod isolation;
mod runners;
mod world;

use lambda_kit::sqs::Failure;
use messages::Queue;
use messages::sandboxes::Command;
use sandbox_protocol::client;
use store::sandboxes::{Held, InstanceState};
use testkit::{Database, on_both, on_both_databases};
use world::{World, acquire, body};

#[tokio::test]
async fn a_run_that_asks_is_woken_and_has_a_sandbox_that_works() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        world.ask(&run).await;
        let woken = world.queues.take();
        assert_eq!(woken.iter().map(|sent| sent.queue).collect::<Vec<_>>(), [Queue::Runs]);
        assert_eq!(world.outbox().await, 1, "only the asking is left, which nobody has sent");

        let held = world.held(&run).await;
        assert_eq!(held.generation, 1);
        let client = world.client(&held, &run);
        let said = world::shell(&client, "echo hello > greeting && cat greeting").await;
        assert_eq!(said, "hello\n");
        let file = world.workspace(&held).join("greeting");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "hello\n");
        assert_eq!(world.running().len(), 1);
    })
    .await;
}

/// Scenario 42.
#[tokio::test]
async fn ten_acquisitions_at_once_launch_one_sandbox() {
    on_both_databases(async |database| {
        let world = World::new(database.pool(10).await).await;
        let run = world.run().await;
        let message = acquire(&run);
        let all = std::iter::repeat_with(|| world.handle(&message)).take(10);
        let answers = futures_util::future::join_all(all).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(world.running().len(), 1);
        assert_eq!(world.instances().await.len(), 1);
        assert_eq!(world.held(&run).await.generation, 1);
    })
    .await;
}

/// Scenarios 43 and 48, and the sandbox's part of what a paused worker may still do.
#[tokio::test]
async fn the_next_run_adopts_the_sandbox_and_fences_the_one_before() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let first = world.run().await;
        world.ask(&first).await;
        let before = world.held(&first).await;
        let old = world.client(&before, &first);
        world::shell(&old, "echo one > kept").await;
        world.end(first).await;

        let second = world.run().await;
        world.ask(&second).await;
        let after = world.held(&second).await;
        assert_eq!((after.instance, after.generation), (before.instance, 2));
        let new = world.client(&after, &second);
        assert_eq!(world::shell(&new, "cat kept").await, "one\n");
        let refused = world::start(&old, "echo two > kept").await;
        assert!(matches!(refused, Err(client::Error::Fenced)), "{refused:?}");
        assert_eq!(world::shell(&new, "cat kept").await, "one\n");
        assert_eq!(world.running().len(), 1);
    })
    .await;
}

/// Scenario 48 within one run: the run's fence tells its workers apart, and the generation stays.
#[tokio::test]
async fn another_worker_of_the_same_run_goes_on_with_the_same_sandbox() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let old = world.run().await;
        world.ask(&old).await;
        let held = world.held(&old).await;
        let paused = world.client(&held, &old);
        world::shell(&paused, "true").await;

        let new = world.take_over(&old).await;
        assert_eq!(world.held(&new).await, held);
        world::shell(&world.client(&held, &new), "true").await;
        let refused = world::start(&paused, "true").await;
        assert!(matches!(refused, Err(client::Error::Fenced)), "{refused:?}");
    })
    .await;
}

/// Scenario 45.
#[tokio::test]
async fn another_configuration_ends_the_old_sandbox_before_it_starts_a_new_one() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let first = world.run().await;
        world.ask(&first).await;
        let old = world.held(&first).await;
        world::shell(&world.client(&old, &first), "echo kept > file").await;
        world.end(first).await;
        world.sql("update sandbox_instances set config_digest = 'of last week'").await;

        let second = world.run().await;
        world.ask(&second).await;
        let new = world.held(&second).await;
        assert_ne!(new.instance, old.instance);
        assert_eq!(world.state(old.instance).await, InstanceState::Terminated);
        assert_eq!(world.instances_in_time().await, "ended before the next was launched");
        assert_eq!(world::shell(&world.client(&new, &second), "cat file").await, "kept\n");
        assert_eq!(world.running().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_that_died_is_replaced_when_its_run_asks_again() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        world.ask(&run).await;
        let old = world.held(&run).await;
        world::shell(&world.client(&old, &run), "echo kept > file").await;
        world.kill_servers().await;
        let gone = world::start(&world.client(&old, &run), "true").await;
        assert!(gone.is_err(), "{gone:?}");

        world.ask(&run).await;
        let new = world.held(&run).await;
        assert_ne!(new.instance, old.instance);
        assert!(new.generation > old.generation);
        assert_eq!(world::shell(&world.client(&new, &run), "cat file").await, "kept\n");
    })
    .await;
}

/// Scenario 53.
#[tokio::test]
async fn an_idle_sandbox_is_released_once_and_a_late_release_does_no_harm() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        world.ask(&run).await;
        let held = world.held(&run).await;
        let release = body(&run, Command::Release { instance: held.instance });
        // While it is in use, and while its workspace is not idle for long enough, nothing happens.
        world.handle(&release).await.unwrap();
        world.end(run).await;
        world.handle(&release).await.unwrap();
        assert_eq!(world.state(held.instance).await, InstanceState::Ready);

        world.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        for _ in 0..3 {
            world.handle(&release).await.unwrap();
            assert_eq!(world.state(held.instance).await, InstanceState::Terminated);
        }
        assert_eq!(world.running(), []);
        assert!(world.workspace(&held).is_dir(), "the files stay");
        assert!(!world.data().join("instances").join(held.instance.as_uuid().to_string()).exists());
    })
    .await;
}

/// Scenario 53, a sandbox that was reserved and never launched.
#[tokio::test]
async fn what_was_never_launched_is_released_too() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        let instance = world.reserve(&run).await.id;
        world.end(run.clone()).await;
        world.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        let release = body(&run, Command::Release { instance });
        for _ in 0..2 {
            world.handle(&release).await.unwrap();
            assert_eq!(world.state(instance).await, InstanceState::Terminated);
        }
        assert_eq!(world.running(), []);
    })
    .await;
}

#[tokio::test]
async fn every_message_may_come_again_and_too_late() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        for _ in 0..3 {
            world.handle(&acquire(&run)).await.unwrap();
        }
        let held = world.held(&run).await;
        assert_eq!(held.generation, 1);
        assert_eq!((world.instances().await.len(), world.running().len()), (1, 1));
        let woken = world.queues.take().len();
        let message = acquire(&run);
        world.end(run).await;
        world.handle(&message).await.unwrap();
        assert_eq!(world.queues.take().len() + woken, 3, "a run that has ended is not woken");
    })
    .await;
}

#[tokio::test]
async fn what_belongs_to_nothing_is_left_for_a_person() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        let strange_run = Command::Acquire { run: world.ids.run() };
        let strange_instance = Command::Release { instance: world.ids.instance() };
        for message in [
            "{}".to_owned(),
            body(&run, strange_run),
            body(&run, strange_instance),
            acquire(&run).replace("\"v\":1", "\"v\":2"),
        ] {
            let answer = world.handle(&message).await;
            assert!(matches!(answer, Err(Failure::Reject(_))), "{answer:?}");
        }
        assert_eq!(world.instances().await, []);
    })
    .await;
}

/// The samples in `events/` are what the function takes, and name the failed messages.
#[tokio::test]
async fn the_sample_events_are_read_and_their_failures_named() {
    let database = Database::sqlite().await;
    let world = World::new(database.pool(1).await).await;
    for (name, sample) in [
        ("acquire", include_str!("../../../events/sandbox-controller/acquire.json")),
        ("release", include_str!("../../../events/sandbox-controller/release.json")),
    ] {
        let event = serde_json::from_str(sample).unwrap();
        let answer = world.controller.handle(event).await;
        // Nothing of them is in this database.
        assert_eq!(answer.batch_item_failures.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_run_is_told_when_no_sandbox_can_be_had() {
    on_both(async |pool| {
        let world = World::with_server(pool, "/bin/false".into()).await;
        let run = world.run().await;
        for _ in 0..2 {
            world.ask(&run).await;
            assert_eq!(world.queues.take().len(), 1);
            assert_eq!(world.look(&run).await, Held::Failed { reason: "exited".to_owned() });
        }
        let states: Vec<_> = world.instances().await.into_iter().map(|i| i.1).collect();
        assert_eq!(states, [InstanceState::FailedLaunch, InstanceState::FailedLaunch]);
        assert_eq!(world.running(), []);
    })
    .await;
}
