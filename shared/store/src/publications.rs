//! Publications: asked for under the run's fence, decided once.
//!
//! ```text
//! requested ──activate──► active      the bytes are verified and count
//!     └──────fail───────► failed      nothing was announced, and never will be
//! ```
//!
//! **A row leaves `requested` once, and only while its run is live and the workspace is still held
//! by the sandbox that was recorded when the row was made.** The run's fence is no part of that: a
//! rest or a take-over in between must not kill a rightful publication (decisions.md §9).

mod deciding;
mod reading;

use std::time::Duration;

use domain::{CallId, Ids, InstanceId, PublicationId};
use messages::publications::PublicationRequested;

use crate::lease::Lease;
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Row, calls};

pub use deciding::{Decision, Loaded, Requested, Verified, activate, fail, load};
pub use reading::{Outcome, Published, Summary, find, of_call, outcome};

/// What the model asked to publish, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    pub call: &'a CallId,
    /// Relative to the workspace's root.
    pub path: &'a str,
    pub media_type: &'a str,
    pub filename: &'a str,
    pub instance: InstanceId,
    pub generation: i64,
}

/// P5 of `publish_artifact`: marks the call as begun, makes its publication and asks the publisher,
/// in one transaction. Made once per (run, call): a repetition returns the same id and asks again.
pub async fn request(
    pool: &Pool,
    ids: &Ids,
    lease: &Lease,
    request: &Request<'_>,
) -> Result<(PublicationId, Outgoing), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    calls::begin(&mut tx, lease, request.call, None).await?;
    tx.execute(
        "-- store::publications::request
         insert into publications (publication_id, scope_digest, session_id, task_id, run_id,
                                   call_id, state, path, media_type, filename, instance_id,
                                   generation, created_at)
         values ($1, $2, $3, $4, $5, $6, 'requested', $7, $8, $9, $10, $11, statement_timestamp())
         on conflict (run_id, call_id) do nothing",
        &[
            ids.publication().into(),
            lease.scope.as_str().into(),
            lease.session.into(),
            lease.task.into(),
            lease.run.into(),
            request.call.0.as_str().into(),
            request.path.into(),
            request.media_type.into(),
            request.filename.into(),
            request.instance.into(),
            request.generation.into(),
        ],
    )
    .await?;
    let row = tx
        .query_opt(
            "-- store::publications::requested
             select publication_id from publications
              where run_id = $1 and call_id = $2 and scope_digest = $3",
            &[lease.run.into(), request.call.0.as_str().into(), lease.scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let publication = row.get("publication_id")?;
    let message = PublicationRequested::new(publication, lease.scope.clone());
    let outgoing = outbox::put(&mut tx, ids, &lease.scope, &message, Duration::ZERO).await?;
    tx.commit().await?;
    Ok((publication, outgoing))
}

/// Where the bytes of a published file travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Inside the answer.
    Raw,
    /// By a signed address that is made for each answer.
    Url,
}

impl Delivery {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Url => "url",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Requested,
    Active,
    Failed,
}

fn read_state(row: &Row) -> Result<State, Error> {
    let state: String = row.get("state")?;
    match state.as_str() {
        "requested" => Ok(State::Requested),
        "active" => Ok(State::Active),
        "failed" => Ok(State::Failed),
        _ => Err(Error::corrupt("publications", "state", domain::state::UnknownWord)),
    }
}

fn read_delivery(row: &Row) -> Result<Delivery, Error> {
    let delivery: String = row.get("delivery")?;
    match delivery.as_str() {
        "raw" => Ok(Delivery::Raw),
        "url" => Ok(Delivery::Url),
        _ => Err(Error::corrupt("publications", "delivery", domain::state::UnknownWord)),
    }
}
