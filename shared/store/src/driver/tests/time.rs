//! The database's clock.

use domain::Timestamp;
use testkit::Database;

use super::on_all;
use crate::driver::Pool;
use crate::params;

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
