//! A part, or a row, that fails.

use serde::de::IgnoredAny;
use testkit::on_both;

use super::world::World;
use crate::{Part, Swept};

#[tokio::test]
async fn a_part_that_fails_stops_no_other_and_fails_the_invocation() {
    on_both(async |pool| {
        let world = World::new(&pool);
        world.admitted_unsent().await;
        world.age_outbox().await;
        world.crashed().await;
        pool.execute("alter table sandbox_instances rename to hidden", &[]).await.unwrap();
        let swept = world.sweeper.sweep().await;
        let failed = vec![Part::Sandboxes];
        let expected = Swept { messages_sent: 1, runs_revived: 1, failed, ..Swept::default() };
        assert_eq!(swept, expected);
        let error = world.sweeper.handle(IgnoredAny).await.unwrap_err();
        assert_eq!(error.to_string(), "sweep: sandboxes did not get to their end");
        pool.execute("alter table hidden rename to sandbox_instances", &[]).await.unwrap();
        assert_eq!(world.sweeper.handle(IgnoredAny).await.unwrap(), Swept::default());
    })
    .await;
}

#[tokio::test]
async fn a_row_that_fails_stops_no_other_and_is_told() {
    on_both(async |pool| {
        let mut world = World::new(&pool);
        // Batches of one: a row that stays must not be searched for again and again either.
        world.sweeper.pace.batch = 1;
        let bad = world.admitted().await;
        let good = world.admitted().await;
        for run in [bad.run, good.run] {
            world.pass_deadline(run).await;
        }
        let sql = "update runs set deadline_at = seconds_from_now(-99) where run_id = $1";
        world.execute(sql, &[good.run.into()]).await;
        // Its status event has no log to go to.
        let sql = "update sessions set scope_digest = 'elsewhere'
                    where session_id = (select session_id from runs where run_id = $1)";
        world.execute(sql, &[bad.run.into()]).await;
        let swept = world.sweeper.sweep().await;
        let failed = vec![Part::Deadlines];
        let expected = Swept { runs_timed_out: 1, rows_failed: 1, failed, ..Swept::default() };
        assert_eq!(swept, expected);
        assert_eq!(world.look::<String>(bad.run, "state").await, "queued", "nothing of it remains");
    })
    .await;
}

#[test]
fn any_event_of_a_schedule_is_taken() {
    let sample = include_str!("../../../../events/sweeper/tick.json");
    for event in [sample, "{}", "null", r#""tick""#] {
        serde_json::from_str::<IgnoredAny>(event).unwrap();
    }
}

/// The local runner starts sweeps on a runtime with several threads.
#[tokio::test]
async fn a_sweep_may_move_between_threads() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let swept = tokio::spawn(async move { world.sweeper.sweep().await }).await.unwrap();
        assert_eq!(swept, Swept::default());
    })
    .await;
}
