//! Runs whose worker died, that are due, or that are late.

use std::time::Duration;

use domain::{TaskState, limits};
use messages::Queue;
use store::runs::{self, Rest, Wake};
use store::{Error, steps, tasks};
use testkit::on_both;

use super::world::World;
use crate::Swept;

#[tokio::test]
async fn a_run_whose_worker_died_is_freed_counted_and_woken() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (alive, _) = world.working().await;
        let (work, _) = world.crashed().await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { runs_revived: 1, ..Swept::default() });
        let sent = world.sent_to(Queue::Runs);
        assert_eq!(sent.len(), 1);
        assert!(sent[0].contains("lease_expired"), "{}", sent[0]);
        assert!(sent[0].contains(&work.run.as_uuid().to_string()));
        assert_eq!(world.crash_count(work.run).await, 1);
        assert_eq!(world.crash_count(alive.run).await, 0);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

#[tokio::test]
async fn a_crash_is_counted_once_whoever_finds_it() {
    on_both(async |pool| {
        let world = World::new(&pool);
        // The sweeper first, then the claim.
        let (swept, _) = world.crashed().await;
        world.sweeper.sweep().await;
        assert_eq!(world.claimed(swept.run).await.crash_count, 1);
        // The claim first, then the sweeper.
        let (claimed, _) = world.crashed().await;
        assert_eq!(world.claimed(claimed.run).await.crash_count, 1);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        assert_eq!(world.crash_count(claimed.run).await, 1);
    })
    .await;
}

/// T62, must be seen 7: the worker was only slow. Nothing that it does counts any more.
#[tokio::test]
async fn a_worker_that_was_taken_for_dead_writes_no_more() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.crashed().await;
        world.sweeper.sweep().await;
        let late = runs::heartbeat(&pool, &lease).await;
        assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
        let late = steps::begin(&pool, &lease, 1, "scripted", "m").await;
        assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
        let until: Option<domain::Timestamp> = world.look(work.run, "lease_until").await;
        assert_eq!(until, None);
    })
    .await;
}

/// T65.
#[tokio::test]
async fn five_crashes_without_a_commit_end_the_run_as_poisoned() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let work = world.admitted().await;
        for crash in 1..limits::MAX_CRASHES {
            assert_eq!(world.claimed(work.run).await.crash_count, crash - 1);
            world.age_lease(work.run).await;
            assert_eq!(world.sweeper.sweep().await.runs_revived, 1);
        }
        world.claimed(work.run).await;
        let instance = world.with_sandbox(work.run).await;
        world.age_lease(work.run).await;
        world.queues.take();
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { runs_poisoned: 1, ..Swept::default() });
        assert_eq!(world.sent_to(Queue::Runs), Vec::<String>::new(), "there is nobody to wake");

        let statuses = world.statuses(work.task).await;
        let poisoned = (TaskState::Failed, Some("POISONED".to_owned()));
        assert_eq!(statuses.last(), Some(&poisoned));
        assert_eq!(statuses.iter().filter(|status| status.0.is_terminal()).count(), 1);
        let state = tasks::state(&pool, &world.digest(), work.task).await.unwrap();
        assert_eq!(state, Some(TaskState::Failed));
        let sql = "select holder_run_id from sandbox_leases where instance_id = $1";
        let row = pool.query_opt(sql, &[instance.id.into()]).await.unwrap().unwrap();
        assert_eq!(row.get::<Option<domain::RunId>>("holder_run_id").unwrap(), None);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

#[tokio::test]
async fn a_run_that_rests_beyond_its_hour_is_woken_and_not_at_every_tick() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let seen = runs::look(&pool, &lease).await.unwrap().signal;
        let wake = Wake::OnSignal { at_latest: Duration::from_secs(30) };
        let rest = runs::rest(&pool, &world.ids, &lease, seen, wake).await.unwrap();
        assert_eq!(rest, Rest::Resting(None));
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        world.age_wake_up(work.run, 59.0).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "its message may be on its way");
        world.age_wake_up(work.run, 61.0).await;
        assert_eq!(world.sweeper.sweep().await.runs_woken, 1);
        let sent = world.sent_to(Queue::Runs);
        assert!(sent[0].contains(r#""reason":"due""#), "{}", sent[0]);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        // It did not come: it is woken again, later.
        world.age_wake_up(work.run, 61.0).await;
        assert_eq!(world.sweeper.sweep().await.runs_woken, 1);
        assert_eq!(world.crash_count(work.run).await, 0, "resting is no crash");
    })
    .await;
}

#[tokio::test]
async fn a_run_whose_first_message_was_lost_is_woken() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let work = world.admitted().await;
        world.age_wake_up(work.run, 61.0).await;
        assert_eq!(world.sweeper.sweep().await.runs_woken, 1);
        world.claimed(work.run).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

/// Scenario 26.
#[tokio::test]
async fn a_run_beyond_its_deadline_that_nobody_holds_ends_as_timed_out() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let queued = world.admitted().await;
        world.pass_deadline(queued.run).await;
        world.age_wake_up(queued.run, 100.0).await;
        let (held, _) = world.working().await;
        world.pass_deadline(held.run).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { runs_timed_out: 1, ..Swept::default() }, "and is not woken");
        let late = (TaskState::Failed, Some("EXECUTION_TIMEOUT".to_owned()));
        assert_eq!(world.statuses(queued.task).await.last(), Some(&late));
        assert_eq!(world.statuses(held.task).await.last().unwrap().0, TaskState::Working);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

#[tokio::test]
async fn a_run_that_crashed_beyond_its_deadline_ends_in_the_same_sweep() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, _) = world.crashed().await;
        world.pass_deadline(work.run).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { runs_revived: 1, runs_timed_out: 1, ..Swept::default() });
        let terminal = world.statuses(work.task).await;
        assert_eq!(terminal.iter().filter(|status| status.0.is_terminal()).count(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_ended_run_is_left_alone() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.crashed().await;
        runs::finish(&pool, lease, &[], &runs::Ending::Completed).await.unwrap();
        world.pass_deadline(work.run).await;
        let sql = "update runs set lease_until = seconds_from_now(-9), wake_at = lease_until
                    where run_id = $1";
        world.execute(sql, &[work.run.into()]).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        assert_eq!(world.statuses(work.task).await.last().unwrap().0, TaskState::Completed);
    })
    .await;
}
