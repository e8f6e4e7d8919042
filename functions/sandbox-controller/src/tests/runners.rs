//! Several controllers on one data folder, at the same time and one after the other.

use messages::sandboxes::Command;
use store::sandboxes::{Held, InstanceState};
use testkit::{Database, on_both};
use tokio::runtime::Builder;

use super::world::{World, acquire, body, shell};

#[tokio::test]
async fn a_restart_loses_the_sandbox_and_keeps_the_files() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        world.ask(&run).await;
        let old = world.held(&run).await;
        shell(&world.client(&old, &run), "echo kept > file").await;

        let world = world.restarted().await;
        assert_eq!(world.controller.recover().await.unwrap(), 1);
        assert_eq!(world.controller.recover().await.unwrap(), 0);
        assert_eq!(world.state(old.instance).await, InstanceState::Terminated);
        assert_eq!(world.look(&run).await, Held::None);
        // It asks again for the run, which need not find out by itself.
        let asked = world.queues.take();
        assert_eq!(asked.len(), 1);
        world.handle(&asked[0].body).await.unwrap();
        let new = world.held(&run).await;
        assert_ne!(new.instance, old.instance);
        assert!(new.generation > old.generation);
        assert_eq!(shell(&world.client(&new, &run), "cat file").await, "kept\n");
    })
    .await;
}

#[tokio::test]
async fn without_a_recovery_the_next_acquisition_finds_out_too() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let (ready, reserved) = (world.run_in("ready").await, world.run_in("reserved").await);
        world.ask(&ready).await;
        let old = world.held(&ready).await;
        let never = world.reserve(&reserved).await.id;
        let world = world.restarted().await;
        for run in [&ready, &reserved] {
            world.ask(run).await;
            let new = world.held(run).await;
            assert!(![old.instance, never].contains(&new.instance));
        }
        assert_eq!(world.state(never).await, InstanceState::Terminated);
        assert_eq!(world.running().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_release_ends_it() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        let run = world.run().await;
        world.ask(&run).await;
        let held = world.held(&run).await;
        world.end(run).await;
        world.sql("update sandbox_instances set state = 'releasing'").await;
        let world = world.restarted().await;
        assert_eq!(world.controller.recover().await.unwrap(), 1);
        assert_eq!(world.state(held.instance).await, InstanceState::Terminated);
        assert_eq!(world.queues.take(), []);
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_of_a_living_runner_is_adopted_and_never_ended_by_another() {
    on_both(async |pool| {
        let owner = World::new(pool).await;
        let other = owner.beside().await;
        let first = owner.run().await;
        owner.ask(&first).await;
        let held = owner.held(&first).await;
        owner.end(first).await;

        assert_eq!(other.controller.recover().await.unwrap(), 0);
        let second = other.run().await;
        other.ask(&second).await;
        let adopted = other.held(&second).await;
        assert_eq!((adopted.instance, adopted.generation), (held.instance, 2));
        assert_eq!(shell(&other.client(&adopted, &second), "echo hi").await, "hi\n");
        assert_eq!((owner.running().len(), other.running().len()), (1, 0));

        other.end(second.clone()).await;
        other.sql("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        let release = body(&second, Command::Release { instance: held.instance });
        other.handle(&release).await.unwrap();
        assert_eq!(owner.state(held.instance).await, InstanceState::Releasing);
        assert_eq!(owner.running().len(), 1);
        owner.handle(&release).await.unwrap();
        assert_eq!(owner.state(held.instance).await, InstanceState::Terminated);
        assert_eq!(owner.running(), []);
    })
    .await;
}

#[tokio::test]
async fn a_launch_that_a_living_runner_is_at_is_left_to_it() {
    on_both(async |pool| {
        let owner = World::new(pool).await;
        let other = owner.beside().await;
        let run = owner.run().await;
        let instance = owner.reserve(&run).await.id;
        assert!(other.handle(&acquire(&run)).await.is_err());
        assert_eq!(other.running(), []);
        owner.handle(&acquire(&run)).await.unwrap();
        assert_eq!(owner.held(&run).await.instance, instance);
    })
    .await;
}

#[tokio::test]
async fn a_dead_server_of_a_living_runner_stays_its_owners_business() {
    on_both(async |pool| {
        let owner = World::new(pool).await;
        let mut other = owner.beside().await;
        other.controller.patience = std::time::Duration::from_millis(50);
        let run = owner.run().await;
        owner.ask(&run).await;
        let old = owner.held(&run).await;
        owner.kill_servers().await;
        assert!(other.handle(&acquire(&run)).await.is_err());
        owner.handle(&acquire(&run)).await.unwrap();
        assert_ne!(owner.held(&run).await.instance, old.instance);
    })
    .await;
}

/// The kernel's signal for the death of a parent comes with the end of a thread; bubblewrap asks
/// for it.
#[tokio::test]
async fn a_sandbox_outlives_the_thread_that_launched_it() {
    let database = Database::sqlite().await;
    let world = World::new(database.pool(1).await).await;
    let run = world.run().await;
    let instance = world.reserve(&run).await;
    // Connections go on on a thread of their own; the launch is polled by one that ends.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    std::thread::scope(|scope| {
        let launch = world.controller.backend.launch(&instance);
        scope.spawn(|| runtime.block_on(launch).unwrap());
    });
    world.ask(&run).await;
    let held = world.held(&run).await;
    assert_eq!(held.instance, instance.id);
    assert_eq!(shell(&world.client(&held, &run), "echo hi").await, "hi\n");
    runtime.shutdown_background();
}
