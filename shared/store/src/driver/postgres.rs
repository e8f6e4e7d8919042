//! The PostgreSQL engine.
//!
//! **A connection goes back to the pool only when the server has answered everything that was sent
//! on it, or when a `rollback` is the only thing still under way.** Any other is closed, and the
//! server rolls back what was open on it.

mod cell;
mod failure;
#[cfg(feature = "postgres-tls")]
mod tls;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, RecyclingMethod, Runtime,
};
use futures_util::TryStreamExt as _;
use futures_util::future::maybe_done;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};

use super::{Mode, Outcome, Row, Value};
use crate::error::{Cause, Error, InvalidUrl};
use failure::{failure, pool_failure};

/// How long a new connection may take, with TLS and log-in.
const CONNECT: Duration = Duration::from_secs(10);
/// How long to wait for one of the pool's connections: far above what any transaction takes, so
/// that who waits longer is told instead of hanging.
const WAIT: Duration = Duration::from_secs(30);
/// A connection that has rested for so long is asked whether it still lives before it is used: the
/// machine may have been frozen, and proxies close what is idle.
const RESTED: Duration = Duration::from_secs(10);
/// How long that answer may take.
const ALIVE: Duration = Duration::from_secs(1);

pub(super) struct Postgres {
    /// With its password, so it is never printed.
    url: String,
    pool: deadpool_postgres::Pool,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("status", &self.pool.status()).finish_non_exhaustive()
    }
}

impl Postgres {
    pub(super) async fn connect(url: &str, size: usize) -> Result<Self, Error> {
        Self::connect_with(url, size, RESTED).await
    }

    async fn connect_with(url: &str, size: usize, rested: Duration) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match target.tls {
            Tls::Off => Manager::from_config(target.config, NoTls, recycling),
            #[cfg(feature = "postgres-tls")]
            Tls::Verified { roots } => {
                let connector = tls::Connector::new(roots.as_deref())?;
                Manager::from_config(target.config, connector, recycling)
            }
            #[cfg(not(feature = "postgres-tls"))]
            Tls::Verified { .. } => return Err(Error::Url(InvalidUrl::NoTls)),
        };
        let pool = deadpool_postgres::Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(CONNECT))
            .pre_recycle(Hook::async_fn(move |client, metrics| {
                Box::pin(async move {
                    if metrics.last_used() < rested {
                        return Ok(());
                    }
                    match timeout(ALIVE, client.check_connection()).await {
                        Ok(alive) => alive.map_err(HookError::Backend),
                        Err(_) => Err(HookError::message("it does not answer")),
                    }
                })
            }))
            .build()
            .map_err(|error| {
                let text = "make the pool".to_owned();
                Error::Unavailable(Cause { text, source: Some(error.into()) })
            })?;
        let this = Self { url: url.to_owned(), pool };
        drop(this.client().await?);
        Ok(this)
    }

    pub(super) async fn another(&self) -> Result<Self, Error> {
        Self::connect(&self.url, 1).await
    }

    async fn client(&self) -> Result<Client, Error> {
        self.pool.get().await.map_err(pool_failure)
    }

    pub(super) async fn run(&self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        let mut held = Held::new(self.client().await?);
        held.unsettled();
        let result = statement(held.client(), sql, params).await;
        held.settle(result)
    }

    pub(super) async fn begin(&self, mode: Mode) -> Result<Open, Error> {
        let begin = match mode {
            Mode::Write => "begin isolation level read committed, read write",
            Mode::Snapshot => "begin isolation level repeatable read, read only",
        };
        Ok(Open { held: Held::new(self.client().await?), begin, begun: false })
    }
}

/// Runs one statement in one round trip, with the types of its parameters and no name.
async fn statement(
    client: &Client,
    sql: &str,
    params: &[Value],
) -> Result<Outcome, tokio_postgres::Error> {
    let typed = params.iter().map(|value| (value, cell::type_of(value)));
    let mut stream = pin!(client.query_typed_raw(sql, typed).await?);
    let mut rows = Vec::new();
    let mut columns: Option<Arc<[String]>> = None;
    while let Some(row) = stream.try_next().await? {
        let columns = columns.get_or_insert_with(|| {
            row.columns().iter().map(|column| column.name().to_owned()).collect()
        });
        let values = (0..row.len()).map(|index| row.try_get(index)).collect::<Result<_, _>>()?;
        rows.push(Row::new(Arc::clone(columns), values));
    }
    let affected = stream.rows_affected().unwrap_or(0);
    Ok(Outcome { rows, affected })
}

