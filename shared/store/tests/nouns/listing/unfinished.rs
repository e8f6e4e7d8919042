//! Changes that were not committed yet when the first page was read. Only PostgreSQL has them: on
//! SQLite whoever writes does so alone.

use std::time::Duration;

use domain::{RunId, TaskId, Timestamp};
use store::driver::Engine;
use store::tasks::list::{Cursor, Filter, PageWant, Snapshot, list};
use store::{Lease, Pool, Tx, Value};
use testkit::{Database, on_both_databases};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{BARE, ids};
use crate::common::{Request, agent, claimed, scope, waiting_for_locks};

/// A claim in its transaction: the task is `working` there, and the event of that waits for the
/// session, which somebody else holds.
pub(super) struct Unfinished {
    holder: Tx,
    claim: JoinHandle<Lease>,
}

impl Unfinished {
    /// `side` has two connections for each claim that is not finished.
    pub(super) async fn begin(side: &Pool, user: &str, task: TaskId, run: RunId) -> Self {
        let mut holder = side.begin().await.unwrap();
        let hold = "update sessions set last_sequence = last_sequence
                     where session_id = (select session_id from tasks where task_id = $1)";
        assert_eq!(holder.execute(hold, &[task.into()]).await.unwrap(), 1);
        let (pool, user) = (side.clone(), user.to_owned());
        let claim = tokio::spawn(async move { claimed(&pool, &user, run).await.lease });
        Self { holder, claim }
    }

    pub(super) async fn finish(self) -> Lease {
        self.holder.rollback().await.unwrap();
        timeout(Duration::from_secs(20), self.claim).await.expect("nobody is in its way").unwrap()
    }
}

/// A page of the caller's tasks, and where it ends.
async fn page(
    pool: &Pool,
    user: &str,
    size: u32,
    after: Option<Cursor>,
) -> (Vec<TaskId>, Option<Cursor>) {
    let want = PageWant { size, ..BARE };
    let page = list(pool, &scope(user).digest(), &agent(), Filter::default(), after, want).await;
    let page = page.unwrap();
    (ids(&page), page.next)
}

/// All pages, with `between` after the first one.
async fn pages(pool: &Pool, user: &str, size: u32, between: impl AsyncFnOnce()) -> Vec<TaskId> {
    let (mut seen, mut after) = page(pool, user, size, None).await;
    between().await;
    while after.is_some() {
        let (more, next) = page(pool, user, size, after).await;
        seen.extend(more);
        after = next;
    }
    seen
}

/// Some tasks of a caller, the oldest first, with their runs.
async fn made(pool: &Pool, user: &str, count: usize) -> Vec<(TaskId, RunId)> {
    let mut made = Vec::new();
    for number in 0..count {
        let taken = Request::new(user, &format!("m{number}")).taken(pool).await;
        made.push((taken.task, taken.run));
    }
    made
}

/// Says what transaction the newest status of these tasks was written by.
async fn written_by(pool: &Pool, tasks: &[TaskId], transaction: &str, params: &[Value]) {
    for task in tasks {
        let params = [&[(*task).into()], params].concat();
        for sql in [
            format!("update tasks set status_tx = {transaction} where task_id = $1"),
            format!("update events set created_tx = {transaction} where task_id = $1"),
        ] {
            assert_eq!(pool.execute(&sql, &params).await.unwrap(), 1);
        }
    }
}

#[tokio::test]
async fn o8_a_change_that_began_before_one_that_is_seen_and_ends_after_it_loses_nothing() {
    let database = Database::postgres().await;
    let (pool, side) = (database.pool(1).await, database.pool(2).await);
    for size in 1..=5 {
        for oldest_waits in [true, false] {
            let user = format!("u{size}{oldest_waits}");
            let tasks = made(&pool, &user, 4).await;
            let waits = if oldest_waits { tasks[0] } else { tasks[2] };
            let unfinished = Unfinished::begin(&side, &user, waits.0, waits.1).await;
            waiting_for_locks(&pool, 1).await;
            claimed(&pool, &user, tasks[1].1).await;
            let (mut expected, mut after) = (Vec::new(), None);
            loop {
                let (some, next) = page(&pool, &user, 1, after).await;
                expected.extend(some);
                after = next;
                if after.is_none() {
                    break;
                }
            }
            let seen = pages(&pool, &user, size, async || {
                unfinished.finish().await;
            });
            assert_eq!(seen.await, expected, "pages of {size}");
        }
    }
}

#[tokio::test]
async fn a_task_that_was_made_by_an_unfinished_transaction_does_not_come() {
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    let tasks = made(&pool, "a", 4).await;
    let seen = pages(&pool, "a", 1, async || {
        // As if whoever made it had committed just now.
        written_by(&pool, &[tasks[1].0], "this_transaction()", &[]).await;
    });
    assert_eq!(seen.await, [tasks[3].0, tasks[2].0, tasks[0].0]);
}

