use std::time::Duration;

use domain::{Ids, RunId, Timestamp};
use testkit::{Database, killed_after};
use tokio::sync::Notify;
use tokio::time::timeout;
use uuid::Uuid;

use super::{Engine, Json, Kind, Pool, Value};
use crate::error::{Error, Mismatch};
use crate::params;

/// Long enough for a slow machine; reached only when something hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs a test on PostgreSQL, on a file and in memory, with `table` made first.
async fn on_all(table: &str, test: impl AsyncFn(Pool)) {
    let postgres = Database::empty_postgres().await;
    let file = Database::empty_sqlite();
    for url in [postgres.url(), file.url(), "sqlite::memory:"] {
        eprintln!("on {url}");
        let pool = Pool::connect(url, 1).await.unwrap();
        crate::migrations::apply(&pool, &[]).await.unwrap();
        if !table.is_empty() {
            pool.execute(table, &[]).await.unwrap();
        }
        timeout(LIMIT, test(pool)).await.expect("the test hangs");
    }
}

/// As [`on_all`], for tests with two pools: memory has only one.
async fn on_shared(table: &str, test: impl AsyncFn(Pool, Pool)) {
    let postgres = Database::empty_postgres().await;
    let file = Database::empty_sqlite();
    for url in [postgres.url(), file.url()] {
        eprintln!("on {url}");
        let pool = Pool::connect(url, 1).await.unwrap();
        pool.execute(table, &[]).await.unwrap();
        let other = Pool::connect(url, 1).await.unwrap();
        timeout(LIMIT, test(pool, other)).await.expect("the test hangs");
    }
}

const COUNTERS: &str = "create table counters (name text primary key, value bigint not null)";

async fn count(pool: &Pool) -> i64 {
    let row = pool.query_opt("select count(*) as n from counters", &[]).await.unwrap().unwrap();
    row.get("n").unwrap()
}

async fn put(pool: &Pool, name: &str) {
    let sql = "insert into counters (name, value) values ($1, 0)";
    assert_eq!(pool.execute(sql, &params![name]).await.unwrap(), 1);
}

#[tokio::test]
async fn every_kind_of_value_comes_back_as_it_went_in() {
    let table = "create table things (id uuid primary key, flag boolean, small integer, big bigint,
                     ratio double precision, word text, bytes bytea, at timestamptz, state jsonb)";
    on_all(table, async |pool| {
        let run = Ids::seeded(7).run();
        let at = Timestamp::from_micros(-1_234_567_890_123);
        let state = r#"{"kind": "done", "turns": 3}"#;
        pool.execute(
            "insert into things (id, flag, small, big, ratio, word, bytes, at, state)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &params![
                run,
                true,
                i32::MIN,
                i64::MAX,
                0.1,
                "it's $1 — ß",
                vec![0_u8, 255],
                at,
                Json(state.to_owned())
            ],
        )
        .await
        .unwrap();
        let select = "select * from things where id = $1 and flag = $2 and big = $3 and word = $4
                         and bytes = $5 and at = $6";
        let found = params![run, true, i64::MAX, "it's $1 — ß", vec![0_u8, 255], at];
        let row = pool.query_opt(select, &found).await.unwrap().unwrap();
        assert_eq!(row.get::<RunId>("id").unwrap(), run);
        assert_eq!(row.get::<Uuid>("id").unwrap(), run.as_uuid());
        assert!(row.get::<bool>("flag").unwrap());
        assert_eq!(row.get::<i32>("small").unwrap(), i32::MIN);
        assert_eq!(row.get::<i64>("big").unwrap(), i64::MAX);
        assert_eq!(row.get::<f64>("ratio").unwrap().to_bits(), 0.1_f64.to_bits());
        assert_eq!(row.get::<String>("word").unwrap(), "it's $1 — ß");
        assert_eq!(row.get::<Vec<u8>>("bytes").unwrap(), [0, 255]);
        assert_eq!(row.get::<Timestamp>("at").unwrap(), at);
        let back: serde_json::Value = row.json("things", "state").unwrap();
        assert_eq!(back, serde_json::from_str::<serde_json::Value>(state).unwrap());
        let kind = pool.query_opt("select state ->> 'kind' as kind from things", &[]).await;
        assert_eq!(kind.unwrap().unwrap().get::<String>("kind").unwrap(), "done");
    })
    .await;
}

