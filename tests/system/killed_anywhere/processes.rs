//! Whole processes are killed with SIGKILL at random moments of the demo, and started again.

use std::time::Duration;

use store::Pool;
use testkit::{Database, eventually};
use tokio::time::timeout;

use crate::support::caller::{Caller, id, message, state, submission};
use crate::support::chance::Chance;
use crate::support::home::Home;
use crate::support::life::{Deployment, Life};
use crate::support::{PATIENCE, REQUEST, age, book};

/// Fewer than the crashes without a commit for which a run is given up.
const KILLS_IN_A_ROW: usize = 4;
const ROUNDS: usize = 13;
const TASKS: usize = 3;
/// Longer than the demo takes.
const LONGEST_LIFE: Duration = Duration::from_millis(600);

#[tokio::test]
async fn processes_that_are_killed_at_52_moments_of_the_demo_lose_and_repeat_nothing() {
    let mut chance = Chance::seeded(0x0f_a1_1e_57);
    let (home, database) = (Home::new(), Database::postgres().await);
    let s3 = home.objects().await;
    let deployment = Deployment {
        home: &home,
        database: database.url(),
        s3: s3.bucket("story").unwrap(),
        log: "off",
    };
    let pool = database.pool(1).await;
    for round in 0..ROUNDS {
        let messages: Vec<_> = (0..TASKS).map(|task| format!("m-{round}-{task}")).collect();
        for _ in 0..KILLS_IN_A_ROW {
            let moment = chance.moment(LONGEST_LIFE);
            let life = deployment.begin().await;
            // Whoever gets no answer asks again in the next life.
            let asking = futures_util::future::join_all(
                messages.iter().map(|message_id| ask(&life.url, message_id)),
            );
            let lived = async {
                asking.await;
                std::future::pending::<()>().await;
            };
            let _ = timeout(moment, lived).await;
            life.kill().await;
            // What it has started dies with it.
            eventually(PATIENCE, async || home.sandboxed().is_empty()).await;
            age::everything(&pool).await;
        }
        let life = deployment.begin().await;
        for message_id in &messages {
            completes(&life, &pool, message_id).await;
        }
        everything_is_settled(&pool).await;
        life.kill().await;
        eventually(PATIENCE, async || home.sandboxed().is_empty()).await;
        age::everything(&pool).await;
    }
    assert_eq!(book::rows(&pool, "tasks").await, i64::try_from(ROUNDS * TASKS).unwrap());
    s3.stop().await;
}

/// Asks for a task until the server dies; the same message is the same task.
async fn ask(url: &str, message_id: &str) {
    let request = submission(&message(message_id, REQUEST));
    let _ = Caller::new(url, "analyst").try_call("SendMessage", &request).await;
}

/// The task of a message ends well, and its rows tell a sound story.
async fn completes(life: &Life, pool: &Pool, message_id: &str) {
    let caller = Caller::new(&life.url, "analyst");
    let task = timeout(PATIENCE, caller.send(&message(message_id, REQUEST))).await;
    let task = task.expect("the task ends").unwrap();
    assert_eq!(state(&task), "TASK_STATE_COMPLETED", "{task:#}");
    let ended = book::ended(pool, &id(&task)).await;
    assert_eq!(ended.state, "completed");
    for file in ["report.md", "sales.csv"] {
        // A sandbox that dies while its file is published takes that attempt with it; the demo
        // makes two.
        let refused = ended.refused.iter().filter(|name| *name == file).count();
        assert!(ended.files.iter().any(|name| name == file) || refused == 2, "{ended:?}");
    }
    let said = task["artifacts"].to_string();
    assert_eq!(said.matches("with a total of 60 USD").count(), 1, "said once: {said}");
}

/// Nothing waits for anything.
async fn everything_is_settled(pool: &Pool) {
    let unsettled = "select (select count(*) from outbox)
                          + (select count(*) from publications where state = 'requested')
                          + (select count(*) from runs where state in ('queued', 'active'))
                          + (select count(*) from sandbox_instances
                              where state not in ('ready', 'terminated', 'failed_launch')) as found";
    eventually(PATIENCE, async || {
        let row = pool.query_opt(unsettled, &[]).await.unwrap().unwrap();
        row.get::<i64>("found").unwrap() == 0
    })
    .await;
}
