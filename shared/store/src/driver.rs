//! Two engines below one text of SQL: PostgreSQL, and SQLite for local runs.
//!
//! **A handle that is dropped, at whatever await, leaves no trace: its transaction is rolled back
//! before anything else is served, and a connection with unfinished business is never handed out
//! again.**
//!
//! Statements are written once, in the subset that both engines understand: parameters `$1 … $n`,
//! `returning`, `on conflict`, `->>`, partial indexes, CTEs that read; no `::` casts, arrays or
//! intervals. `for update [skip locked]` is dropped on SQLite, where a write transaction is
//! exclusive. Time is `statement_timestamp()`, which stands still during a statement, and
//! `seconds_from_now(x)`, which is built on it. Sums of `bigint` want a `cast(… as bigint)`, as
//! PostgreSQL makes them `numeric`.
//!
//! A row can bear the transaction that wrote it, `this_transaction()`, so that `seen_in(snapshot,
//! transaction)` tells whether a statement with that `this_snapshot()` saw it. On SQLite both are
//! null, and everything is seen: writers come one after the other, in the order of their times.
//!
//! PostgreSQL: every statement is one round trip and leaves nothing behind in the session (no named
//! prepared statements), so that a proxy can share connections. Transactions are read committed.
//!
//! SQLite: one thread owns the connection that writes, another one reads, each statement in the order
//! in which it was sent. A file survives a killed process; a power cut may take the last moments
//! (`synchronous = normal`). `:memory:` has one connection for all.

pub(crate) mod dialect;
mod hints;
mod postgres;
mod row;
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only SQLite tells"))]
mod signal;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;
mod value;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use crate::error::{Error, InvalidUrl};
use crate::outbox::Outgoing;
use hints::Hints;

pub use row::Row;
pub use signal::Wake;
pub use value::{FromValue, Json, Kind, Param, Value};

/// Which database is behind a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    Sqlite,
}

/// The database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    backend: Backend,
    statements: AtomicU64,
    hints: Hints,
}

#[derive(Debug)]
enum Backend {
    Postgres(postgres::Postgres),
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::Sqlite),
}

/// One of several statements that are sent together; see [`Tx::together`].
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Value>,
}

/// What a statement gave back.
#[derive(Debug, Default)]
struct Outcome {
    rows: Vec<Row>,
    /// How many rows it wrote; for a pure read, how many it found.
    affected: u64,
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    /// Several reads of one state of the database.
    Snapshot,
}

