//! Workers die, are overtaken, or run out of time; the run does not notice.

use std::time::Duration;

use domain::limits::MAX_CRASHES;
use domain::{AgentName, EventBody, TaskState};
use messages::Queue;
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::tasks::{self, Canceled};
use store::{Pool, outbox};
use testkit::queues::Fault;
use testkit::{Database, eventually, killed_after};

use crate::common::{INVOCATION, World, on_both};

/// Speaks, calls, speaks again.
fn three_turns() -> Value {
    let call = json!({"name": "no_such_tool", "args": {}});
    json!({"turns": [
        {"text": "one two", "chunk": 3, "tool_calls": [call, call]},
        {"tool_calls": [call]},
        {"text": "three four", "chunk": 3},
    ]})
}

const ANSWER: &str = "one two\n\nthree four";

/// T54, T55, T58, T66 and T72 in one: dropped at every await, the lease aged, delivered again.
#[tokio::test]
async fn t72_a_worker_that_dies_at_any_await_leaves_one_history() {
    let database = Database::sqlite().await;
    let pool = database.pool(2).await;
    for polls in 0.. {
        let mut world = World::new(&pool, three_turns()).await;
        world.settings.chunk_bytes = 4;
        let survived = killed_after(polls, world.deliver()).await.is_some();
        world.age_lease().await;
        world.deliver().await.unwrap();
        let context = format!("killed after {polls} polls");
        assert_eq!(world.state().await, TaskState::Completed, "{context}");
        assert_eq!(world.endings().await, [TaskState::Completed], "{context}");
        assert_eq!(world.answer().await, ANSWER, "{context}");
        let log = world.log().await;
        assert_eq!(log.len(), 6, "{context}");
        let mut ids: Vec<_> = log.iter().map(|message| message.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6, "{context}");
        if survived {
            assert!(polls > 30, "the worker was killed at {polls} awaits only");
            break;
        }
    }
}

#[tokio::test]
async fn t61_t62_a_worker_that_was_overtaken_writes_nothing() {
    on_both(async |pool| {
        let slow = json!({"text": "one two", "chunk": 4, "delay_ms": 100});
        let world = World::new(&pool, json!({"turns": [slow]})).await;
        let overtaken = world.claim().await;
        // A duplicate of the message finds the run busy and changes nothing.
        world.deliver().await.unwrap();
        assert_eq!(world.model.calls(), []);
        world.age_lease().await;
        assert_eq!(world.drive().await, Outcome::Terminal);
        let events = world.placed_events().await;
        let late = world.drive_claimed(overtaken, INVOCATION).await;
        assert_eq!(late, Outcome::LostLease);
        assert_eq!(world.placed_events().await, events);
    })
    .await;
}

/// Two invocations per step: the same log and the same events as in one invocation.
#[tokio::test]
async fn t63_steps_in_invocations_of_their_own_make_the_same_history() {
    on_both(async |pool| {
        let whole = World::new(&pool, three_turns()).await;
        assert_eq!(whole.drive().await, Outcome::Terminal);
        let mut single = World::new(&pool, three_turns()).await;
        single.settings.max_steps_per_invocation = 1;
        let mut invocations = 1;
        while single.drive().await == Outcome::Yield {
            let [sent] = single.queues.take().try_into().unwrap();
            assert_eq!((sent.queue, sent.delay), (Queue::Runs, Duration::ZERO));
            invocations += 1;
        }
        assert_eq!(invocations, 3, "one for each model step, and none for the end");
        assert_eq!(shape(&single).await, shape(&whole).await);
    })
    .await;
}

/// Log and events of a run without what names the run.
async fn shape(world: &World) -> String {
    let log: Vec<_> = world.log().await.into_iter().map(|message| message.body).collect();
    let text = format!("{log:#?}\n{:#?}", world.events().await);
    let task = world.taken.task.as_uuid().to_string();
    // Ids of calls are derived from the run.
    let ours = |line: &str| !line.contains("\"call_");
    text.replace(&task, "task").lines().filter(|line| ours(line)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn t64_with_little_time_left_the_run_goes_back_and_the_sweeper_sends_what_was_not_sent() {
    on_both(async |pool| {
        let mut world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        let admitted = world.taken.outgoing.id;
        outbox::sent(&world.pool, admitted).await.unwrap();
        let failing = testkit::queues::MemoryQueues::new().always_failing(Fault::Unavailable);
        world.queues = std::sync::Arc::new(failing);
        assert_eq!(world.drive_for(Duration::from_secs(60)).await, Outcome::Yield);
        assert_eq!(world.model.calls(), []);
        let left = outbox::take_due(&world.pool, 10, Duration::ZERO, Duration::ZERO).await.unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].queue, Queue::Runs);
        assert_eq!(world.drive().await, Outcome::Terminal);
    })
    .await;
}

