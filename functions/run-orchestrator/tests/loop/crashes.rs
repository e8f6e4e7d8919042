//! Workers and sandboxes die while tools run: each call gets one result, and the files are as if
//! nobody had died.

use std::time::Duration;

use domain::{AgentName, ArtifactContent, EventBody, TaskState};
use run_orchestrator::Outcome;
use serde_json::{Value, json};
use store::Pool;
use store::tasks::{self, Canceled};
use testkit::{Database, eventually, killed_after};

use crate::common::{INVOCATION, World, on_both};
use crate::rig::Rig;
use crate::tools::{edit, execute, publish, results, write};

/// Every kind of effect, each of which would show if it happened twice.
fn effects() -> Value {
    let delete = json!({"name": "delete", "args": {"file_path": "gone.txt"}});
    json!({"turns": [
        {"text": "I begin.", "tool_calls": [
            write("a.txt", "1"), edit("a.txt", "1", "12"), write("gone.txt", "x"), delete,
            execute("echo once >> ran.txt"),
        ]},
        {"tool_calls": [publish("/workspace/ran.txt")]},
        {"text": "I end."},
    ]})
}

async fn assert_whole(rig: &Rig, world: &World, context: &str) {
    assert_eq!(world.state().await, TaskState::Completed, "{context}");
    assert_eq!(world.endings().await, [TaskState::Completed], "{context}");
    assert_eq!(world.answer().await, "I begin.\n\nI end.", "{context}");
    let results = results(&world.log().await);
    assert_eq!(results.len(), 6, "{context}: {results:?}");
    assert!(results.iter().all(|(ok, ..)| *ok), "{context}: {results:?}");
    assert_eq!(rig.file(world, "a.txt").await.as_deref(), Some("12"), "{context}");
    assert_eq!(rig.file(world, "gone.txt").await, None, "{context}");
    assert_eq!(rig.file(world, "ran.txt").await.as_deref(), Some("once\n"), "{context}");
    let published = world.events().await.into_iter().filter(|event| {
        matches!(event, EventBody::Artifact(update)
            if matches!(update.content, ArtifactContent::Published { .. }))
    });
    assert_eq!(published.count(), 1, "{context}");
}

/// T56, T57, T58, T60 and T72: dropped at every await, the lease aged, delivered again.
#[tokio::test]
async fn t56_t57_t60_a_worker_that_dies_among_tools_leaves_each_effect_once() {
    let database = Database::sqlite().await;
    let pool = database.pool(2).await;
    let rig = Rig::new();
    for polls in 0.. {
        let mut world = World::new(&pool, effects()).await;
        world.settings.time.patience = Duration::from_secs(30);
        let work = killed_after(polls, world.deliver());
        let survived = rig.beside(&world, work).await.is_some();
        world.age_lease().await;
        rig.settle(&world).await;
        assert_whole(&rig, &world, &format!("killed after {polls} polls")).await;
        rig.kill_all();
        if survived {
            assert!(polls > 60, "the worker was killed at {polls} awaits only");
            break;
        }
    }
}

/// T57a: nobody knows how far the command came in a sandbox that is gone, so it is not run again.
#[tokio::test]
async fn t57a_a_command_whose_sandbox_is_gone_is_not_run_again() {
    on_both(async |pool| {
        let rig = Rig::new();
        let command = execute("echo once >> ran.txt; sleep 60");
        let world = World::new(&pool, json!({"turns": [{"tool_calls": [command]}, {"text": "."}]}));
        let mut world = world.await;
        world.settings.time.patience = Duration::from_secs(30);
        run_until_the_command_runs(&rig, &world).await;
        rig.kill_all();
        rig.settle(&world).await;
        assert_eq!(world.state().await, TaskState::Completed);
        assert_eq!(results(&world.log().await)[0].1, "OUTCOME_UNKNOWN");
        assert_eq!(rig.file(&world, "ran.txt").await.as_deref(), Some("once\n"));
    })
    .await;
}

/// Drives a run until its command has left a trace, and kills the worker then.
async fn run_until_the_command_runs(rig: &Rig, world: &World) {
    let killed_in_time = async {
        tokio::select! {
            handled = world.deliver() => unreachable!("the command runs: {handled:?}"),
            () = eventually(Duration::from_secs(60), async || has_run(rig, world).await) => {}
        }
    };
    rig.beside(world, killed_in_time).await;
}

async fn has_run(rig: &Rig, world: &World) -> bool {
    rig.has_workspace(world).await && rig.file(world, "ran.txt").await.is_some()
}

async fn cancel(world: &World) {
    let agent = AgentName::try_from("analyst".to_owned()).unwrap().into();
    let scope = world.scope.digest();
    let canceled = tasks::cancel(&world.pool, &scope, &agent, world.taken.task).await.unwrap();
    assert_eq!(canceled, Canceled::Yes);
}

