//! What can go wrong with the store.
//!
//! **No error text holds a value that a client sent, or a statement.** PostgreSQL's details quote the
//! offending row and rusqlite's texts quote the statement, so both are reduced to a [`Cause`].

use std::error::Error as StdError;
use std::fmt;

/// Why a function of the store did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused a statement.
    #[error("query the database")]
    Database(#[source] Cause),

    /// The database cannot be reached, or the connection broke. After a commit this means that its
    /// outcome is unknown.
    #[error("reach the database")]
    Unavailable(#[source] Cause),

    /// The server lets nobody in with this database URL: an unknown role or database, a password that
    /// is wrong. A person has to change something.
    #[error("connect to PostgreSQL")]
    Refused(#[source] Cause),

    /// Another transaction was in the way: a deadlock, a serialization failure, a lock that was not
    /// given in time. Nothing of this transaction remains.
    #[error("wait for another transaction")]
    Busy(#[source] Cause),

    /// A row with this key is already there. On PostgreSQL the constraint's name; SQLite knows only
    /// the columns (`runs.task_id, runs.attempt`), or the name of an index on an expression.
    #[error("{constraint} holds this key already")]
    UniqueViolation { constraint: String },

    /// An earlier statement of this transaction did not succeed, so that it can only roll back.
    #[error("continue a transaction in which a statement did not succeed")]
    Aborted,

    /// The row is no longer ours: another worker has taken it over, or it has ended.
    #[error("the lease is lost")]
    LeaseLost,

    /// There is no such row, for this scope.
    #[error("not found")]
    NotFound,

    /// The row is in another state than the change expects.
    #[error("the state has changed")]
    Conflict,

    /// A row holds something that this version of the code cannot read.
    #[error("{table}.{column} cannot be read")]
    Corrupt {
        table: &'static str,
        column: &'static str,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },

    /// A result has no such column, or one of another type.
    #[error("read column {column}")]
    Column {
        column: String,
        #[source]
        source: Mismatch,
    },

    /// A value of ours cannot be written as JSON.
    #[error("write a value as JSON")]
    Json(#[source] serde_json::Error),

    /// The schema cannot be brought up to date.
    #[error("apply migration {name}")]
    Migration {
        name: String,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },

    /// The database URL is not one that this build can use.
    #[error("read the database URL")]
    Url(#[source] InvalidUrl),
}

impl Error {
    /// A value that was read from `table.column` and cannot be understood.
    pub fn corrupt(
        table: &'static str,
        column: &'static str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Corrupt { table, column, source: source.into() }
    }

    /// Whether the same call may succeed at another time without anyone changing anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Busy(_) => true,
            Self::Migration { source, .. } => {
                source.downcast_ref::<Error>().is_some_and(Error::is_retryable)
            }
            Self::Database(_)
            | Self::Refused(_)
            | Self::UniqueViolation { .. }
            | Self::Aborted
            | Self::LeaseLost
            | Self::NotFound
            | Self::Conflict
            | Self::Corrupt { .. }
            | Self::Column { .. }
            | Self::Json(_)
            | Self::Url(_) => false,
        }
    }
}

/// What the database or its driver said, without values and statements.
#[derive(Debug)]
pub struct Cause {
    pub(crate) text: String,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Cause {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Why a column could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("there is no such column")]
    Absent,
    #[error("it is null")]
    Null,
    #[error("it holds {found}, not {wanted}")]
    Type { wanted: &'static str, found: &'static str },
}

/// Why a database URL cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    #[error("it begins with neither postgres:// nor sqlite:")]
    Scheme,
    #[error("its parts cannot be understood")]
    Parts,
    #[error("this build has no SQLite (feature `sqlite`)")]
    NoSqlite,
    #[error("this build has no TLS for PostgreSQL (feature `postgres-tls`)")]
    NoTls,
    #[error("the certificates that it names cannot be read")]
    Certificates,
}