/// Rows that were written before transactions were noted, and rows of another cluster, whose numbers
/// mean nothing here.
#[tokio::test]
async fn a_status_without_a_transaction_of_this_cluster_counts_as_seen() {
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    let tasks: Vec<TaskId> = made(&pool, "a", 5).await.into_iter().map(|made| made.0).collect();
    let expected: Vec<TaskId> = tasks.iter().rev().copied().collect();
    for transaction in [None, Some(i64::MAX / 2)] {
        written_by(&pool, &tasks, "$2", &[transaction.into()]).await;
        assert_eq!(pages(&pool, "a", 2, async || {}).await, expected, "{transaction:?}");
        // New ones are told apart from them.
        let user = format!("{transaction:?}");
        let mixed: Vec<_> = made(&pool, &user, 3).await;
        written_by(&pool, &[mixed[0].0], "$2", &[transaction.into()]).await;
        let seen = pages(&pool, &user, 1, async || {
            written_by(&pool, &[mixed[1].0], "this_transaction()", &[]).await;
        });
        assert_eq!(seen.await, [mixed[2].0, mixed[0].0], "{transaction:?}");
    }
}

/// No transaction lives so long: the number is another cluster's that comes again here.
#[tokio::test]
async fn a_status_that_is_older_than_any_transaction_counts_as_seen() {
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    // Its newest status is the old one, or it changes once more.
    for (user, hours, changes) in
        [("a", 0.9, false), ("b", 1.1, false), ("c", 0.9, true), ("d", 1.1, true)]
    {
        let runs = made(&pool, user, 4).await;
        let tasks: Vec<TaskId> = runs.iter().map(|made| made.0).collect();
        for sql in [
            "update tasks set status_at = seconds_from_now($2), created_at = seconds_from_now($2)
              where task_id = $1",
            "update events set created_at = (select t.status_at from tasks t
                                              where t.task_id = events.task_id)
              where task_id = $1 and $2 < 0",
        ] {
            for (task, seconds) in tasks.iter().zip([-3600.0 * hours, -3600.0 * hours + 1.0]) {
                let params = [(*task).into(), seconds.into()];
                assert_eq!(pool.execute(sql, &params).await.unwrap(), 1);
            }
        }
        let seen = pages(&pool, user, 3, async || {
            written_by(&pool, &tasks[..1], "this_transaction()", &[]).await;
            if changes {
                claimed(&pool, user, runs[0].1).await;
            }
        });
        let seen = seen.await;
        assert_eq!(seen[..3], [tasks[3], tasks[2], tasks[1]]);
        let oldest = if hours > 1.0 { &tasks[..1] } else { &[] };
        assert_eq!(&seen[3..], oldest, "{hours} hours, {changes}");
    }
}

/// Each way to a status: made, claimed, ended, continued and canceled.
#[tokio::test]
async fn a_status_and_its_event_bear_the_transaction_that_wrote_them() {
    on_both_databases(async |database| {
        let pool = database.pool(1).await;
        let mut noted: Vec<Option<i64>> = Vec::new();
        let mut note = async |task: TaskId| {
            let sql = "select t.status_tx,
                              (select e.created_tx from events e
                                where e.task_id = t.task_id and e.kind = 'status'
                                order by e.sequence desc limit 1) as created_tx
                         from tasks t where t.task_id = $1";
            let row = pool.query_opt(sql, &[task.into()]).await.unwrap().unwrap();
            let of = |column| row.get::<Option<i64>>(column).unwrap();
            assert_eq!(of("status_tx"), of("created_tx"));
            noted.push(of("status_tx"));
        };
        let taken = Request::new("a", "m").taken(&pool).await;
        note(taken.task).await;
        let lease = claimed(&pool, "a", taken.run).await.lease;
        note(taken.task).await;
        let ask = store::runs::Ending::InputRequired { message: "which?".to_owned() };
        store::runs::finish(&pool, lease, &[], &ask).await.unwrap();
        note(taken.task).await;
        Request::new("a", "more").task(taken.task).taken(&pool).await;
        note(taken.task).await;
        let digest = scope("a").digest();
        store::tasks::cancel(&pool, &digest, &agent(), taken.task).await.unwrap();
        note(taken.task).await;
        if pool.engine() == Engine::Postgres {
            assert!(noted.iter().all(Option::is_some) && noted.is_sorted_by(|a, b| a < b));
        } else {
            assert_eq!(noted, [None; 5], "whoever writes there does so alone");
        }
    })
    .await;
}

/// Whatever a token says of transactions, a page holds tasks of the caller alone.
#[tokio::test]
async fn forged_transactions_show_tasks_of_the_caller_alone() {
    on_both_databases(async |database| {
        let pool = database.pool(1).await;
        let tasks = made(&pool, "a", 3).await;
        made(&pool, "b", 2).await;
        let last = Snapshot::LAST;
        let now = pool.query_opt("select statement_timestamp() as now", &[]).await.unwrap();
        let now: Timestamp = now.unwrap().get("now").unwrap();
        let far = u32::MAX.into();
        for (oldest, next) in [(1, 1), (1, 2), (1, far), (last, last), (last - 1, last)] {
            for running in [vec![], vec![oldest]] {
                let Some(seen) = Snapshot::new(oldest, next, running) else { continue };
                for as_of in [Timestamp::from_micros(0), now] {
                    let (task, seen) = (tasks[1].0, Some(seen.clone()));
                    let forged = Cursor { as_of, at: as_of, task, seen };
                    let (found, _) = page(&pool, "a", 50, Some(forged)).await;
                    assert!(found.iter().all(|found| tasks.iter().any(|own| own.0 == *found)));
                }
            }
        }
    })
    .await;
}
