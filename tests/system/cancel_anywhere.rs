//! Cancel at any moment: one terminal state, nothing after it, and the context is free again (issue
//! "from message to deliverable", 6).

use std::time::Duration;

use cognition_local::{Options, System};
use futures_util::future::join_all;
use serde_json::json;
use testkit::{Database, eventually};
use tokio::time::{sleep, timeout};

use crate::support::caller::{Caller, id, message_in, state};
use crate::support::chance::Chance;
use crate::support::home::{Home, commands};
use crate::support::{PATIENCE, REQUEST, book};

/// Together 100, on each engine.
const CONTEXTS: u64 = 5;
const CANCELS: u64 = 20;
/// About as long as the demo takes when five are under way.
const LONGEST: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_task_that_is_canceled_at_any_of_100_moments_ends_once_on_sqlite() {
    let home = Home::new();
    canceled_at_any_moment(&home.options(), 0x5ca1_ab1e).await;
}

#[tokio::test]
async fn a_task_that_is_canceled_at_any_of_100_moments_ends_once_on_postgresql() {
    let (home, database) = (Home::new(), Database::postgres().await);
    let options = Options { database_url: Some(database.url().to_owned()), ..home.options() };
    canceled_at_any_moment(&options, 0xdec0_de01).await;
}

async fn canceled_at_any_moment(options: &Options, seed: u64) {
    let mut chance = Chance::seeded(seed);
    let system = System::start(options).await.unwrap();
    let caller = Caller::new(system.url(), "analyst");
    let chains = (0..CONTEXTS).map(|context| {
        let chance = Chance::seeded(chance.number());
        chain(&caller, context, chance)
    });
    let tasks: Vec<_> = join_all(chains).await.into_iter().flatten().collect();
    timeout(PATIENCE, system.queues().drained()).await.expect("nothing is under way any more");

    let mut canceled = 0;
    for (task, said) in &tasks {
        // Everybody has had the time to write something afterwards: nobody did.
        let ended = book::ended(system.pool(), task).await;
        assert_eq!(ended.state, *said, "as the client was told");
        canceled += u64::from(ended.state == "canceled");
    }
    println!("{canceled} of {} were canceled, the others had completed", tasks.len());
    assert!(canceled > CONTEXTS * CANCELS / 2);
    assert_eq!(u64::try_from(tasks.len()).unwrap(), CONTEXTS * (CANCELS + 1));
    system.stop().await;
}

/// In one context: task after task is canceled, and the last one is let. Returns the tasks with the
/// states that their client was told.
async fn chain(caller: &Caller, context: u64, mut chance: Chance) -> Vec<(String, &'static str)> {
    let context_id = format!("c-{context}");
    let said = |number: u64| message_in(&context_id, &format!("m-{context}-{number}"), REQUEST);
    let mut tasks = Vec::new();
    for number in 0..CANCELS {
        // Whatever became of the one before, this one is taken.
        let task = caller.submit(&said(number)).await.unwrap();
        sleep(chance.moment(LONGEST)).await;
        let ended = match caller.cancel(&id(&task)).await {
            Ok(shown) => {
                assert_eq!(state(&shown), "TASK_STATE_CANCELED");
                let again = caller.cancel(&id(&task)).await.unwrap();
                assert_eq!(state(&again), "TASK_STATE_CANCELED", "a second time is the same");
                "canceled"
            }
            Err(error) => {
                assert_eq!(error["code"], -32002, "{error}");
                "completed"
            }
        };
        tasks.push((id(&task), ended));
    }
    let last = timeout(PATIENCE, caller.send(&said(CANCELS))).await;
    let last = last.expect("the last one ends").unwrap();
    assert_eq!(state(&last), "TASK_STATE_COMPLETED", "{last:#}");
    let files = last["artifacts"].as_array().unwrap().iter();
    let files = files.filter(|artifact| artifact["parts"][0]["filename"].is_string());
    assert_eq!(files.count(), 2);
    tasks.push((id(&last), "completed"));
    tasks
}

#[tokio::test]
async fn the_commands_of_a_canceled_run_end_and_its_workspace_serves_the_next_one() {
    // No other process of this machine sleeps for so long.
    const MARK: &str = "86391.25";
    let home = Home::new().with_script(
        "sleeper",
        &json!([
            [
                {
                    "when": {"last_user_contains": "sleep"},
                    "tool_calls": [
                        {"name": "execute", "args": {"command": format!("sleep {MARK}; echo woken")}},
                    ],
                },
                {"tool_calls": [{"name": "execute", "args": {"command": "echo awake"}}]},
            ],
            {"text": "It is {{tool.text}}"},
        ]),
    );
    let system = System::start(&home.options()).await.unwrap();
    let caller = Caller::new(system.url(), "sleeper");
    let task = caller.submit(&message_in("c", "m-1", "Please sleep.")).await.unwrap();
    eventually(PATIENCE, async || commands(MARK).len() >= 2).await;

    assert_eq!(state(&caller.cancel(&id(&task)).await.unwrap()), "TASK_STATE_CANCELED");
    let next = timeout(PATIENCE, caller.send(&message_in("c", "m-2", "And now?"))).await;
    let next = next.expect("the context is free").unwrap();
    assert_eq!(state(&next), "TASK_STATE_COMPLETED", "{next:#}");
    assert!(next["artifacts"].to_string().contains("awake"), "{next:#}");
    eventually(PATIENCE, async || commands(MARK).is_empty()).await;
    assert_eq!(book::ended(system.pool(), &id(&task)).await.state, "canceled");
    system.stop().await;
}
