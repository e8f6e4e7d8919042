//! Brings the schema up to date. The files of `migrations/` are part of the program.
//!
//! **Forward only: a file that was applied never changes, and is applied once, whoever else migrates
//! at the same moment.** Each file is one transaction, in the order of the names. One whose first
//! line is `-- outside-transaction` runs outside of it and may be interrupted, so the file as a whole
//! must be repeatable: `drop index concurrently if exists`, then `create index concurrently`.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use crate::driver::{Engine, Pool, Tx, dialect};
use crate::error::Error;

/// The first line of a file whose statements cannot run in a transaction.
const OUTSIDE: &str = "-- outside-transaction";

/// Keeps other migrating processes away; reading stays possible.
const LOCK: &str = "lock table schema_migrations in share row exclusive mode nowait";

/// How long to wait for another process that migrates.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often to look whether it is done.
const LOOK: Duration = Duration::from_millis(50);

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// The file's name without `.sql`; they are applied in this order.
    pub name: &'static str,
    pub sql: &'static str,
}

/// The names of the migrations that this call applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied(pub Vec<&'static str>);

/// Why a migration was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("it was applied with another text")]
    Changed,
    #[error("a later one was applied before it")]
    OutOfOrder,
}

/// Applies what is missing of the program's own migrations. May be repeated, and run in several
/// processes at once.
pub async fn migrate(pool: &Pool) -> Result<Applied, Error> {
    apply(pool, MIGRATIONS).await
}

/// Applies what is missing of `migrations`, which are sorted by name.
pub async fn apply(pool: &Pool, migrations: &[Migration]) -> Result<Applied, Error> {
    prepare(pool).await.map_err(|error| failed("schema_migrations", error))?;
    let mut applied = Applied::default();
    for migration in migrations {
        if apply_one(pool, migration).await? {
            applied.0.push(migration.name);
        }
    }
    Ok(applied)
}

fn failed(name: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Migration { name: name.to_owned(), source: error.into() }
}

/// The functions that statements and SQLite's driver have in common, for PostgreSQL. They are made
/// anew by each [`migrate`], so that a database of before has those of today.
const FUNCTIONS: [&str; 4] = [
    // Stable, not volatile, so that an index serves a comparison with it.
    "create or replace function seconds_from_now(seconds double precision)
     returns timestamptz language sql stable
     as 'select statement_timestamp() + make_interval(secs => seconds)'",
    "create or replace function this_transaction()
     returns bigint language sql stable
     as 'select pg_current_xact_id()::text::bigint'",
    "create or replace function this_snapshot()
     returns text language sql stable parallel safe
     as 'select pg_current_snapshot()::text'",
    // A row that is read was written by a transaction that has ended. If its number says otherwise,
    // it is the number of another cluster, from which the rows were brought here.
    "create or replace function seen_in(snapshot text, transaction bigint)
     returns boolean language sql stable parallel safe
     as 'select transaction is null
             or pg_visible_in_snapshot(transaction::text::xid8, snapshot::pg_snapshot)
             or not pg_visible_in_snapshot(transaction::text::xid8, pg_current_snapshot())'",
];

/// Makes the table of what was applied and, on PostgreSQL, the functions that SQLite has built in.
async fn prepare(pool: &Pool) -> Result<(), Error> {
    let table = "create table if not exists schema_migrations (
                     name text primary key,
                     checksum text not null,
                     applied_at timestamptz not null)";
    if let Err(error) = pool.execute(table, &[]).await {
        // `if not exists` does not help when another process makes it at the same moment.
        let there = pool.query("select name from schema_migrations", &[]).await;
        there.map_err(|_| error)?;
    }
    if pool.engine() == Engine::Postgres {
        let mut tx = locked(pool).await?;
        for function in FUNCTIONS {
            tx.execute(function, &[]).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

/// A transaction that no other migrating process shares its time with.
///
/// Who has to wait does so outside of a transaction: on PostgreSQL even a waiting one can hold a
/// snapshot, and concurrent index builds, which may be what is waited for, wait for every snapshot.
async fn locked(pool: &Pool) -> Result<Tx, Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        match try_locked(pool).await {
            Err(Error::Busy(_)) if Instant::now() < end => sleep(LOOK).await,
            other => return other,
        }
    }
}

async fn try_locked(pool: &Pool) -> Result<Tx, Error> {
    let mut tx = pool.begin().await?;
    if pool.engine() == Engine::Postgres {
        tx.execute(LOCK, &[]).await?;
    }
    Ok(tx)
}

/// Applies one migration unless that has been done, and says whether it did.
async fn apply_one(pool: &Pool, migration: &Migration) -> Result<bool, Error> {
    let Migration { name, sql } = *migration;
    let database = |error| failed(name, error);
    let checksum = hex::encode(Sha256::digest(sql));
    let mut tx = locked(pool).await.map_err(database)?;
    let known = tx
        .query("select name, checksum from schema_migrations where name >= $1", &[name.into()])
        .await
        .map_err(database)?;
    for row in &known {
        if row.get::<String>("name").map_err(database)? == name {
            let same = row.get::<String>("checksum").map_err(database)? == checksum;
            return if same { Ok(false) } else { Err(failed(name, Refused::Changed)) };
        }
    }
    if !known.is_empty() {
        return Err(failed(name, Refused::OutOfOrder));
    }
    let statements = dialect::statements(sql);
    if pool.engine() == Engine::Postgres && sql.starts_with(OUTSIDE) {
        // Our transaction keeps the others away meanwhile. Its last read holds a snapshot, for which
        // concurrent index builds would wait, until another statement takes its place.
        tx.execute(LOCK, &[]).await.map_err(database)?;
        let other = pool.another().await.map_err(database)?;
        for statement in statements {
            other.execute(&statement, &[]).await.map_err(database)?;
        }
    } else {
        for statement in statements {
            tx.execute(&statement, &[]).await.map_err(database)?;
        }
    }
    tx.execute(
        "insert into schema_migrations (name, checksum, applied_at)
         values ($1, $2, statement_timestamp())",
        &[name.into(), checksum.into()],
    )
    .await
    .map_err(database)?;
    tx.commit().await.map_err(database)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
