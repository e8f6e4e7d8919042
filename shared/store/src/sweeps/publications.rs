//! Publications whose message was lost.

use std::time::Duration;

use domain::{Ids, PublicationId, RunState, ScopeDigest, Timestamp};
use messages::publications::PublicationRequested;

use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Row};

/// A publication that nobody has decided for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub publication: PublicationId,
    pub scope: ScopeDigest,
    /// Whether its run still waits for it.
    pub wanted: bool,
    pub age: Duration,
}

/// Up to `limit` publications for which the publisher was last asked `since` ago, or earlier; the
/// oldest first.
pub async fn waiting(pool: &Pool, since: Duration, limit: i64) -> Result<Vec<Waiting>, Error> {
    let rows = pool
        .query(
            "-- store::sweeps::waiting
             select p.publication_id, p.scope_digest, p.created_at, r.state,
                    statement_timestamp() as at
               from publications p join runs r on r.run_id = p.run_id
              where p.state = 'requested'
                and coalesce(p.asked_at, p.created_at) <= seconds_from_now($1)
              order by p.created_at limit $2",
            &[(-since.as_secs_f64()).into(), limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// Asks the publisher again, once per `since`. `None` when it was decided or asked for meanwhile.
pub async fn ask_again(
    pool: &Pool,
    ids: &Ids,
    waiting: &Waiting,
    since: Duration,
) -> Result<Option<Outgoing>, Error> {
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::sweeps::lock_waiting
             select publication_id from publications
              where publication_id = $1 and scope_digest = $2 and state = 'requested'
                and coalesce(asked_at, created_at) <= seconds_from_now($3)
                for update skip locked",
            &[
                waiting.publication.into(),
                waiting.scope.as_str().into(),
                (-since.as_secs_f64()).into(),
            ],
        )
        .await?;
    if row.is_none() {
        return Ok(None);
    }
    tx.execute(
        "-- store::sweeps::asked
         update publications set asked_at = statement_timestamp()
          where publication_id = $1 and scope_digest = $2",
        &[waiting.publication.into(), waiting.scope.as_str().into()],
    )
    .await?;
    let message = PublicationRequested::new(waiting.publication, waiting.scope.clone());
    let outgoing = outbox::put(&mut tx, ids, &waiting.scope, &message, Duration::ZERO).await?;
    tx.commit().await?;
    Ok(Some(outgoing))
}

fn read(row: &Row) -> Result<Waiting, Error> {
    let scope: String = row.get("scope_digest")?;
    let scope = scope.try_into().map_err(|e| Error::corrupt("publications", "scope_digest", e))?;
    let state: String = row.get("state")?;
    let state: RunState = state.parse().map_err(|e| Error::corrupt("runs", "state", e))?;
    let created: Timestamp = row.get("created_at")?;
    let at: Timestamp = row.get("at")?;
    let age = u64::try_from(at.as_micros() - created.as_micros()).unwrap_or(0);
    Ok(Waiting {
        publication: row.get("publication_id")?,
        scope,
        wanted: state.is_live(),
        age: Duration::from_micros(age),
    })
}
