//! Two processes on one PostgreSQL, each with an ingress, an orchestrator and everything else (issue
//! "from message to deliverable", 5).

use std::time::Duration;

use cognition_local::s3::LocalS3;
use cognition_local::{Options, System};
use futures_util::future::join_all;
use serde_json::json;
use testkit::Database;
use tokio::time::timeout;

use crate::support::caller::{Caller, id, message, message_in, state};
use crate::support::home::Home;
use crate::support::{PATIENCE, REQUEST, age, book};

/// Two systems that share a database and an object store.
struct Two {
    first: System,
    second: System,
    s3: LocalS3,
    _homes: (Home, Home),
    _database: Database,
}

impl Two {
    /// `workers` of the first may be zero: then it only admits and tails. Its sweeps come too rarely
    /// to take anything into the queues that nobody works on.
    async fn start(workers: usize) -> Self {
        let homes = (Home::new(), Home::new());
        let database = Database::postgres().await;
        let s3 = homes.0.objects().await;
        let options = |home: &Home| Options {
            database_url: Some(database.url().to_owned()),
            s3: Some(s3.bucket("story").unwrap()),
            ..home.options()
        };
        let sweep_every = Duration::from_hours(1);
        let first = Options { runs: workers, sweep_every, ..options(&homes.0) };
        let first = System::start(&first).await.unwrap();
        let second = System::start(&options(&homes.1)).await.unwrap();
        Self { first, second, s3, _homes: homes, _database: database }
    }

    fn callers(&self) -> [Caller; 2] {
        [&self.first, &self.second].map(|system| Caller::new(system.url(), "analyst"))
    }

    async fn stop(self) {
        tokio::join!(self.first.stop(), self.second.stop());
        self.s3.stop().await;
    }
}

#[tokio::test]
async fn a_stream_on_one_process_shows_what_the_other_writes_and_all_see_the_same() {
    let two = Two::start(0).await;
    let [first, second] = two.callers();
    let request = json!({"message": message("m-1", REQUEST)});
    let mut sender = first.open("SendStreamingMessage", &request).await;
    let begin = sender.next().await.unwrap();
    let task = id(&begin.says["task"]);
    let mut subscribers = [first.subscribe(&task).await, second.subscribe(&task).await];
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.next().await, Some(begin.clone()), "the task as it is");
    }

    // The message lies in the queue of a process that nobody works in.
    age::wake_ups(two.second.pool()).await;
    let [a, b] = subscribers;
    let all = timeout(PATIENCE, async { tokio::join!(sender.rest(), a.rest(), b.rest()) }).await;
    let (sent, a, b) = all.expect("the second process finds the run and drives it");

    let last = &sent.last().unwrap().says["statusUpdate"]["status"]["state"];
    assert_eq!(last, "TASK_STATE_COMPLETED");
    assert_eq!(a, sent, "two readers in one process see the same");
    assert_eq!(b, sent, "and one in the process that works");
    assert_eq!(book::ended(two.first.pool(), &task).await.files, ["report.md", "sales.csv"]);
    let [there, here] = join_all([first.task(&task), second.task(&task)]).await.try_into().unwrap();
    assert_eq!(there, here);
    two.stop().await;
}

#[tokio::test]
async fn two_identical_first_messages_at_the_same_moment_make_one_task() {
    const TIMES: i64 = 25;
    let two = Two::start(8).await;
    let [first, second] = two.callers();
    let mut tasks = Vec::new();
    let mut messages = Vec::new();
    for time in 0..TIMES {
        let message_id = format!("m-{time}");
        let message = match time % 2 {
            0 => message(&message_id, "Nothing to count here."),
            _ => message_in(&format!("c-{time}"), &message_id, "Nothing to count here."),
        };
        let (one, other) = tokio::join!(first.submit(&message), second.submit(&message));
        assert_eq!(id(&one.clone().unwrap()), id(&other.unwrap()));
        tasks.push(id(&one.unwrap()));
        messages.push(message);
    }
    for table in ["tasks", "runs"] {
        assert_eq!(book::rows(two.first.pool(), table).await, TIMES, "{table}");
    }
    for (task, message) in tasks.iter().zip(&messages) {
        let ended = timeout(PATIENCE, second.send(message)).await.expect("it ends").unwrap();
        assert_eq!((id(&ended), state(&ended)), (task.clone(), "TASK_STATE_COMPLETED"));
        assert_eq!(book::ended(two.first.pool(), task).await.state, "completed");
    }
    two.stop().await;
}

#[tokio::test]
async fn two_processes_work_side_by_side() {
    let two = Two::start(8).await;
    let callers = two.callers();
    let all = (0..8).map(|number| {
        let caller = &callers[number % 2];
        async move { caller.send(&message(&format!("m-{number}"), REQUEST)).await.unwrap() }
    });
    for task in timeout(PATIENCE, join_all(all)).await.expect("all end") {
        assert_eq!(state(&task), "TASK_STATE_COMPLETED");
        let ended = book::ended(two.first.pool(), &id(&task)).await;
        assert_eq!(ended.files, ["report.md", "sales.csv"]);
    }
    two.stop().await;
}