#[tokio::test]
async fn nulls_of_every_kind_go_in_and_come_back() {
    let table =
        "create table things (flag boolean, small integer, big bigint, ratio double precision,
                     word text, bytes bytea, id uuid, at timestamptz, state jsonb)";
    on_all(table, async |pool| {
        let kinds = [
            Kind::Bool,
            Kind::I32,
            Kind::I64,
            Kind::F64,
            Kind::Text,
            Kind::Bytes,
            Kind::Uuid,
            Kind::Time,
            Kind::Json,
        ];
        let insert = "insert into things (flag, small, big, ratio, word, bytes, id, at, state)
                      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        pool.execute(insert, &kinds.map(Value::NullOf)).await.unwrap();
        pool.execute(insert, &kinds.map(|_| Value::Null)).await.unwrap();
        let rows = pool.query("select * from things", &[]).await.unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.get::<Option<bool>>("flag").unwrap(), None);
            assert_eq!(row.get::<Option<i64>>("big").unwrap(), None);
            assert_eq!(row.get::<Option<RunId>>("id").unwrap(), None);
            assert_eq!(row.get::<Option<Json>>("state").unwrap(), None);
        }
        // A statement that leaves the type open needs the typed null.
        let nothing: Option<&str> = None;
        let row = pool.query_opt("select $1 is null as void", &params![nothing]).await;
        assert!(row.unwrap().unwrap().get::<bool>("void").unwrap());
    })
    .await;
}

