//! Fresh databases with the schema, on both engines.

use store::driver::Engine;
use store::{Pool, migrations};
use tempfile::TempDir;

use crate::postgres;

/// A database that nobody else uses. It goes away with this value.
#[derive(Debug)]
pub struct Database {
    url: String,
    engine: Engine,
    _home: Home,
}

#[derive(Debug)]
enum Home {
    Postgres { _name: postgres::Name },
    Sqlite { _folder: TempDir },
}

impl Database {
    /// A migrated PostgreSQL database in the cluster of this test process.
    pub async fn postgres() -> Self {
        Self::in_cluster(postgres::create(postgres::Content::Schema).await)
    }

    /// A PostgreSQL database without any table.
    pub async fn empty_postgres() -> Self {
        Self::in_cluster(postgres::create(postgres::Content::Nothing).await)
    }

    fn in_cluster(name: postgres::Name) -> Self {
        Self { url: name.url(), engine: Engine::Postgres, _home: Home::Postgres { _name: name } }
    }

    /// A migrated SQLite file.
    pub async fn sqlite() -> Self {
        let database = Self::empty_sqlite();
        let migrated = migrations::migrate(&database.pool(1).await).await;
        migrated.expect("the migrations apply to an empty file");
        database
    }

    /// A SQLite file without any table.
    pub fn empty_sqlite() -> Self {
        let folder = TempDir::with_prefix("cognition-sqlite-").expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        Self { url, engine: Engine::Sqlite, _home: Home::Sqlite { _folder: folder } }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// A pool of its own, as another process would have.
    pub async fn pool(&self, size: usize) -> Pool {
        Pool::connect(&self.url, size).await.expect("the database was made a moment ago")
    }
}

/// Runs a test on each engine, with a pool of one connection: what waits for a second one while it
/// holds the first would hang a function.
pub async fn on_both(test: impl AsyncFn(Pool)) {
    on_both_databases(async |database| test(database.pool(1).await).await).await;
}

/// Runs a test on each engine, for tests that need several pools.
pub async fn on_both_databases(test: impl AsyncFn(&Database)) {
    for database in [Database::sqlite().await, Database::postgres().await] {
        announce(database.engine());
        test(&database).await;
    }
}

#[expect(clippy::print_stderr, reason = "shown when the test fails, to tell on which engine")]
fn announce(engine: Engine) {
    eprintln!("on {engine:?}");
}
