//! Both engines for the tests of this crate. (`testkit` makes the databases, but it links this crate
//! without its tests, so its `Pool` is another type than ours.)

use testkit::Database;

use crate::Pool;

/// Runs a test on both engines, with a schema and a pool of one connection.
pub(crate) async fn on_both(test: impl AsyncFn(Pool)) {
    on_both_databases(async |database| test(pool(database, 1).await).await).await;
}

/// Runs a test on both engines, for tests that need several pools.
pub(crate) async fn on_both_databases(test: impl AsyncFn(&Database)) {
    testkit::on_both_databases(test).await;
}

/// A pool of its own, as another process would have.
pub(crate) async fn pool(database: &Database, size: usize) -> Pool {
    Pool::connect(database.url(), size).await.unwrap()
}
