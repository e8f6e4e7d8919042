#[cfg(feature = "sqlite")]
mod signals;
mod statements;
mod time;
mod transactions;

use std::time::Duration;

use testkit::Database;
use tokio::time::timeout;

use super::Pool;
use crate::error::Error;
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

#[test]
fn work_on_the_database_may_move_between_threads() {
    fn is_send<T: Send>(_: fn(Pool) -> T) {}
    is_send(|pool| async move {
        let mut tx = pool.begin().await?;
        tx.query("select 1 as one", &[]).await?;
        tx.commit().await?;
        pool.execute("select 1", &[]).await
    });
}
