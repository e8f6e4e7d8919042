//! Every statement on both engines. Leases are aged, nobody sleeps.

mod world;

use std::time::Duration;

use domain::{FailureCode, Ids, Scope};
use messages::Message as _;
use messages::sandboxes::{Command, SandboxCommand};
use testkit::on_both_databases;

use super::*;
use crate::runs::{self, Ending};
use crate::{Pool, outbox};
use world::{OTHER, WISH, World, held_sandbox, on_both};

#[tokio::test]
async fn a_run_asks_waits_and_gets_its_sandbox() {
    on_both(async |world| {
        let lease = world.run().await;
        assert_eq!(world.held(&lease).await, Held::None);
        let asked = ask(&world.pool, &world.ids, &lease).await.unwrap();
        let command = Command::Acquire { run: lease.run };
        assert_eq!(
            SandboxCommand::parse(&asked.body).unwrap(),
            SandboxCommand::new(world.digest.clone(), command)
        );
        let instance = world.launch(&lease, &WISH).await;
        assert_eq!(instance.state, InstanceState::Reserved);
        assert_eq!(world.held(&lease).await, Held::Waiting);
        assert!(launching(&world.pool, &instance).await.unwrap());
        assert!(initializing(&world.pool, &instance, "http://127.0.0.1:1").await.unwrap());
        assert_eq!(world.held(&lease).await, Held::Waiting);

        let before = runs::look(&world.pool, &lease).await.unwrap().signal;
        let Ready::Yes(Some(woken)) = world.ready(&lease, &instance).await else { panic!() };
        assert_eq!(runs::look(&world.pool, &lease).await.unwrap().signal, before + 1);
        assert_eq!(woken.queue, messages::Queue::Runs);
        outbox::sent(&world.pool, woken.id).await.unwrap();
        assert_eq!(world.held(&lease).await, held_sandbox(&instance, 1));
    })
    .await;
}

#[tokio::test]
async fn an_acquisition_that_is_delivered_again_goes_on_with_the_same_allocation() {
    on_both(async |world| {
        let lease = world.run().await;
        let first = world.launch(&lease, &WISH).await;
        assert_eq!(world.launch(&lease, &WISH).await, first);
        launching(&world.pool, &first).await.unwrap();
        let again = world.launch(&lease, &WISH).await;
        assert_eq!((again.id, again.generation), (first.id, first.generation));
        initializing(&world.pool, &first, "http://127.0.0.1:1").await.unwrap();
        let again = world.launch(&lease, &WISH).await;
        assert_eq!(again.endpoint.as_deref(), Some("http://127.0.0.1:1"));
        world.ready(&lease, &first).await;
        let Acquired::Adopt(again) = world.acquire(&lease, &WISH).await else { panic!() };
        assert_eq!((again.id, again.generation, again.confirmed), (first.id, 1, 1));
    })
    .await;
}

/// Scenario 42.
#[tokio::test]
async fn ten_controllers_that_acquire_at_once_reserve_one_allocation() {
    on_both_databases(async |database| {
        let world = World::new(database.url()).await;
        let lease = world.run().await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let pool = Pool::connect(database.url(), 1).await.unwrap();
            let (scope, run) = (world.digest.clone(), lease.run);
            tasks.spawn(async move {
                acquire(&pool, &Ids::random(), &scope, run, &WISH).await.unwrap()
            });
        }
        let all = tasks.join_all().await;
        let Acquired::Launch(first) = &all[0] else { panic!("{:?}", all[0]) };
        assert!(all.iter().all(|answer| *answer == Acquired::Launch(first.clone())), "{all:?}");
        assert_eq!(world.generation(&lease).await, 1);
    })
    .await;
}

#[tokio::test]
async fn the_database_forbids_a_second_live_allocation_of_a_workspace() {
    on_both(async |world| {
        let lease = world.run().await;
        let instance = world.launch(&lease, &WISH).await;
        let second = world
            .pool
            .execute(
                "insert into sandbox_instances (instance_id, workspace_key, scope_digest,
                     generation_at_launch, generation, backend, config_digest, state,
                     next_check_at, created_at)
                 values ($1, $2, $3, 1, 0, 'process', 'one', 'reserved', statement_timestamp(),
                         statement_timestamp())",
                &[
                    world.ids.instance().into(),
                    instance.workspace.as_str().into(),
                    world.digest.as_str().into(),
                ],
            )
            .await;
        assert!(matches!(second, Err(Error::UniqueViolation { .. })), "{second:?}");
    })
    .await;
}