/// T50 and scenario "a cancel ends what runs": the sandbox kills the command.
#[tokio::test]
async fn t50_a_cancel_ends_the_command_that_runs() {
    on_both(async |pool| {
        let rig = Rig::new();
        let trap = "echo x > ran.txt; trap 'echo ended > ended.txt; exit' TERM; \
                    while true; do sleep 0.02; done";
        let turns = json!({"turns": [{"tool_calls": [execute(trap)]}]});
        let mut world = World::new(&pool, turns).await;
        world.settings.time.patience = Duration::from_secs(30);
        let claimed = world.claim().await;
        let canceled = async {
            tokio::join!(world.drive_claimed(claimed, INVOCATION), async {
                eventually(Duration::from_secs(60), async || has_run(&rig, &world).await).await;
                cancel(&world).await;
            })
        };
        let (outcome, ()) = rig.beside(&world, canceled).await;
        assert_eq!(outcome, Outcome::LostLease);
        assert_eq!(world.endings().await, [TaskState::Canceled]);
        eventually(Duration::from_secs(60), async || rig.file(&world, "ended.txt").await.is_some())
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_takes_its_commands_along() {
    on_both(async |pool| {
        let rig = Rig::new();
        let trap = "echo x > ran.txt; trap 'echo ended > ended.txt; exit' TERM; \
                    while true; do sleep 0.02; done";
        let turns = json!({"turns": [{"tool_calls": [execute(trap)]}]});
        let mut world = World::new(&pool, turns).await;
        world.settings.time.patience = Duration::from_secs(30);
        run_until_the_command_runs(&rig, &world).await;
        let late = "update runs set deadline_at = seconds_from_now(-1) where run_id = $1";
        pool.execute(late, &[world.taken.run.into()]).await.unwrap();
        world.age_lease().await;
        assert_eq!(world.drive().await, Outcome::Terminal);
        assert_eq!(world.code().await.as_deref(), Some("EXECUTION_TIMEOUT"));
        assert!(rig.file(&world, "ended.txt").await.is_some(), "it was killed before the end");
    })
    .await;
}

/// "Must be seen" 7: a worker that was paused beyond its lease wakes up among its tools.
#[tokio::test]
async fn t62_a_worker_that_wakes_up_late_changes_neither_rows_nor_files() {
    on_both(async |pool| {
        let rig = Rig::new();
        let mut world = World::new(&pool, effects()).await;
        world.settings.time.patience = Duration::from_secs(30);
        let old = world.claim().await;
        world.age_lease().await;
        rig.run(&world).await;
        assert_whole(&rig, &world, "the new worker").await;
        let events = world.placed_events().await;
        let outcome = world.drive_claimed(old, INVOCATION).await;
        assert_eq!(outcome, Outcome::LostLease);
        assert_eq!(world.placed_events().await, events);
        assert_whole(&rig, &world, "after the old worker").await;
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_started_fails_the_run() {
    on_both(async |pool: Pool| {
        let rig = Rig::broken();
        let turns = json!({"turns": [{"text": "So.", "tool_calls": [write("a", "x")]}]});
        let world = World::new(&pool, turns).await;
        rig.settle(&world).await;
        assert_eq!(world.code().await.as_deref(), Some("SANDBOX_UNAVAILABLE"));
        assert_eq!(world.answer().await, "So.");
    })
    .await;
}

/// The sandbox dies between two calls: the controller gives another one, and the run goes on.
#[tokio::test]
async fn a_sandbox_that_does_not_answer_is_replaced() {
    on_both(async |pool| {
        let rig = Rig::new();
        let turns = json!({"turns": [
            {"tool_calls": [write("a", "x")]}, {"tool_calls": [write("b", "y")]}, {"text": "done"},
        ]});
        let mut world = World::new(&pool, turns).await;
        world.settings.time.patience = Duration::from_secs(30);
        let killed_in_time = async {
            tokio::select! {
                handled = world.deliver() => unreachable!("one step is left: {handled:?}"),
                () = eventually(Duration::from_secs(60), async || {
                    world.model.calls().len() == 2
                }) => {}
            }
        };
        rig.beside(&world, killed_in_time).await;
        rig.kill_all();
        rig.settle(&world).await;
        assert_eq!(world.state().await, TaskState::Completed);
        let results = results(&world.log().await);
        assert!(results.iter().all(|(ok, ..)| *ok), "{results:?}");
        assert_eq!(rig.file(&world, "b").await.as_deref(), Some("y"));
    })
    .await;
}

/// While a run rests nobody renews the sandbox's lease: the next worker does, and goes on.
#[tokio::test]
async fn a_sandbox_that_fenced_itself_is_taken_up_again() {
    on_both(async |pool| {
        let rig = Rig::with_grace(Duration::ZERO);
        let turns = json!({"turns": [
            {"tool_calls": [write("a", "x")]}, {"tool_calls": [write("b", "y")]}, {"text": "done"},
        ]});
        let mut world = World::new(&pool, turns).await;
        world.settings.max_steps_per_invocation = 2;
        world.settings.time.patience = Duration::from_secs(30);
        rig.run(&world).await;
        rig.let_leases_end(&world).await;
        rig.settle(&world).await;
        let results = results(&world.log().await);
        assert!(results.iter().all(|(ok, ..)| *ok), "{results:?}");
        assert_eq!(rig.file(&world, "b").await.as_deref(), Some("y"));
    })
    .await;
}
