//! What becomes of a run when some time is over: its own, the invocation's, or the model's; and how
//! soon it sees that it was cancelled.

use std::time::Duration;

use domain::{AgentName, TaskState};
use messages::Queue;
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::tasks::{self, Canceled};
use testkit::eventually;

use crate::common::{INVOCATION, Setup, World, on_both};
use crate::tools::write;

/// A model that goes on talking.
fn talkative() -> Value {
    json!({"turns": [{"text": "one two three four", "chunk": 4, "delay_ms": 100}]})
}

/// Text that waits to be shown is shown before the end, and not only what was shown already.
#[tokio::test]
async fn t51_what_was_said_last_before_the_deadline_is_kept() {
    on_both(async |pool| {
        let setup = Setup { timeout: Duration::from_millis(300), ..Setup::new(talkative()) };
        let mut world = setup.world(&pool).await;
        world.settings.chunk_interval = Duration::from_hours(1);
        // No heartbeat tells of it first.
        world.settings.time.heartbeat = Duration::from_hours(1);
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
        let answer = world.answer().await;
        assert!(!answer.is_empty(), "it is lost");
        assert!(answer.len() < "one two three four".len(), "the model was heard out: {answer:?}");
    })
    .await;
}

#[tokio::test]
async fn what_a_model_said_before_it_broke_for_good_is_kept() {
    on_both(async |pool| {
        let fault = json!({"kind": "disconnect_after_chunks", "chunks": 2, "times": 9});
        let turn = json!({"text": "one two three four", "chunk": 4, "fault": fault});
        let mut world = World::new(&pool, json!({"turns": [turn]})).await;
        world.settings.chunk_interval = Duration::from_hours(1);
        world.settings.time.paid_wait = Duration::ZERO;
        while world.drive().await == Outcome::Yield {}
        assert_eq!(world.state().await, TaskState::Failed);
        assert_eq!(world.answer().await, "one two ");
    })
    .await;
}

/// It is not silent, and takes too long all the same.
#[tokio::test]
async fn a_model_that_talks_beyond_its_time_has_failed() {
    on_both(async |pool| {
        let mut world = World::new(&pool, talkative()).await;
        world.settings.time.model_most = Duration::from_millis(250);
        world.settings.time.paid_wait = Duration::ZERO;
        for _ in 0..2 {
            assert_eq!(world.drive().await, Outcome::Yield);
        }
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("MODEL_TIMEOUT"));
    })
    .await;
}

/// However often that happens, it is no failure of the model's.
#[tokio::test]
async fn a_model_that_our_own_time_cut_short_has_not_failed() {
    on_both(async |pool| {
        let mut world = World::new(&pool, talkative()).await;
        let time = world.settings.time;
        world.settings.time.reserve = INVOCATION.checked_sub(Duration::from_millis(250)).unwrap();
        world.settings.time.model_least = Duration::ZERO;
        for _ in 0..4 {
            assert_eq!(world.drive().await, Outcome::Yield);
        }
        world.settings.time = time;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.answer().await, "one two three four");
    })
    .await;
}

#[tokio::test]
async fn t64_work_under_way_is_stopped_when_the_invocation_is_nearly_over() {
    on_both(async |pool| {
        let mut world = World::new(&pool, talkative()).await;
        let time = world.settings.time;
        world.settings.time.guard = INVOCATION.checked_sub(Duration::from_millis(250)).unwrap();
        assert_eq!(world.drive().await, Outcome::Yield);
        assert_eq!(world.state().await, TaskState::Working);
        world.settings.time = time;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.answer().await, "one two three four");
    })
    .await;
}

#[tokio::test]
async fn t52_a_wait_that_the_invocation_has_no_time_for_is_left_to_a_later_one() {
    on_both(async |pool| {
        let fault = json!({"kind": "throttle", "retry_after_ms": 15_000});
        let world = World::new(&pool, json!({"turns": [{"text": "hi", "fault": fault}]})).await;
        let time = world.settings.time;
        assert!(Duration::from_secs(15) <= time.paid_wait, "it is the time that is short");
        let short = time.reserve + time.model_least + Duration::from_secs(10);
        assert_eq!(world.drive_for(short).await, Outcome::Yield);
        let [sent] = world.queues.take().try_into().unwrap();
        assert_eq!((sent.queue, sent.delay), (Queue::Runs, Duration::from_secs(15)));
    })
    .await;
}

/// Its open call asks for no sandbox any more.
#[tokio::test]
async fn t51_a_run_that_is_late_when_it_is_claimed_begins_none_of_its_calls() {
    on_both(async |pool| {
        let turns = json!({"turns": [{"tool_calls": [write("a", "x")]}]});
        let mut world = World::new(&pool, turns).await;
        world.settings.max_steps_per_invocation = 1;
        assert_eq!(world.drive().await, Outcome::Yield);
        world.queues.take();
        let late = "update runs set deadline_at = seconds_from_now(-1) where run_id = $1";
        pool.execute(late, &[world.taken.run.into()]).await.unwrap();
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
        let asked = world.queues.take();
        assert!(asked.iter().all(|message| message.queue != Queue::Sandboxes), "{asked:?}");
    })
    .await;
}

/// Between two heartbeats, which are far apart in production.
#[tokio::test]
async fn t50_a_cancel_is_seen_at_the_next_look() {
    on_both(async |pool| {
        let slow = json!({"text": "hi", "delay_ms": 600_000});
        let mut world = World::new(&pool, json!({"turns": [slow]})).await;
        world.settings.time.heartbeat = Duration::from_hours(1);
        let canceled = async {
            eventually(Duration::from_secs(60), async || !world.model.calls().is_empty()).await;
            let agent = AgentName::try_from("analyst".to_owned()).unwrap().into();
            let scope = world.scope.digest();
            tasks::cancel(&pool, &scope, &agent, world.taken.task).await.unwrap()
        };
        let driven = async { tokio::join!(world.drive(), canceled) };
        let driven = tokio::time::timeout(Duration::from_secs(20), driven).await;
        assert_eq!(driven.expect("it is seen"), (Outcome::LostLease, Canceled::Yes));
    })
    .await;
}