#[tokio::test]
async fn parameters_bind_by_number_and_not_by_appearance() {
    on_all("", async |pool| {
        let row = pool
            .query_opt(
                "select $2 as second, $3 as third, $1 as first, $2 as again, '$1' as literal",
                &params!["one", "two", "three"],
            )
            .await
            .unwrap()
            .unwrap();
        assert_eq!(row.get::<String>("first").unwrap(), "one");
        assert_eq!(row.get::<String>("second").unwrap(), "two");
        assert_eq!(row.get::<String>("again").unwrap(), "two");
        assert_eq!(row.get::<String>("third").unwrap(), "three");
        assert_eq!(row.get::<String>("literal").unwrap(), "$1");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_number_of_parameters_is_refused() {
    on_all("", async |pool| {
        let few = pool.query("select $1 as a, $2 as b", &params!["one"]).await;
        assert!(matches!(few, Err(Error::Database(_))), "{few:?}");
    })
    .await;
}

#[tokio::test]
async fn two_statements_in_one_text_are_refused() {
    on_all(COUNTERS, async |pool| {
        let both = "insert into counters values ('a', 1); insert into counters values ('b', 1)";
        assert!(matches!(pool.execute(both, &[]).await, Err(Error::Database(_))));
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

#[tokio::test]
async fn text_with_a_null_character_is_refused() {
    on_all(COUNTERS, async |pool| {
        let insert = "insert into counters (name, value) values ($1, 1)";
        let refused = pool.execute(insert, &params!["a\0b"]).await;
        assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

#[tokio::test]
async fn rows_written_are_counted_and_returned() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "a").await;
        put(&pool, "b").await;
        let all = "update counters set value = value + 1";
        assert_eq!(pool.execute(all, &[]).await.unwrap(), 2);
        let none = "update counters set value = 9 where name = 'c'";
        assert_eq!(pool.execute(none, &[]).await.unwrap(), 0);
        let returning = "update counters set value = value + 1 returning name, value";
        let rows = pool.query(returning, &[]).await.unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get::<i64>("value").unwrap(), 2);
        let again = "insert into counters (name, value) values ('a', 1) on conflict do nothing";
        assert_eq!(pool.execute(again, &[]).await.unwrap(), 0);
        let with = "with other as (select 'c' as name)
                    insert into counters (name, value) select name, 5 from other returning value";
        let row = pool.query_opt(with, &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("value").unwrap(), 5);
        assert_eq!(pool.execute("create table more (a text)", &[]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_column_that_is_not_there_or_of_another_type_is_an_error() {
    on_all("", async |pool| {
        let select = "select 'word' as word, 70000000000 as big, cast(null as text) as void";
        let row = pool.query_opt(select, &[]).await.unwrap().unwrap();
        let source = |error| match error {
            Error::Column { source, .. } => source,
            other => panic!("{other}"),
        };
        assert_eq!(source(row.get::<String>("other").unwrap_err()), Mismatch::Absent);
        assert_eq!(source(row.get::<String>("void").unwrap_err()), Mismatch::Null);
        let found = source(row.get::<i64>("word").unwrap_err());
        assert_eq!(found, Mismatch::Type { wanted: "an integer", found: "text" });
        assert!(matches!(source(row.get::<i32>("big").unwrap_err()), Mismatch::Type { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_second_row_with_the_same_key_is_a_unique_violation() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "a").await;
        let again = pool.execute("insert into counters values ('a', 1)", &[]).await.unwrap_err();
        let constraint = match again {
            Error::UniqueViolation { constraint } => constraint,
            other => panic!("{other:?}"),
        };
        match pool.engine() {
            Engine::Postgres => assert_eq!(constraint, "counters_pkey"),
            Engine::Sqlite => assert_eq!(constraint, "counters.name"),
        }
    })
    .await;
}

#[tokio::test]
async fn no_error_tells_a_value_or_a_statement() {
    let table = "create table secrets (word text primary key, length integer not null,
                     constraint secrets_short check (length < 5))";
    on_all(table, async |pool| {
        let insert = "insert into secrets (word, length) values ($1, $2)";
        pool.execute(insert, &params!["hunter2", 1]).await.unwrap();
        let cut = insert.replace("values", "valuse");
        let errors = [
            pool.execute(insert, &params!["hunter2", 1]).await.unwrap_err(),
            pool.execute(insert, &params!["hunter2!", 7]).await.unwrap_err(),
            pool.execute(insert, &params!["hunter2!", None::<i32>]).await.unwrap_err(),
            pool.execute(&cut, &params!["hunter2", 1]).await.unwrap_err(),
            pool.execute("insert into secrets (wrod) values ($1)", &params!["hunter2"])
                .await
                .unwrap_err(),
        ];
        for error in errors {
            let debug = format!("{error:?}");
            let told = format!("{debug} {:#}", anyhow::Error::from(error));
            assert!(!told.contains("hunter2"), "{told}");
            assert!(!told.contains("insert"), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_constraint_that_refuses_is_named() {
    let table = "create table small (n integer, constraint small_only check (n < 5))";
    on_all(table, async |pool| {
        let refused = pool.execute("insert into small values (7)", &[]).await.unwrap_err();
        let told = format!("{:#}", anyhow::Error::from(refused));
        assert!(told.contains("small_only"), "{told}");
    })
    .await;
}

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
async fn time_stands_still_in_a_statement_and_goes_on_in_a_transaction() {
    on_all("create table times (at timestamptz not null)", async |pool| {
        let mut tx = pool.begin().await.unwrap();
        let now = "select statement_timestamp() as a, statement_timestamp() as b,
                          statement_timestamp() = seconds_from_now(0) as same";
        let mut last = Timestamp::from_micros(0);
        for _ in 0..50 {
            let row = tx.query_opt(now, &[]).await.unwrap().unwrap();
            let (a, b): (Timestamp, Timestamp) = (row.get("a").unwrap(), row.get("b").unwrap());
            assert_eq!(a, b);
            assert!(row.get::<bool>("same").unwrap());
            assert!(a >= last, "{a:?} after {last:?}");
            last = a;
        }
        let start = last;
        // A transaction's own start would not move.
        while last == start {
            let row = tx.query_opt(now, &[]).await.unwrap().unwrap();
            last = row.get("a").unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn times_are_compared_stored_and_reckoned_with() {
    on_all("create table times (name text, at timestamptz)", async |pool| {
        let insert = "insert into times (name, at) values ($1, seconds_from_now($2))";
        for (name, seconds) in [("past", -0.5), ("future", 60.25), ("never", 1e6)] {
            pool.execute(insert, &params![name, seconds]).await.unwrap();
        }
        // An integer is fine, too, and nothing stays nothing.
        pool.execute("insert into times values ('soon', seconds_from_now(60))", &[]).await.unwrap();
        pool.execute(insert, &params!["nothing", None::<f64>]).await.unwrap();
        let due = "select name from times where at <= statement_timestamp()";
        let rows = pool.query(due, &[]).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].get::<String>("name").unwrap(), "past");
        let row = pool.query_opt("select at from times where name = 'nothing'", &[]).await;
        assert_eq!(row.unwrap().unwrap().get::<Option<Timestamp>>("at").unwrap(), None);
        let select = "select at, statement_timestamp() as now from times where name = 'future'";
        let row = pool.query_opt(select, &[]).await.unwrap().unwrap();
        let (at, now): (Timestamp, Timestamp) = (row.get("at").unwrap(), row.get("now").unwrap());
        let ahead = at.as_micros() - now.as_micros();
        assert!((30_000_000..=60_250_000).contains(&ahead), "{ahead}");
        let exact = "select name from times where at = $1";
        assert_eq!(pool.query(exact, &params![at]).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn on_postgres_an_index_serves_a_comparison_with_the_time() {
    let database = Database::postgres().await;
    let pool = Pool::connect(database.url(), 1).await.unwrap();
    pool.execute("create table times (at timestamptz not null)", &[]).await.unwrap();
    pool.execute("create index times_at on times (at)", &[]).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    tx.execute("set local enable_seqscan = off", &[]).await.unwrap();
    let explain = "explain select * from times where at <= seconds_from_now($1)";
    let rows = tx.query(explain, &params![-5.0]).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get("QUERY PLAN").unwrap()).collect();
    assert!(plan.iter().any(|line| line.contains("Index Cond")), "{plan:?}");
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

#[tokio::test]
async fn a_file_keeps_what_was_committed() {
    let file = Database::empty_sqlite();
    let pool = Pool::connect(file.url(), 1).await.unwrap();
    pool.execute(COUNTERS, &[]).await.unwrap();
    put(&pool, "a").await;
    drop(pool);
    let again = Pool::connect(file.url(), 1).await.unwrap();
    assert_eq!(count(&again).await, 1);
}

#[tokio::test]
async fn foreign_keys_are_enforced() {
    on_all("create table parents (id integer primary key)", async |pool| {
        let child = "create table children (parent integer not null references parents (id))";
        pool.execute(child, &[]).await.unwrap();
        let orphan = pool.execute("insert into children values (7)", &[]).await;
        assert!(matches!(orphan, Err(Error::Database(_))), "{orphan:?}");
    })
    .await;
}

#[tokio::test]
async fn urls_of_other_databases_are_refused() {
    let refused = Pool::connect("mysql://localhost/x", 1).await;
    assert!(matches!(refused, Err(Error::Url(_))));
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_worth_another_try() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for url in [
        format!("postgres://nobody@127.0.0.1:{port}/nothing"),
        "sqlite:/no/such/folder/file.db".to_owned(),
    ] {
        let error = Pool::connect(&url, 1).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert!(error.is_retryable());
    }
}