/// Scenario 43.
#[tokio::test]
async fn the_next_run_of_the_session_adopts_the_sandbox_with_a_higher_generation() {
    on_both(async |world| {
        let first = world.run().await;
        let instance = world.sandbox(&first).await;
        world.end(first.clone()).await;
        let second = world.run().await;
        assert_eq!(world.held(&second).await, Held::None);
        let Acquired::Adopt(adopted) = world.acquire(&second, &WISH).await else { panic!() };
        assert_eq!((adopted.id, adopted.generation, adopted.confirmed), (instance.id, 2, 1));
        // The sandbox itself still believes in generation 1.
        assert_eq!(world.held(&second).await, Held::Waiting);
        assert!(matches!(world.ready(&second, &adopted).await, Ready::Yes(Some(_))));
        assert_eq!(world.held(&second).await, held_sandbox(&instance, 2));
        assert!(matches!(held(&world.pool, &first).await, Err(Error::LeaseLost)));
    })
    .await;
}

#[tokio::test]
async fn a_late_confirmation_does_not_undo_a_newer_one() {
    on_both(async |world| {
        let first = world.run().await;
        let old = world.sandbox(&first).await;
        world.end(first.clone()).await;
        let second = world.run().await;
        let Acquired::Adopt(new) = world.acquire(&second, &WISH).await else { panic!() };
        world.ready(&second, &new).await;
        assert_eq!(world.ready(&first, &old).await, Ready::Moved);
        assert_eq!(world.held(&second).await, held_sandbox(&old, 2));
    })
    .await;
}

#[tokio::test]
async fn a_workspace_that_another_live_run_holds_is_busy() {
    on_both(async |world| {
        let (lease, other) = (world.run().await, world.run_in("elsewhere").await);
        let instance = world.sandbox(&lease).await;
        // No two runs of one session live at once, so this takes force.
        world
            .pool
            .execute(
                "update sandbox_leases set holder_run_id = $1, lease_until = null
                  where session_id = $2",
                &[other.run.into(), lease.session.into()],
            )
            .await
            .unwrap();
        assert_eq!(world.acquire(&lease, &WISH).await, Acquired::Busy);
        // A run that has ended holds nothing, whatever its lease says.
        world.age("update runs set state = 'done' where lease_owner is not null").await;
        world
            .pool
            .execute("update runs set state = 'active' where run_id = $1", &[lease.run.into()])
            .await
            .unwrap();
        world.age("update sandbox_leases set lease_until = seconds_from_now(60)").await;
        let Acquired::Adopt(adopted) = world.acquire(&lease, &WISH).await else { panic!() };
        assert_eq!((adopted.id, adopted.generation), (instance.id, 2));
    })
    .await;
}

/// Scenarios 45 and 46.
#[tokio::test]
async fn another_configuration_waits_for_the_end_of_the_old_sandbox() {
    on_both(async |world| {
        let first = world.run().await;
        let old = world.sandbox(&first).await;
        world.end(first).await;
        let second = world.run().await;
        for _ in 0..2 {
            let Acquired::Replace(ending) = world.acquire(&second, &OTHER).await else { panic!() };
            assert_eq!((ending.id, ending.state), (old.id, InstanceState::Releasing));
            // One for the new holder, one for the release.
            assert_eq!(ending.generation, 3);
            assert_eq!(world.held(&second).await, Held::Waiting);
        }
        released(&world.pool, &old).await.unwrap();
        released(&world.pool, &old).await.unwrap();
        assert_eq!(world.state(&old).await, InstanceState::Terminated);
        assert_eq!(world.held(&second).await, Held::None);
        let new = world.launch(&second, &OTHER).await;
        assert_ne!(new.id, old.id);
        assert_eq!((new.generation_at_launch, new.config_digest.as_str()), (3, "two"));
    })
    .await;
}

