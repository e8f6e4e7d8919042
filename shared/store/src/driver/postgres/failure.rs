//! What an error of PostgreSQL means to us, and how much of it may be told.

use std::error::Error as _;
use std::io;

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::error::{DbError, SqlState};

use crate::error::{Cause, Error};

pub(super) fn failure(error: tokio_postgres::Error) -> Error {
    if let Some(refused) = error.as_db_error() {
        return refusal(refused);
    }
    // Below what is not about the connection is an error about our own values; what has nothing
    // below it is a connection that closed, timed out or talked nonsense.
    let broken = error.source().is_none_or(|source| {
        let io = source.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() != io::ErrorKind::InvalidInput)
    });
    let cause = Cause { text: error.to_string(), source: error.into_source() };
    if broken { Error::Unavailable(cause) } else { Error::Database(cause) }
}

/// The server said no.
fn refusal(error: &DbError) -> Error {
    let code = error.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        return Error::UniqueViolation { constraint: error.constraint().unwrap_or("").to_owned() };
    }
    let mut text = format!("sqlstate {}", code.code());
    if let Some(constraint) = error.constraint() {
        text.push_str(", constraint ");
        text.push_str(constraint);
    }
    if let (Some(table), Some(column)) = (error.table(), error.column()) {
        text = format!("{text}, column {table}.{column}");
    }
    // Messages about the statement itself name things of our schema; any other may quote a value.
    if code.code().starts_with("42") {
        text = format!("{text}: {}", error.message());
    }
    let cause = Cause::new(text);
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE => Error::Busy(cause),
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_SESSION_TIMEOUT
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::TOO_MANY_CONNECTIONS
        | SqlState::DISK_FULL
        | SqlState::OUT_OF_MEMORY
        | SqlState::READ_ONLY_SQL_TRANSACTION => Error::Unavailable(cause),
        // A wrong number of parameters counts as a violation of the protocol.
        SqlState::PROTOCOL_VIOLATION => Error::Database(cause),
        _ if code.code().starts_with("08") => Error::Unavailable(cause),
        _ => Error::Database(cause),
    }
}

/// No connection came about. What is told is what a person can do about it, in our own words: the
/// server's quote the names of roles, databases and hosts.
fn no_entry(error: tokio_postgres::Error) -> Error {
    if let Some(refused) = error.as_db_error() {
        let code = refused.code();
        let told = |what: &str| Cause::new(format!("{what} (sqlstate {})", code.code()));
        return match *code {
            SqlState::INVALID_CATALOG_NAME => {
                Error::Refused(told("the database does not exist: create it first (createdb …)"))
            }
            SqlState::INVALID_PASSWORD => Error::Refused(told("the password was refused")),
            SqlState::INSUFFICIENT_PRIVILEGE => {
                Error::Refused(told("the role may not use this database"))
            }
            SqlState::TOO_MANY_CONNECTIONS => {
                Error::Unavailable(told("the server has no connection left for us"))
            }
            SqlState::CANNOT_CONNECT_NOW => {
                Error::Unavailable(told("the server is starting or ending"))
            }
            _ if code.code().starts_with("28") => Error::Refused(told(
                "the role does not exist, or may not log in like this: \
                 name another in the URL (postgres://ROLE@HOST/DATABASE)",
            )),
            _ => failure(error),
        };
    }
    let mut below = error.source();
    while let Some(source) = below {
        if let Some(io) = source.downcast_ref::<io::Error>() {
            let text = match io.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                    "nothing accepts connections there (is PostgreSQL running, and are the host \
                     and port of the URL its own?)"
                }
                io::ErrorKind::TimedOut => "the server does not answer",
                _ => return failure(error),
            };
            return Error::Unavailable(Cause {
                text: text.to_owned(),
                source: error.into_source(),
            });
        }
        below = source.source();
    }
    match failure(error) {
        // The rest is about what the URL says, such as no password where one is asked for.
        Error::Database(cause) => Error::Refused(cause),
        other => other,
    }
}

pub(super) fn pool_failure(error: PoolError) -> Error {
    let text = match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            return no_entry(error);
        }
        PoolError::Timeout(TimeoutType::Wait) => "all connections of the pool stayed in use",
        PoolError::Timeout(TimeoutType::Create) => "a new connection took too long",
        PoolError::Timeout(TimeoutType::Recycle) => "a connection did not answer",
        PoolError::Closed => "the pool is closed",
        PoolError::NoRuntimeSpecified => "the pool has no runtime",
        PoolError::PostCreateHook(HookError::Message(_)) => "the pool refused a connection",
    };
    Error::Unavailable(Cause::new(text))
}
