//! One connection and what the statements find on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::{Clock as _, SystemClock};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OpenFlags, ToSql};

use super::Statement;
use super::failure::{failure, refused};
use crate::driver::{Mode, Outcome, Row, Value, dialect};
use crate::error::Error;

/// How long to wait for another process that writes to the same file.
const BUSY: Duration = Duration::from_secs(10);
/// More than there are statements in this crate.
const STATEMENTS: usize = 512;

/// The time of the newest statement, shared by the connections of a database: it never runs
/// backwards, whatever the machine's clock does.
#[derive(Debug, Default)]
pub(super) struct StatementClock(AtomicI64);

impl StatementClock {
    fn tick(&self) -> i64 {
        let now = SystemClock.now().as_micros();
        self.0.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

pub(super) struct Connection {
    sqlite: rusqlite::Connection,
    clock: Arc<StatementClock>,
    /// What `statement_timestamp()` answers.
    now: Arc<AtomicI64>,
    only_reads: bool,
}

impl Connection {
    pub(super) fn open(
        path: &str,
        clock: Arc<StatementClock>,
        only_reads: bool,
    ) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = rusqlite::Connection::open_with_flags(path, flags).map_err(failure)?;
        let connection = Self { sqlite, clock, now: Arc::default(), only_reads };
        connection.prepare().map_err(failure)?;
        Ok(connection)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        self.sqlite.busy_timeout(BUSY)?;
        self.sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        if self.only_reads {
            self.sqlite.pragma_update(None, "query_only", true)?;
        } else {
            // `:memory:` answers that it has no such journal, which is fine.
            self.sqlite.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
            self.sqlite.pragma_update(None, "synchronous", "normal")?;
            self.sqlite.pragma_update(None, "foreign_keys", true)?;
        }
        // Deterministic within a statement, which is what the flag promises.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let now = Arc::clone(&self.now);
        self.sqlite.create_scalar_function("statement_timestamp", 0, flags, move |_| {
            Ok(now.load(Ordering::Relaxed))
        })?;
        let now = Arc::clone(&self.now);
        self.sqlite.create_scalar_function("seconds_from_now", 1, flags, move |context| {
            let seconds: Option<f64> = context.get(0)?;
            #[expect(clippy::cast_possible_truncation, reason = "saturates, far from any time")]
            let micros = seconds.map(|seconds| (seconds * 1e6).round() as i64);
            Ok(micros.map(|micros| now.load(Ordering::Relaxed).saturating_add(micros)))
        })?;
        // Whoever writes does so alone: there is nothing to tell transactions apart for.
        self.sqlite.create_scalar_function("this_transaction", 0, flags, |_| Ok(None::<i64>))?;
        self.sqlite.create_scalar_function("this_snapshot", 0, flags, |_| Ok(None::<String>))?;
        self.sqlite.create_scalar_function("seen_in", 2, flags, |_| Ok(true))
    }

    /// Whether a statement would change the database. One that is not understood does not: it will
    /// fail here.
    pub(super) fn writes(&self, sql: &str) -> bool {
        let prepared = self.sqlite.prepare_cached(&dialect::for_sqlite(sql));
        prepared.is_ok_and(|statement| !statement.readonly())
    }

    pub(super) fn answer(&mut self, Statement { sql, params, reply }: Statement) {
        reply.send(self.run(&sql, &params));
    }

    fn run(&self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        self.now.store(self.clock.tick(), Ordering::Relaxed);
        let mut statement =
            self.sqlite.prepare_cached(&dialect::for_sqlite(sql)).map_err(failure)?;
        if statement.parameter_count() != params.len() {
            return Err(refused("another number of parameters than the statement has"));
        }
        for (index, value) in params.iter().enumerate() {
            if matches!(value, Value::Text(text) | Value::Json(text) if text.contains('\0')) {
                return Err(refused("text with U+0000"));
            }
            statement.raw_bind_parameter(index + 1, value).map_err(failure)?;
        }
        let before = self.sqlite.total_changes();
        let columns: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
        let reads = statement.readonly();
        let mut found = Vec::new();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failure)? {
            let values = (0..columns.len())
                .map(|index| row.get_ref(index).map_err(failure).and_then(cell))
                .collect::<Result<_, _>>()?;
            found.push(Row::new(Arc::clone(&columns), values));
        }
        let affected = if reads {
            found.len() as u64
        } else if self.sqlite.total_changes() == before {
            // What `changes` says is about an earlier statement.
            0
        } else {
            self.sqlite.changes()
        };
        Ok(Outcome { rows: found, affected })
    }

    pub(super) fn begin(&mut self, mode: Mode) -> Result<(), Error> {
        match mode {
            Mode::Write => self.sqlite.execute_batch("begin immediate"),
            Mode::Snapshot => self.sqlite.execute_batch("begin; pragma query_only = on"),
        }
        .map_err(failure)
    }

    pub(super) fn commit(&mut self, mode: Mode) -> Result<(), Error> {
        let committed = self.sqlite.execute_batch("commit").map_err(failure);
        // After an error, or when SQLite has rolled back by itself, this tidies up.
        self.rollback(mode);
        committed
    }

    /// Ends what is open. There is nothing to do about an error: SQLite then has rolled back itself.
    pub(super) fn rollback(&mut self, mode: Mode) {
        if !self.sqlite.is_autocommit() {
            let _ = self.sqlite.execute_batch("rollback");
        }
        if mode == Mode::Snapshot && !self.only_reads {
            let _ = self.sqlite.execute_batch("pragma query_only = off");
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null | Self::NullOf(_) => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Bool(truth) => ToSqlOutput::from(*truth),
            Self::I32(number) => ToSqlOutput::from(*number),
            Self::I64(number) => ToSqlOutput::from(*number),
            Self::F64(number) => ToSqlOutput::from(*number),
            Self::Text(text) | Self::Json(text) => {
                ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
            }
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Uuid(uuid) => ToSqlOutput::from(uuid.to_string()),
            Self::Time(time) => ToSqlOutput::from(time.as_micros()),
        })
    }
}

fn cell(value: ValueRef<'_>) -> Result<Value, Error> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::I64(number),
        ValueRef::Real(number) => Value::F64(number),
        ValueRef::Text(text) => {
            let text = str::from_utf8(text).map_err(|_| refused("text that is not UTF-8"))?;
            Value::Text(text.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}