#[tokio::test]
async fn after_two_failed_launches_the_run_is_told_and_the_next_run_tries_again() {
    on_both(async |world| {
        let lease = world.run().await;
        for attempt in 0..MAX_LAUNCHES {
            let instance = world.launch(&lease, &WISH).await;
            launching(&world.pool, &instance).await.unwrap();
            assert_eq!(world.held(&lease).await, Held::Waiting);
            assert!(failed(&world.pool, &instance, "exited").await.unwrap());
            assert!(!failed(&world.pool, &instance, "again").await.unwrap());
            let final_one = attempt + 1 == MAX_LAUNCHES;
            assert_eq!(matches!(world.held(&lease).await, Held::Failed { .. }), final_one);
        }
        for _ in 0..2 {
            let Acquired::Failed(Some(_)) = world.acquire(&lease, &WISH).await else { panic!() };
            assert_eq!(world.held(&lease).await, Held::Failed { reason: "exited".to_owned() });
        }
        let code = FailureCode::SandboxUnavailable;
        let ending = Ending::Failed { code, message: "no sandbox".to_owned() };
        runs::finish(&world.pool, lease, &[], &ending).await.unwrap();
        let next = world.run().await;
        world.sandbox(&next).await;
    })
    .await;
}

/// Scenario 48, the database's part.
#[tokio::test]
async fn a_worker_that_was_overtaken_renews_nothing_and_sees_nothing() {
    on_both(async |world| {
        let old = world.run().await;
        let instance = world.sandbox(&old).await;
        let new = world.take_over(old.run).await;
        assert!(matches!(held(&world.pool, &old).await, Err(Error::LeaseLost)));
        assert!(matches!(ask(&world.pool, &world.ids, &old).await, Err(Error::LeaseLost)));
        // The same run keeps its sandbox: the generation does not move.
        assert_eq!(world.held(&new).await, held_sandbox(&instance, 1));

        world.age("update sandbox_leases set lease_until = seconds_from_now(-1)").await;
        renew(&world.pool, &old).await.unwrap();
        let Acquired::Adopt(seen) = world.acquire(&new, &WISH).await else { panic!() };
        assert!(seen.lease_expired);
        renew(&world.pool, &new).await.unwrap();
        let Acquired::Adopt(seen) = world.acquire(&new, &WISH).await else { panic!() };
        assert!(!seen.lease_expired);

        world.end(new.clone()).await;
        renew(&world.pool, &new).await.unwrap();
        let next = world.run().await;
        let Acquired::Adopt(seen) = world.acquire(&next, &WISH).await else { panic!() };
        assert!(seen.lease_expired);
    })
    .await;
}

#[tokio::test]
async fn a_lost_sandbox_is_replaced_by_another_one_of_a_higher_generation() {
    on_both(async |world| {
        let lease = world.run().await;
        let old = world.sandbox(&lease).await;
        assert!(lost(&world.pool, &old, "lost").await.unwrap());
        assert!(!lost(&world.pool, &old, "lost").await.unwrap());
        assert_eq!(world.held(&lease).await, Held::None);
        assert_eq!(world.generation(&lease).await, 2);
        let new = world.sandbox(&lease).await;
        assert_ne!(new.id, old.id);
        assert_eq!(world.held(&lease).await, held_sandbox(&new, 2));
    })
    .await;
}

#[tokio::test]
async fn a_run_that_ended_gets_nothing_and_its_launch_is_left_for_the_next() {
    on_both(async |world| {
        let lease = world.run().await;
        let instance = world.launch(&lease, &WISH).await;
        launching(&world.pool, &instance).await.unwrap();
        initializing(&world.pool, &instance, "http://127.0.0.1:1").await.unwrap();
        world.end(lease.clone()).await;
        assert_eq!(world.acquire(&lease, &WISH).await, Acquired::Over);
        assert_eq!(world.ready(&lease, &instance).await, Ready::Yes(None));
        let next = world.run().await;
        let Acquired::Adopt(adopted) = world.acquire(&next, &WISH).await else { panic!() };
        assert_eq!(adopted.id, instance.id);
    })
    .await;
}

/// Scenario 44: another scope's run is simply unknown.
#[tokio::test]
async fn another_scope_neither_acquires_nor_releases() {
    on_both(async |world| {
        let lease = world.run().await;
        let instance = world.sandbox(&lease).await;
        let foreign = Scope::empty().digest();
        let answer = acquire(&world.pool, &world.ids, &foreign, lease.run, &WISH).await.unwrap();
        assert_eq!(answer, Acquired::Unknown);
        let answer = begin_release(&world.pool, &foreign, instance.id, "x").await.unwrap();
        assert_eq!(answer, Releasing::Unknown);
        assert_eq!(world.state(&instance).await, InstanceState::Ready);
    })
    .await;
}

