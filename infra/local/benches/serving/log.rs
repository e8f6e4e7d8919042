//! Appending to a task with a long log.

use std::time::{Duration, Instant};

use cognition_local::System;
use domain::{AgentKey, AgentName, Scope, TaskId};
use store::tasks;

use crate::connection::Connection;
use crate::{ms, percentile};

const TASKS: usize = 40;
const SHORT: i64 = 10;
const LONG: i64 = 10_000;

/// Prints what the transaction costs that appends a task's last event, after a short log and after a
/// long one.
pub(crate) async fn measure(system: &System) {
    let mut connection = Connection::open(system.url()).await;
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for number in 0..TASKS {
        for (length, tasks) in [(SHORT, &mut short), (LONG, &mut long)] {
            let id = connection.send(&format!("log-{length}-{number}")).await;
            let task: TaskId = id.parse().unwrap();
            fill(system, task, length).await;
            tasks.push(task);
        }
    }
    let pool = system.pool();
    pool.execute("analyze events", &[]).await.unwrap();
    let (mut after_short, mut after_long) = (Vec::new(), Vec::new());
    for (short, long) in short.into_iter().zip(long) {
        after_short.push(append(system, short).await);
        after_long.push(append(system, long).await);
    }
    after_short.sort_unstable();
    after_long.sort_unstable();
    let (short, long) = (percentile(&after_short, 50), percentile(&after_long, 50));
    println!(
        "\nappending to a task with {SHORT} events {:.2} ms, with {LONG} {:.2} ms, ratio {:.2}",
        ms(short),
        ms(long),
        long.as_secs_f64() / short.as_secs_f64(),
    );
}

async fn fill(system: &System, task: TaskId, length: i64) {
    system
        .pool()
        .execute(
            "insert into events (session_id, sequence, scope_digest, task_id, run_id, step,
                                 attempt, ordinal, kind, payload, created_at)
             select e.session_id, e.sequence + n, e.scope_digest, e.task_id, e.run_id, null,
                    null, null, e.kind, e.payload, e.created_at
               from events e cross join generate_series(1, $2) n
              where e.task_id = $1",
            &[task.into(), length.into()],
        )
        .await
        .unwrap();
    system
        .pool()
        .execute(
            "update sessions set last_sequence = last_sequence + $2
              where session_id = (select session_id from tasks where task_id = $1)",
            &[task.into(), length.into()],
        )
        .await
        .unwrap();
}

async fn append(system: &System, task: TaskId) -> Duration {
    let agent = AgentKey::from(AgentName::try_from("analyst".to_owned()).unwrap());
    let began = Instant::now();
    tasks::cancel(system.pool(), &Scope::empty().digest(), &agent, task).await.unwrap();
    began.elapsed()
}
