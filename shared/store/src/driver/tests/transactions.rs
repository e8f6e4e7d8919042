//! What transactions promise: to others, when they end, and when they are dropped.

use std::time::Duration;

use testkit::{Database, killed_after};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{COUNTERS, LIMIT, count, on_all, on_shared, put};
use crate::driver::{Engine, Pool, Statement};
use crate::error::Error;
use crate::params;

#[tokio::test]
async fn a_transaction_that_is_dropped_leaves_nothing() {
    on_all(COUNTERS, async |pool| {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap();
        drop(tx);
        assert_eq!(count(&pool).await, 0);
        let mut tx = pool.begin().await.unwrap();
        tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap();
        tx.rollback().await.unwrap();
        assert_eq!(count(&pool).await, 0);
        let mut tx = pool.begin().await.unwrap();
        tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(count(&pool).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_transaction_without_a_statement_ends_quietly() {
    on_all(COUNTERS, async |pool| {
        pool.begin().await.unwrap().commit().await.unwrap();
        pool.begin().await.unwrap().rollback().await.unwrap();
        drop(pool.begin().await.unwrap());
        drop(pool.snapshot().await.unwrap());
        put(&pool, "a").await;
    })
    .await;
}

#[tokio::test]
async fn a_transaction_in_which_a_statement_failed_cannot_commit() {
    on_all(COUNTERS, async |pool| {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap();
        tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap_err();
        let next = tx.query("select 1 as one", &[]).await;
        assert!(matches!(next, Err(Error::Aborted)));
        assert!(matches!(tx.commit().await, Err(Error::Aborted)));
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_transaction_whose_statement_was_abandoned_cannot_commit() {
    on_all(COUNTERS, async |pool| {
        let mut tx = pool.begin().await.unwrap();
        let statement = tx.execute("insert into counters values ('a', 1)", &[]);
        assert!(killed_after(1, statement).await.is_none());
        assert!(matches!(tx.commit().await, Err(Error::Aborted)));
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

/// A piece of work with a statement before, in and after a transaction.
async fn work(pool: &Pool) -> Result<(), Error> {
    pool.query("select * from counters", &[]).await?;
    let mut tx = pool.begin().await?;
    tx.execute("insert into counters values ('a', 1) on conflict do nothing", &[]).await?;
    tx.query("select * from counters where name = 'a' for update", &[]).await?;
    tx.execute("insert into counters values ('b', 1) on conflict do nothing", &[]).await?;
    tx.commit().await?;
    pool.execute("update counters set value = value + 1", &[]).await?;
    Ok(())
}

#[tokio::test]
async fn work_that_is_dropped_at_any_await_leaves_all_or_nothing_and_a_pool_that_works() {
    on_all(COUNTERS, async |pool| {
        for polls in 0.. {
            pool.execute("delete from counters", &[]).await.unwrap();
            let survived = killed_after(polls, work(&pool)).await;
            let left = count(&pool).await;
            assert!(left == 0 || left == 2, "{left} rows after {polls} polls");
            if let Some(result) = survived {
                result.unwrap();
                assert_eq!(left, 2);
                assert!(polls > 5, "dropped only {polls} times");
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn on_sqlite_work_has_the_same_awaits_in_every_run() {
    let pool = Pool::connect("sqlite::memory:", 1).await.unwrap();
    pool.execute(COUNTERS, &[]).await.unwrap();
    // Seven statements and ends of transactions, each pending once, and the poll that ends it.
    for _ in 0..200 {
        let mut needed = 0;
        while killed_after(needed, work(&pool)).await.is_none() {
            needed += 1;
        }
        assert_eq!(needed, 8);
    }
}

#[tokio::test]
async fn a_statement_dropped_while_it_waits_for_a_lock_frees_the_pool() {
    on_shared(COUNTERS, async |pool, other| {
        put(&pool, "a").await;
        let add = "update counters set value = value + 1 where name = 'a'";
        let mut holder = other.begin().await.unwrap();
        holder.execute(add, &[]).await.unwrap();
        // The second one waits for the first, and is given up.
        let waiting = async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute(add, &[]).await.unwrap();
            tx.commit().await.unwrap();
        };
        assert!(timeout(Duration::from_millis(50), waiting).await.is_err());
        let read = pool.query("select value from counters", &[]);
        let rows = timeout(LIMIT, read).await.expect("the pool still serves").unwrap();
        assert_eq!(rows[0].get::<i64>("value").unwrap(), 0);
        holder.commit().await.unwrap();
        let mut tx = pool.begin().await.unwrap();
        tx.execute(add, &[]).await.unwrap();
        tx.commit().await.unwrap();
        let row = pool.query_opt("select value from counters", &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("value").unwrap(), 2, "the abandoned one left nothing");
    })
    .await;
}

#[tokio::test]
async fn concurrent_writers_lose_no_update() {
    on_shared(COUNTERS, async |one, two| {
        put(&one, "a").await;
        let add = async |pool: &Pool| {
            for _ in 0..25 {
                let mut tx = pool.begin().await.unwrap();
                let lock = "select value from counters where name = 'a' for update";
                let row = tx.query_opt(lock, &[]).await.unwrap().unwrap();
                let next = row.get::<i64>("value").unwrap() + 1;
                let set = "update counters set value = $1 where name = 'a'";
                tx.execute(set, &params![next]).await.unwrap();
                tx.commit().await.unwrap();
            }
        };
        tokio::join!(add(&one), add(&two), add(&one), add(&two));
        let row = one.query_opt("select value from counters", &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("value").unwrap(), 100);
    })
    .await;
}

#[tokio::test]
async fn skip_locked_gives_different_rows_to_two_takers() {
    let postgres = Database::empty_postgres().await;
    let one = Pool::connect(postgres.url(), 1).await.unwrap();
    let two = Pool::connect(postgres.url(), 1).await.unwrap();
    one.execute(COUNTERS, &[]).await.unwrap();
    put(&one, "a").await;
    put(&one, "b").await;
    let take = "select name from counters order by name limit 1 for update skip locked";
    let (mut first, mut second) = (one.begin().await.unwrap(), two.begin().await.unwrap());
    let taken = first.query_opt(take, &[]).await.unwrap().unwrap();
    let other = second.query_opt(take, &[]).await.unwrap().unwrap();
    assert_eq!(taken.get::<String>("name").unwrap(), "a");
    assert_eq!(other.get::<String>("name").unwrap(), "b");
}

#[tokio::test]
async fn a_snapshot_sees_one_state_while_others_write() {
    on_shared(COUNTERS, async |pool, other| {
        let mut snapshot = pool.snapshot().await.unwrap();
        let all = "select name from counters";
        assert_eq!(snapshot.query(all, &[]).await.unwrap().len(), 0);
        put(&other, "a").await;
        assert_eq!(snapshot.query(all, &[]).await.unwrap().len(), 0);
        snapshot.commit().await.unwrap();
        assert_eq!(pool.query(all, &[]).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_cannot_write_and_what_comes_after_it_can() {
    on_all(COUNTERS, async |pool| {
        let mut snapshot = pool.snapshot().await.unwrap();
        assert!(snapshot.execute("insert into counters values ('a', 1)", &[]).await.is_err());
        drop(snapshot);
        put(&pool, "b").await;
        assert_eq!(count(&pool).await, 1);
    })
    .await;
}

#[tokio::test]
async fn on_a_file_a_snapshot_does_not_hold_up_a_writer() {
    let file = Database::empty_sqlite();
    let pool = Pool::connect(file.url(), 1).await.unwrap();
    pool.execute(COUNTERS, &[]).await.unwrap();
    let mut snapshot = pool.snapshot().await.unwrap();
    snapshot.query("select * from counters", &[]).await.unwrap();
    timeout(LIMIT, put(&pool, "a")).await.expect("the writer is not held up");
}

#[tokio::test]
async fn a_pool_of_one_serves_waiting_tasks_in_turn() {
    on_all(COUNTERS, async |pool| {
        let (begun, go) = (Notify::new(), Notify::new());
        let holder = async {
            let mut tx = pool.begin().await.unwrap();
            tx.execute("insert into counters values ('a', 1)", &[]).await.unwrap();
            begun.notify_one();
            go.notified().await;
            tx.commit().await.unwrap();
        };
        let waiter = async {
            begun.notified().await;
            let second = async {
                let mut tx = pool.begin().await.unwrap();
                let rows = tx.query("select * from counters", &[]).await.unwrap();
                assert_eq!(rows.len(), 1, "sees what the first one committed");
            };
            let release = async { go.notify_one() };
            tokio::join!(second, release);
        };
        tokio::join!(holder, waiter);
    })
    .await;
}

fn insert(name: &str) -> Statement {
    Statement { sql: "insert into counters values ($1, 1)", params: params![name].to_vec() }
}

#[tokio::test]
async fn statements_that_are_sent_together_run_in_their_order() {
    on_all(COUNTERS, async |pool| {
        for already_begun in [false, true] {
            let mut tx = pool.begin().await.unwrap();
            if already_begun {
                tx.execute("update counters set value = value", &[]).await.unwrap();
            }
            let raise =
                || Statement { sql: "update counters set value = value * 2", params: vec![] };
            let name = format!("a {already_begun}");
            let written = tx.together(&[insert(&name), raise(), insert("b"), raise()]).await;
            let before = u64::from(already_begun) * 2;
            assert_eq!(written.unwrap(), [1, before / 2 + 1, 1, before / 2 + 2]);
            let sql = "select value from counters where name = $1";
            let row = tx.query_opt(sql, &params![name.as_str()]).await.unwrap().unwrap();
            assert_eq!(row.get::<i64>("value").unwrap(), 4);
            tx.execute("delete from counters where name = 'b'", &[]).await.unwrap();
            assert_eq!(tx.together(&[]).await.unwrap(), Vec::<u64>::new());
            tx.commit().await.unwrap();
        }
        assert_eq!(count(&pool).await, 2);
    })
    .await;
}

#[tokio::test]
async fn of_statements_that_are_sent_together_one_fails_all_and_tells_why() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "b").await;
        let mut tx = pool.begin().await.unwrap();
        let refused = tx.together(&[insert("a"), insert("b"), insert("c")]).await.unwrap_err();
        assert!(matches!(refused, Error::UniqueViolation { .. }), "{refused:?}");
        assert!(matches!(tx.together(&[insert("d")]).await, Err(Error::Aborted)));
        assert!(matches!(tx.commit().await, Err(Error::Aborted)));
        assert_eq!(count(&pool).await, 1);
    })
    .await;
}

#[tokio::test]
async fn statements_that_are_sent_together_and_abandoned_leave_nothing() {
    on_all(COUNTERS, async |pool| {
        for polls in 0.. {
            let done = killed_after(polls, async {
                let mut tx = pool.begin().await?;
                tx.together(&[insert("a"), insert("b"), insert("c")]).await?;
                tx.rollback().await
            });
            let done = done.await;
            assert_eq!(count(&pool).await, 0, "killed after {polls} polls");
            if let Some(done) = done {
                done.unwrap();
                break;
            }
        }
    })
    .await;
}

/// On SQLite nobody can write meanwhile, so that nobody needs to be told apart.
#[tokio::test]
async fn a_snapshot_tells_which_transactions_it_saw() {
    const NOTED: &str = "create table noted (name text primary key, tx bigint)";
    const SEEN: &str = "select name from noted where seen_in($1, tx) order by name";
    on_all(NOTED, async |pool| {
        let insert = "insert into noted (name, tx) values ($1, this_transaction())";
        pool.execute(insert, &params!["a"]).await.unwrap();
        let mut tx = pool.snapshot().await.unwrap();
        let sql = "select this_snapshot() as one, this_snapshot() as other";
        let row = tx.query_opt(sql, &[]).await.unwrap().unwrap();
        let (seen, other): (Option<String>, Option<String>) =
            (row.get("one").unwrap(), row.get("other").unwrap());
        assert_eq!(seen, other);
        tx.rollback().await.unwrap();
        let mut tx = pool.begin().await.unwrap();
        for name in ["b", "c"] {
            tx.execute(insert, &params![name]).await.unwrap();
        }
        tx.commit().await.unwrap();
        // Not noted, and noted by another cluster.
        let sql = "insert into noted (name, tx) values ('d', null), ('e', $1)";
        pool.execute(sql, &params![i64::MAX / 2]).await.unwrap();
        let postgres = pool.engine() == Engine::Postgres;
        assert_eq!(seen.is_some(), postgres);
        let names = pool.query(SEEN, &params![seen]).await.unwrap();
        let names: Vec<String> = names.iter().map(|row| row.get("name").unwrap()).collect();
        assert_eq!(names.concat(), if postgres { "ade" } else { "abcde" });
        let sql = "select count(distinct tx) as n from noted where name in ('b', 'c')";
        let row = pool.query_opt(sql, &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), i64::from(postgres), "a transaction has one");
    })
    .await;
}
