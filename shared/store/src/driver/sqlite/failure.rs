//! What an error of SQLite means to us, and how much of it may be told.

use rusqlite::ErrorCode;

use crate::error::{Cause, Error};

const UNIQUE: &str = "UNIQUE constraint failed: ";

/// SQLite's own messages name tables, columns and constraints, and hold no values; rusqlite adds
/// the statement to some of them, which is left out.
pub(super) fn failure(error: rusqlite::Error) -> Error {
    let (code, message) = match error {
        rusqlite::Error::SqliteFailure(error, message) => (error, message),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error, Some(msg)),
        other => return refused(&other.to_string()),
    };
    let message = message.unwrap_or_default();
    if let Some(columns) = message.strip_prefix(UNIQUE) {
        let constraint = columns.strip_prefix("index ").unwrap_or(columns).trim_matches('\'');
        return Error::UniqueViolation { constraint: constraint.to_owned() };
    }
    let cause = Cause::new(format!("sqlite {}: {message}", code.extended_code));
    match code.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => Error::Busy(cause),
        ErrorCode::CannotOpen
        | ErrorCode::DiskFull
        | ErrorCode::OutOfMemory
        | ErrorCode::ReadOnly
        | ErrorCode::SystemIoFailure => Error::Unavailable(cause),
        _ => Error::Database(cause),
    }
}

pub(super) fn refused(why: &str) -> Error {
    Error::Database(Cause::new(why))
}