/// Sends every statement before it waits for an answer, and takes all answers, so that none is out
/// afterwards. An error is the first one's: in a transaction it fails those after it.
async fn pipelined(
    client: &Client,
    statements: Vec<(&str, &[Value])>,
) -> Result<Vec<Outcome>, tokio_postgres::Error> {
    let mut sent = Vec::with_capacity(statements.len());
    for (sql, params) in statements {
        let mut asked = Box::pin(maybe_done(statement(client, sql, params)));
        // The first poll sends.
        poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_ready())).await;
        sent.push(asked);
    }
    let mut outcomes = Vec::with_capacity(sent.len());
    let mut failed = None;
    for mut asked in sent {
        asked.as_mut().await;
        match asked.as_mut().take_output().expect("it is done and nobody else takes it") {
            Ok(outcome) => outcomes.push(outcome),
            // Those after one that failed are told only that; all else tells of the connection.
            Err(error) if error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION) => {
                failed = failed.or(Some(error));
            }
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(outcomes), Err)
}

/// A connection that is closed instead of given back when this is dropped while an answer is out.
#[derive(Debug)]
struct Held {
    client: Option<Client>,
    settled: bool,
}

impl Held {
    fn new(client: Client) -> Self {
        Self { client: Some(client), settled: true }
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("the client is taken only when this is dropped")
    }

    fn unsettled(&mut self) {
        self.settled = false;
    }

    /// Takes the answer to what was sent. An error that the server sent is an answer too, unless it
    /// is the server's last word.
    fn settle<T>(&mut self, result: Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        let answered = result.as_ref().err().is_none_or(|error| error.as_db_error().is_some());
        let result = result.map_err(failure);
        self.settled = answered && !matches!(result, Err(Error::Unavailable(_)));
        result
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(client) = self.client.take()
            && !self.settled
        {
            drop(Client::take(client));
        }
    }
}

/// An open transaction.
#[derive(Debug)]
pub(super) struct Open {
    held: Held,
    begin: &'static str,
    /// Whether the server has, or may have, an open transaction.
    begun: bool,
}

impl Open {
    /// Runs one statement. The first one takes `begin` along in its round trip.
    pub(super) async fn run(&mut self, sql: &str, params: &[Value]) -> Result<Outcome, Error> {
        let outcomes = self.together(vec![(sql, params)]).await?;
        Ok(outcomes.into_iter().next().unwrap_or_default())
    }

    /// Runs statements in their order, in one round trip, and `begin` before the first one.
    pub(super) async fn together(
        &mut self,
        mut statements: Vec<(&str, &[Value])>,
    ) -> Result<Vec<Outcome>, Error> {
        self.held.unsettled();
        let begins = !std::mem::replace(&mut self.begun, true);
        if begins {
            statements.insert(0, (self.begin, &[]));
        }
        let result = pipelined(self.held.client(), statements).await;
        Ok(self.held.settle(result)?.split_off(begins.into()))
    }

    pub(super) async fn commit(self) -> Result<(), Error> {
        self.end("commit").await
    }

    pub(super) async fn rollback(self) -> Result<(), Error> {
        self.end("rollback").await
    }

    async fn end(mut self, how: &'static str) -> Result<(), Error> {
        if !self.begun {
            return Ok(());
        }
        self.held.unsettled();
        let result = self.held.client().batch_execute(how).await;
        self.begun = false;
        self.held.settle(result)
    }
}

impl Drop for Open {
    /// Sends `rollback` and does not wait: whoever gets the connection next is served after it.
    fn drop(&mut self) {
        if self.begun && self.held.settled {
            let rollback = pin!(self.held.client().batch_execute("rollback"));
            // The first poll sends; there is nobody to wake.
            let _ = rollback.poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

/// What a URL asks for.
#[derive(Debug)]
struct Target {
    config: Config,
    tls: Tls,
}

#[derive(Debug, PartialEq, Eq)]
enum Tls {
    Off,
    /// The server's certificate is verified against the file of roots, or the system's.
    Verified {
        roots: Option<String>,
    },
}

impl Target {
    fn parse(url: &str) -> Result<Self, Error> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut roots = None;
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) => {
                    let path = percent_encoding::percent_decode_str(path).decode_utf8();
                    let path = path.map_err(|_| Error::Url(InvalidUrl::Parts))?;
                    roots = Some(path.into_owned());
                }
                Some(("sslmode", "verify-full")) => kept.push("sslmode=require"),
                _ => kept.push(pair),
            }
        }
        let bare = format!("{base}?{}", kept.join("&"));
        let mut config: Config = bare.parse().map_err(|_| Error::Url(InvalidUrl::Parts))?;
        let tls = if config.get_ssl_mode() == SslMode::Require {
            Tls::Verified { roots }
        } else {
            config.ssl_mode(SslMode::Disable);
            Tls::Off
        };
        if config.get_application_name().is_none() {
            config.application_name("cognition");
        }
        // A peer that vanished without a word is noticed within half a minute.
        config.keepalives_idle(Duration::from_secs(15));
        config.tcp_user_timeout(Duration::from_secs(30));
        Ok(Self { config, tls })
    }
}

#[cfg(test)]
mod tests;