impl Pool {
    /// Opens `postgres://…`, `sqlite:<path>` or `sqlite::memory:` and makes sure that it answers.
    ///
    /// PostgreSQL gets at most `size` connections. With `sslmode=require` (or `verify-full`) in the
    /// URL, TLS is used and the server's certificate is verified, against the system's roots or
    /// those of the file that `sslrootcert` names; without it, the connection is plain.
    pub async fn connect(url: &str, size: usize) -> Result<Self, Error> {
        let backend = if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Backend::Postgres(postgres::Postgres::connect(url, size).await?)
        } else if let Some(path) = url.strip_prefix("sqlite:") {
            open_sqlite(path).await?
        } else {
            return Err(Error::Url(InvalidUrl::Scheme));
        };
        Ok(Self::over(backend))
    }

    fn over(backend: Backend) -> Self {
        Self(Arc::new(Shared { backend, statements: AtomicU64::new(0), hints: Hints::default() }))
    }

    /// How many statements this pool and its transactions were asked for: what a reader costs.
    pub fn statements(&self) -> u64 {
        self.0.statements.load(Ordering::Relaxed)
    }

    pub fn engine(&self) -> Engine {
        match &self.0.backend {
            Backend::Postgres(_) => Engine::Postgres,
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(_) => Engine::Sqlite,
        }
    }

    /// A pool of its own, of one connection to the same PostgreSQL; on SQLite the same as this one.
    pub(crate) async fn another(&self) -> Result<Self, Error> {
        match &self.0.backend {
            Backend::Postgres(postgres) => {
                Ok(Self::over(Backend::Postgres(postgres.another().await?)))
            }
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(_) => Ok(self.clone()),
        }
    }

    /// Wakes when a transaction of this process that [announced](Tx::announce) `topic` is committed,
    /// where the engine can tell: on SQLite, whose writers are mostly one process. PostgreSQL would
    /// have to `listen`, which pins a proxy's connection.
    pub fn wake(&self, topic: Uuid) -> Option<Wake> {
        match &self.0.backend {
            Backend::Postgres(_) => {
                let _ = topic;
                None
            }
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(sqlite) => sqlite.wake(topic),
        }
    }

    /// Begins a transaction that may write.
    pub async fn begin(&self) -> Result<Tx, Error> {
        self.transaction(Mode::Write).await
    }

    /// Begins a read-only transaction whose statements all see the state that the first one saw.
    pub async fn snapshot(&self) -> Result<Tx, Error> {
        self.transaction(Mode::Snapshot).await
    }

    async fn transaction(&self, mode: Mode) -> Result<Tx, Error> {
        let open = match &self.0.backend {
            Backend::Postgres(postgres) => Open::Postgres(postgres.begin(mode).await?),
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(sqlite) => Open::Sqlite(sqlite.begin(mode).await?),
        };
        let (topics, hints) = (Vec::new(), Vec::new());
        Ok(Tx { open, pool: self.clone(), topics, broken: false, hints })
    }

    /// Takes the messages that committed transactions of this pool and its clones have left to be
    /// sent by whoever comes first. They are in the outbox too.
    pub fn take_hints(&self) -> Vec<Outgoing> {
        self.0.hints.take()
    }

    /// Runs one statement on its own and returns its rows.
    pub async fn query(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        Ok(self.run(sql, params).await?.rows)
    }

    /// As [`Pool::query`], for at most one row; of several, the first.
    pub async fn query_opt(&self, sql: &str, params: &[Value]) -> Result<Option<Row>, Error> {
        Ok(self.run(sql, params).await?.rows.into_iter().next())
    }

    /// Runs one statement on its own and returns how many rows it wrote. A future that is dropped
    /// may have written or not.
    pub async fn execute(&self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        Ok(self.run(sql, params).await?.affected)
    }

    /// Every statement passes here, also those of transactions.
    fn count(&self, sql: &str, params: &[Value]) {
        self.0.statements.fetch_add(1, Ordering::Relaxed);
        #[cfg(test)]
        crate::plans::note(sql, params);
        #[cfg(not(test))]
        let _ = (sql, params);
    }

    async fn run(&self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        self.count(sql, params);
        match &self.0.backend {
            Backend::Postgres(postgres) => postgres.run(sql, params).await,
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(sqlite) => sqlite.run(sql, params).await,
        }
    }
}

/// Adds `values` to the parameters, and returns their places for an `in (…)`.
pub(crate) fn places<T: Copy + Into<Value>>(params: &mut Vec<Value>, values: &[T]) -> String {
    let mut places = String::new();
    for value in values {
        params.push((*value).into());
        let comma = if places.is_empty() { "" } else { ", " };
        // Writing to a text cannot fail.
        let _ = write!(places, "{comma}${}", params.len());
    }
    places
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(path: &str) -> Result<Backend, Error> {
    Ok(Backend::Sqlite(sqlite::Sqlite::open(path).await?))
}

#[cfg(not(feature = "sqlite"))]
#[expect(clippy::unused_async, reason = "takes the place of the one that waits")]
async fn open_sqlite(_path: &str) -> Result<Backend, Error> {
    Err(Error::Url(InvalidUrl::NoSqlite))
}

/// An open transaction. Dropped without [`Tx::commit`], it is rolled back.
///
/// A statement that fails, or whose future is dropped before its answer, spoils the transaction on
/// both engines: whatever comes next is refused with [`Error::Aborted`], the commit too.
#[derive(Debug)]
pub struct Tx {
    open: Open,
    pool: Pool,
    /// Whom the commit wakes.
    topics: Vec<Uuid>,
    /// Set while a statement is under way, and for good when it does not end well.
    broken: bool,
    /// Messages of this transaction's outbox for which no caller waits.
    hints: Vec<Outgoing>,
}

#[derive(Debug)]
#[cfg_attr(
    feature = "sqlite",
    expect(clippy::large_enum_variant, reason = "the larger one is the one that counts")
)]
enum Open {
    Postgres(postgres::Open),
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::Open),
}

