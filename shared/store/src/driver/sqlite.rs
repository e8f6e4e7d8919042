//! The SQLite engine: threads that own connections, and channels to them.
//!
//! **A transaction has a channel of its own, and its thread serves nothing else until that channel
//! ends.** A handle that is dropped closes the channel, and the thread rolls back before it takes up
//! the next piece of work.

mod answer;
mod connection;
mod failure;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use uuid::Uuid;

use super::signal::{Signals, Wake};
use super::{Mode, Outcome, Value, dialect};
use crate::error::{Cause, Error};
use answer::{Answer, Reply};
use connection::{Connection, StatementClock};

#[derive(Debug)]
pub(super) struct Sqlite {
    writer: Sender<Work>,
    reader: Sender<Work>,
    signals: Arc<Signals>,
}

/// What a thread may be asked for.
enum Work {
    Statement(Statement),
    Transaction { mode: Mode, begun: Reply<()>, steps: Receiver<Step> },
}

/// What may happen in a transaction. The end of the channel is a rollback.
enum Step {
    Statement(Statement),
    /// Wakes those who wait for these.
    Commit(Reply<()>, Vec<Uuid>),
    Rollback(Reply<()>),
}

struct Statement {
    sql: String,
    params: Vec<Value>,
    reply: Reply<Outcome>,
}

impl Sqlite {
    /// Opens a file, which is made when it is not there, or `:memory:`.
    pub(super) async fn open(path: &str) -> Result<Self, Error> {
        let clock = Arc::new(StatementClock::default());
        let signals = Arc::new(Signals::new());
        let told = Arc::clone(&signals);
        let writer = start(path.to_owned(), Arc::clone(&clock), told, None).await?;
        let reader = if path == ":memory:" {
            writer.clone()
        } else {
            start(path.to_owned(), clock, Arc::clone(&signals), Some(writer.clone())).await?
        };
        Ok(Self { writer, reader, signals })
    }

    pub(super) fn wake(&self, topic: Uuid) -> Option<Wake> {
        self.signals.watch(topic)
    }

    /// Runs one statement on its own. What begins like a read goes to the connection that reads,
    /// which passes it on when it writes after all (`with … insert`).
    pub(super) async fn run(&self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        let (statement, answer) = Statement::new(sql, params);
        let reads = matches!(dialect::first_word(sql).as_str(), "select" | "with" | "values");
        send(if reads { &self.reader } else { &self.writer }, Work::Statement(statement))?;
        answer.await
    }

    pub(super) async fn begin(&self, mode: Mode) -> Result<Open, Error> {
        let thread = match mode {
            Mode::Write => &self.writer,
            Mode::Snapshot => &self.reader,
        };
        let (begun, answer) = answer::pair();
        let (steps, receiver) = channel();
        send(thread, Work::Transaction { mode, begun, steps: receiver })?;
        answer.await?;
        Ok(Open { steps })
    }
}

/// An open transaction.
#[derive(Debug)]
pub(super) struct Open {
    steps: Sender<Step>,
}

impl Open {
    pub(super) async fn run(&mut self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        let (statement, answer) = Statement::new(sql, params);
        send(&self.steps, Step::Statement(statement))?;
        answer.await
    }

    pub(super) async fn commit(self, topics: Vec<Uuid>) -> Result<(), Error> {
        let (reply, answer) = answer::pair();
        send(&self.steps, Step::Commit(reply, topics))?;
        answer.await
    }

    pub(super) async fn rollback(self) -> Result<(), Error> {
        let (reply, answer) = answer::pair();
        send(&self.steps, Step::Rollback(reply))?;
        answer.await
    }
}

impl Statement {
    fn new(sql: &str, params: &[Value]) -> (Self, Answer<Outcome>) {
        let (reply, answer) = answer::pair();
        (Self { sql: sql.to_owned(), params: params.to_vec(), reply }, answer)
    }
}

fn send<T>(thread: &Sender<T>, work: T) -> Result<(), Error> {
    thread.send(work).map_err(|_| gone())
}

fn gone() -> Error {
    Error::Unavailable(Cause::new("the thread of the database has ended"))
}

/// Starts a thread with a connection of its own. With a `writer` it only reads.
async fn start(
    path: String,
    clock: Arc<StatementClock>,
    signals: Arc<Signals>,
    writer: Option<Sender<Work>>,
) -> Result<Sender<Work>, Error> {
    let (sender, receiver) = channel();
    let (reply, opened) = answer::pair();
    let name = if writer.is_some() { "sqlite-read" } else { "sqlite-write" };
    let thread = move || match Connection::open(&path, clock, writer.is_some()) {
        Ok(mut connection) => {
            reply.send(Ok(()));
            serve(&mut connection, &receiver, &signals, writer.as_ref());
        }
        Err(error) => reply.send(Err(error)),
    };
    thread::Builder::new().name(name.to_owned()).spawn(thread).map_err(|error| {
        Error::Unavailable(Cause { text: "start a thread".to_owned(), source: Some(error.into()) })
    })?;
    opened.await?;
    Ok(sender)
}

/// Works until nobody can ask any more.
fn serve(
    connection: &mut Connection,
    work: &Receiver<Work>,
    signals: &Signals,
    writer: Option<&Sender<Work>>,
) {
    for work in work {
        match work {
            Work::Statement(statement) => match writer {
                Some(writer) if connection.writes(&statement.sql) => {
                    // When the writer is gone, dropping the statement says so.
                    let _ = writer.send(Work::Statement(statement));
                }
                _ => connection.answer(statement),
            },
            Work::Transaction { mode, begun, steps } => {
                transaction(connection, mode, begun, &steps, signals);
            }
        }
    }
}

fn transaction(
    connection: &mut Connection,
    mode: Mode,
    begun: Reply<()>,
    steps: &Receiver<Step>,
    signals: &Signals,
) {
    if let Err(error) = connection.begin(mode) {
        connection.rollback(mode);
        return begun.send(Err(error));
    }
    begun.send(Ok(()));
    for step in steps {
        match step {
            Step::Statement(statement) => connection.answer(statement),
            Step::Commit(reply, topics) => {
                let committed = connection.commit(mode);
                // Here and not where the commit was asked for: that future may be gone.
                if committed.is_ok() {
                    signals.wake(&topics);
                }
                return reply.send(committed);
            }
            Step::Rollback(reply) => {
                connection.rollback(mode);
                return reply.send(Ok(()));
            }
        }
    }
    connection.rollback(mode);
}