/// Scenarios 53 and 54.
#[tokio::test]
async fn only_an_idle_sandbox_is_released_and_its_row_is_the_receipt() {
    on_both(async |world| {
        let lease = world.run().await;
        let instance = world.sandbox(&lease).await;
        assert_eq!(world.release(&instance).await, Releasing::InUse);
        world.end(lease.clone()).await;
        assert_eq!(world.release(&instance).await, Releasing::InUse);
        world.age("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        for _ in 0..2 {
            let Releasing::Terminate(ending) = world.release(&instance).await else { panic!() };
            assert_eq!(ending.state, InstanceState::Releasing);
            assert_eq!(ending.generation, 2);
            // A launch that is still under way does not bring it back.
            assert!(!launching(&world.pool, &ending).await.unwrap());
            assert!(!initializing(&world.pool, &ending, "http://127.0.0.1:2").await.unwrap());
            assert_eq!(world.ready(&lease, &ending).await, Ready::Moved);
        }
        released(&world.pool, &instance).await.unwrap();
        assert_eq!(world.release(&instance).await, Releasing::Ended);
        assert_eq!(world.release(&instance).await, Releasing::Ended);
    })
    .await;
}

#[tokio::test]
async fn the_sweep_asks_for_what_has_not_come_to_rest() {
    on_both(async |world| {
        let lease = world.run().await;
        let acquire_again = Command::Acquire { run: lease.run };
        let instance = world.launch(&lease, &WISH).await;
        let release = Command::Release { instance: instance.id };
        assert_eq!(world.swept().await, std::slice::from_ref(&acquire_again));
        // Not due again before its time.
        let early = sweep(&world.pool, &world.ids, 50, Duration::ZERO).await.unwrap();
        assert_eq!(early, []);
        launching(&world.pool, &instance).await.unwrap();
        initializing(&world.pool, &instance, "http://127.0.0.1:1").await.unwrap();
        assert_eq!(world.swept().await, [acquire_again]);
        world.ready(&lease, &instance).await;
        assert_eq!(world.swept().await, []);

        world.end(lease).await;
        assert_eq!(world.swept().await, []);
        let next = world.run().await;
        world.acquire(&next, &WISH).await;
        assert_eq!(world.swept().await, [Command::Acquire { run: next.run }]);
        world.end(next).await;
        world.age("update sandbox_leases set idle_release_at = seconds_from_now(-1)").await;
        assert_eq!(world.swept().await, std::slice::from_ref(&release));
        world.release(&instance).await;
        assert_eq!(world.swept().await, [release]);
        released(&world.pool, &instance).await.unwrap();
        assert_eq!(world.swept().await, []);
    })
    .await;
}

#[tokio::test]
async fn a_runner_sees_what_others_left() {
    on_both(async |world| {
        let lease = world.run().await;
        let instance = world.sandbox(&lease).await;
        let of = |runner| of_other_runners(&world.pool, "process", runner);
        assert_eq!(of("runner-a").await.unwrap(), []);
        let left = of("runner-b").await.unwrap();
        assert_eq!(left.iter().map(|i| i.id).collect::<Vec<_>>(), [instance.id]);
        let orphaned = || orphaned(&world.pool, &world.ids, &instance, "runner ended");
        let again = orphaned().await.unwrap().expect("a run holds it");
        let command = Command::Acquire { run: lease.run };
        assert_eq!(SandboxCommand::parse(&again.body).unwrap().command, command);
        assert_eq!(orphaned().await.unwrap(), None);
        assert_eq!(of("runner-b").await.unwrap(), []);
        assert_eq!(world.generation(&lease).await, 2);
    })
    .await;
}

#[test]
fn every_state_reads_back_and_a_workspace_is_named_by_all_that_it_belongs_to() {
    for state in InstanceState::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    let (scope, ids) = (Scope::empty().digest(), Ids::seeded(1));
    let (a, b) = (ids.session(), ids.session());
    let key = WorkspaceKey::of(&scope, a, "analyst");
    assert_eq!(key.as_str().parse(), Ok(key.clone()));
    assert_ne!(key, WorkspaceKey::of(&scope, b, "analyst"));
    assert_ne!(key, WorkspaceKey::of(&scope, a, "analyst2"));
    assert!("../etc".parse::<WorkspaceKey>().is_err());
}