#[tokio::test]
async fn a_model_that_still_speaks_when_the_time_is_over_is_asked_again_later() {
    on_both(async |pool| {
        let slow = json!({"text": "one two three", "chunk": 4, "delay_ms": 60});
        let mut world = World::new(&pool, json!({"turns": [slow]})).await;
        world.settings.chunk_bytes = 4;
        world.settings.time.model_least = Duration::ZERO;
        world.settings.time.reserve = Duration::ZERO;
        world.settings.time.guard = Duration::ZERO;
        assert_eq!(world.drive_for(Duration::from_millis(150)).await, Outcome::Yield);
        let seen = world.answer().await;
        assert!(!seen.is_empty() && seen.len() < "one two three".len(), "{seen:?}");
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.answer().await, "one two three");
        let attempts: Vec<_> = world.model.calls().iter().map(|(_, c)| c.attempt).collect();
        assert_eq!(attempts, [1, 2]);
    })
    .await;
}

#[tokio::test]
async fn t65_a_run_that_crashes_again_and_again_is_given_up() {
    on_both(async |pool| {
        let world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        for _ in 0..MAX_CRASHES {
            world.claim().await;
            world.age_lease().await;
        }
        world.deliver().await.unwrap();
        assert_eq!(world.code().await.as_deref(), Some("POISONED"));
        assert_eq!(world.model.calls(), []);
    })
    .await;
}

#[tokio::test]
async fn a_worker_keeps_its_lease_while_the_model_thinks() {
    on_both(async |pool| {
        let slow = json!({"text": "hi", "delay_ms": 600_000});
        let world = World::new(&pool, json!({"turns": [slow]})).await;
        tokio::select! {
            handled = world.deliver() => unreachable!("the model thinks: {handled:?}"),
            () = async {
                eventually(Duration::from_secs(60), async || !world.model.calls().is_empty()).await;
                world.age_lease().await;
                let held = "select run_id from runs
                             where run_id = $1 and lease_until > statement_timestamp()";
                eventually(Duration::from_secs(60), async || {
                    pool.query_opt(held, &[world.taken.run.into()]).await.unwrap().is_some()
                })
                .await;
            } => {}
        }
    })
    .await;
}

#[tokio::test]
async fn a_deadline_that_passes_while_the_model_thinks_ends_the_run() {
    on_both(async |pool| {
        let slow = json!({"text": "hi", "delay_ms": 600_000});
        let world = World::new(&pool, json!({"turns": [slow]})).await;
        let late = async {
            eventually(Duration::from_secs(60), async || !world.model.calls().is_empty()).await;
            let late = "update runs set deadline_at = seconds_from_now(-1) where run_id = $1";
            pool.execute(late, &[world.taken.run.into()]).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(world.drive(), late);
        assert_eq!(outcome, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
    })
    .await;
}

/// A stored message that nobody can read: the run fails cleanly, with no word of the cause.
#[tokio::test]
async fn a_conversation_that_cannot_be_read_fails_the_run() {
    on_both(async |pool| {
        let world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        let spoil = "update messages set body = '{\"canary\":1}' where run_id = $1";
        pool.execute(spoil, &[world.taken.run.into()]).await.unwrap();
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("INTERNAL"));
        assert!(!format!("{:?}", world.events().await).contains("canary"));
    })
    .await;
}

async fn cancel(world: &World) -> Canceled {
    let agent = AgentName::try_from("analyst".to_owned()).unwrap().into();
    tasks::cancel(&world.pool, &world.scope.digest(), &agent, world.taken.task).await.unwrap()
}

#[tokio::test]
async fn t50_a_cancel_stops_the_model_and_nothing_follows_it() {
    on_both(async |pool| {
        let slow = json!({"text": "one two three", "chunk": 4, "delay_ms": 40_000});
        let world = World::new(&pool, json!({"turns": [slow]})).await;
        let claimed = world.claim().await;
        let (outcome, ()) = tokio::join!(world.drive_claimed(claimed, INVOCATION), async {
            eventually(Duration::from_secs(60), async || !world.model.calls().is_empty()).await;
            assert_eq!(cancel(&world).await, Canceled::Yes);
        });
        assert_eq!(outcome, Outcome::LostLease);
        assert_eq!(world.endings().await, [TaskState::Canceled]);
        let last = world.events().await.pop().unwrap();
        assert!(matches!(last, EventBody::Status { state: TaskState::Canceled, .. }));
    })
    .await;
}

/// Cancelled between any two awaits: one terminal state, and nothing after it.
#[tokio::test]
async fn t50_a_cancel_at_any_await_is_final() {
    let database = Database::sqlite().await;
    let pool: Pool = database.pool(2).await;
    for polls in 0.. {
        let world = World::new(&pool, three_turns()).await;
        let survived = killed_after(polls, world.deliver()).await.is_some();
        let canceled = cancel(&world).await;
        world.deliver().await.unwrap();
        let context = format!("cancelled after {polls} polls");
        let endings = world.endings().await;
        assert_eq!(endings.len(), 1, "{context}");
        assert_eq!(endings[0] == TaskState::Canceled, canceled == Canceled::Yes, "{context}");
        let last = world.events().await.pop().unwrap();
        let is_end = matches!(last, EventBody::Status { state, .. } if state == endings[0]);
        assert!(is_end, "{context}: {last:?}");
        if survived {
            break;
        }
    }
}