impl Tx {
    /// Runs one statement and returns its rows.
    pub async fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        Ok(self.run(sql, params).await?.rows)
    }

    /// As [`Tx::query`], for at most one row; of several, the first.
    pub async fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, Error> {
        Ok(self.run(sql, params).await?.rows.into_iter().next())
    }

    /// Runs one statement and returns how many rows it wrote.
    pub async fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        Ok(self.run(sql, params).await?.affected)
    }

    async fn run(&mut self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(Error::Aborted);
        }
        self.pool.count(sql, params);
        let outcome = match &mut self.open {
            Open::Postgres(open) => open.run(sql, params).await?,
            #[cfg(feature = "sqlite")]
            Open::Sqlite(open) => open.run(sql, params).await?,
        };
        self.broken = false;
        Ok(outcome)
    }

    /// Runs statements in their order and returns how many rows each one wrote. On PostgreSQL all of
    /// them are one round trip: each is sent before the one before it is answered. When one fails,
    /// all have failed; the error is the first one's.
    pub(crate) async fn together(&mut self, statements: &[Statement]) -> Result<Vec<u64>, Error> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(Error::Aborted);
        }
        for statement in statements {
            self.pool.count(statement.sql, &statement.params);
        }
        let outcomes = match &mut self.open {
            Open::Postgres(open) => {
                let texts = statements.iter().map(|one| (one.sql, one.params.as_slice()));
                open.together(texts.collect()).await?
            }
            #[cfg(feature = "sqlite")]
            Open::Sqlite(open) => {
                let mut outcomes = Vec::with_capacity(statements.len());
                for statement in statements {
                    outcomes.push(open.run(statement.sql, &statement.params).await?);
                }
                outcomes
            }
        };
        self.broken = false;
        Ok(outcomes.into_iter().map(|outcome| outcome.affected).collect())
    }

    /// Lets the commit wake those who [wait](Pool::wake) for this topic.
    pub fn announce(&mut self, topic: Uuid) {
        if !self.topics.contains(&topic) {
            self.topics.push(topic);
        }
    }

    /// Makes the transaction's writes durable and visible. When it answers [`Error::Unavailable`],
    /// or its future is dropped, they may be or may not be.
    pub async fn commit(self) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Aborted);
        }
        match self.open {
            Open::Postgres(open) => open.commit().await,
            #[cfg(feature = "sqlite")]
            Open::Sqlite(open) => open.commit(self.topics).await,
        }?;
        self.pool.0.hints.add(self.hints);
        Ok(())
    }

    /// Leaves a message of this transaction's outbox to whoever asks the pool for it after the
    /// commit ([`Pool::take_hints`]): for messages that come about deep inside, where no caller
    /// waits for them.
    pub(crate) fn hint(&mut self, outgoing: Outgoing) {
        self.hints.push(outgoing);
    }

    /// Undoes the transaction and waits until that is done.
    pub async fn rollback(self) -> Result<(), Error> {
        match self.open {
            Open::Postgres(open) => open.rollback().await,
            #[cfg(feature = "sqlite")]
            Open::Sqlite(open) => open.rollback().await,
        }
    }
}
