//! What a run may use, and what happens when it wants more.

use std::time::Duration;

use domain::TaskState;
use messages::Queue;
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::Pool;

use crate::common::{Setup, World, on_both};

/// A model that calls a tool for ever.
fn endless() -> Value {
    json!({"turns": [{"tool_calls": [{"name": "no_such_tool"}]}], "repeat_last": true})
}

async fn limited(pool: &Pool, scenario: Value, limits: Value) -> World {
    let world = Setup { limits, ..Setup::new(scenario) }.world(pool).await;
    assert_eq!(world.drive().await, Outcome::Terminal);
    assert_eq!(world.state().await, TaskState::Failed);
    world
}

#[tokio::test]
async fn t51_a_run_ends_after_its_steps_and_its_model_calls() {
    on_both(async |pool| {
        let world = limited(&pool, endless(), json!({"max_steps": 5})).await;
        assert_eq!(world.code().await.as_deref(), Some("STEP_LIMIT"));
        assert_eq!(world.model.calls().len(), 5);
        let world = limited(&pool, endless(), json!({"max_model_calls": 2})).await;
        assert_eq!(world.code().await.as_deref(), Some("MODEL_CALL_LIMIT"));
        assert_eq!(world.model.calls().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn calls_beyond_the_limit_are_answered_and_none_of_them_runs() {
    on_both(async |pool| {
        let call = json!({"name": "ls", "args": {"path": "."}});
        let scenario = json!({"turns": [{"tool_calls": [call, call, call]}]});
        let world = limited(&pool, scenario, json!({"max_tool_calls": 2})).await;
        assert_eq!(world.code().await.as_deref(), Some("TOOL_CALL_LIMIT"));
        assert_eq!(world.log().await.len(), 4, "an answer and a result for each of its calls");
        assert_eq!(world.queues.sent(), [], "nothing needed a sandbox");
    })
    .await;
}

#[tokio::test]
async fn t51_a_run_that_takes_too_long_keeps_what_was_said_and_fails() {
    on_both(async |pool| {
        let slow = json!({"text": "one two three", "chunk": 4, "delay_ms": 150});
        let setup =
            Setup { timeout: Duration::from_millis(400), ..Setup::new(json!({"turns": [slow]})) };
        let world = setup.world(&pool).await;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
        let answer = world.answer().await;
        assert!(!answer.is_empty() && "one two three".starts_with(&answer), "{answer:?}");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_late_when_it_is_claimed_does_nothing_more() {
    on_both(async |pool| {
        let setup =
            Setup { timeout: Duration::ZERO, ..Setup::new(json!({"turns": [{"text": "hi"}]})) };
        let world = setup.world(&pool).await;
        world.deliver().await.unwrap();
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
        assert_eq!(world.model.calls(), []);
    })
    .await;
}

#[tokio::test]
async fn t52_a_throttled_model_is_asked_three_times() {
    on_both(async |pool| {
        let throttled = |times| {
            json!({"turns": [{
                "text": "hi",
                "fault": {"kind": "throttle", "times": times, "retry_after_ms": 1},
            }]})
        };
        let world = World::new(&pool, throttled(2)).await;
        world.drive().await;
        assert_eq!(world.state().await, TaskState::Completed);
        let attempts: Vec<_> = world.model.calls().iter().map(|(_, c)| c.attempt).collect();
        assert_eq!(attempts, [1, 2, 3]);
        assert_eq!(world.answer().await, "hi");

        let world = limited(&pool, throttled(3), json!({})).await;
        assert_eq!(world.code().await.as_deref(), Some("MODEL_RATE_LIMITED"));
    })
    .await;
}

#[tokio::test]
async fn t52_a_long_wait_is_not_paid_for() {
    on_both(async |pool| {
        let fault = json!({"kind": "throttle", "retry_after_ms": 120_000});
        let world = World::new(&pool, json!({"turns": [{"text": "hi", "fault": fault}]})).await;
        assert_eq!(world.drive().await, Outcome::Yield);
        let [sent] = world.queues.take().try_into().unwrap();
        assert_eq!((sent.queue, sent.delay), (Queue::Runs, Duration::from_secs(120)));
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.answer().await, "hi");
    })
    .await;
}

/// T53 without a list of fallbacks: there is none.
#[tokio::test]
async fn t53_a_model_that_stays_away_fails_the_run() {
    on_both(async |pool| {
        let fault = json!({"kind": "overloaded", "times": 9});
        let world = World::new(&pool, json!({"turns": [{"text": "hi", "fault": fault}]})).await;
        // The waits of this run are paid for by later invocations.
        let mut settings = world.settings;
        settings.time.paid_wait = Duration::ZERO;
        let world = World { settings, ..world };
        for _ in 0..2 {
            assert_eq!(world.drive().await, Outcome::Yield);
        }
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("MODEL_UNAVAILABLE"));
    })
    .await;
}

#[tokio::test]
async fn a_silent_model_has_failed() {
    on_both(async |pool| {
        let silent = json!({"turns": [{"text": "hi", "delay_ms": 60_000}]});
        let mut world = World::new(&pool, silent).await;
        world.settings.time.model_silence = Duration::from_millis(30);
        world.settings.time.paid_wait = Duration::ZERO;
        for _ in 0..2 {
            assert_eq!(world.drive().await, Outcome::Yield);
        }
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("MODEL_TIMEOUT"));
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_not_here_is_not_replaced_by_another() {
    on_both(async |pool| {
        let setup = Setup { provider: "demo", ..Setup::new(json!({"turns": [{"text": "hi"}]})) };
        let world = setup.world(&pool).await;
        world.drive().await;
        assert_eq!(world.code().await.as_deref(), Some("PROVIDER_CONFIG_ERROR"));
        assert_eq!(world.model.calls(), []);
    })
    .await;
}

#[tokio::test]
async fn t67_a_manifest_that_was_tampered_with_fails_the_run() {
    on_both(async |pool| {
        let world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
        let tampered = "update runs set manifest = replace(manifest, 'Be good.', 'Be bad.')
                         where run_id = $1";
        world.pool.execute(tampered, &[world.taken.run.into()]).await.unwrap();
        world.drive().await;
        assert_eq!(world.code().await.as_deref(), Some("MANIFEST_MISMATCH"));
        assert_eq!(world.model.calls(), []);
    })
    .await;
}

#[tokio::test]
async fn output_is_limited_in_bytes_and_in_artifacts() {
    on_both(async |pool| {
        for (spent, code) in [
            ("output_bytes = 16777215", "OUTPUT_BYTES_EXCEEDED"),
            ("output_artifacts = 100", "OUTPUT_ARTIFACTS_EXCEEDED"),
        ] {
            let world = World::new(&pool, json!({"turns": [{"text": "hi"}]})).await;
            let spend = format!("update runs set {spent} where run_id = $1");
            pool.execute(&spend, &[world.taken.run.into()]).await.unwrap();
            world.drive().await;
            assert_eq!(world.code().await.as_deref(), Some(code));
            assert_eq!(world.answer().await, "");
        }
    })
    .await;
}
