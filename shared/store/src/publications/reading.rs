//! What others see of a publication: the run that waits for it, and clients' readers.

use std::collections::HashMap;
use std::fmt::Write as _;

use domain::{ArtifactId, CallId, PublicationFailure, PublicationId, ScopeDigest};

use super::{Delivery, State, read_delivery, read_state};
use crate::{Error, Lease, Pool, Row, Value};

/// Where a publication stands, for the run that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Not decided yet; the run is woken when it is.
    Requested,
    Active(Summary),
    Failed(PublicationFailure),
}

/// What the model is told of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub artifact: ArtifactId,
    pub filename: String,
    pub media_type: String,
    pub size: u64,
    pub sha256: String,
    pub delivery: Delivery,
}

/// The outcome of a publication, or [`Error::NotFound`] when this scope has none of that id.
pub async fn outcome(
    pool: &Pool,
    scope: &ScopeDigest,
    publication: PublicationId,
) -> Result<Outcome, Error> {
    let row = pool
        .query_opt(
            "-- store::publications::outcome
             select state, filename, media_type, size_bytes, sha256, delivery, failure_code
               from publications where publication_id = $1 and scope_digest = $2",
            &[publication.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    Ok(match read_state(&row)? {
        State::Requested => Outcome::Requested,
        State::Active => Outcome::Active(Summary {
            artifact: ArtifactId::from(publication),
            filename: row.get("filename")?,
            media_type: row.get("media_type")?,
            size: row.get("size_bytes")?,
            sha256: row.get("sha256")?,
            delivery: read_delivery(&row)?,
        }),
        State::Failed => {
            let code: String = row.get("failure_code")?;
            let code = code
                .parse()
                .map_err(|source| Error::corrupt("publications", "failure_code", source))?;
            Outcome::Failed(code)
        }
    })
}

/// The publication that a call of the run has asked for already, with its outcome.
pub async fn of_call(
    pool: &Pool,
    lease: &Lease,
    call: &CallId,
) -> Result<Option<(PublicationId, Outcome)>, Error> {
    let row = pool
        .query_opt(
            "-- store::publications::of_call
             select publication_id from publications
              where run_id = $1 and call_id = $2 and scope_digest = $3",
            &[lease.run.into(), call.0.as_str().into(), lease.scope.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let publication = row.get("publication_id")?;
    Ok(Some((publication, outcome(pool, &lease.scope, publication).await?)))
}

/// An active publication as its readers need it. Nothing in it is signed.
#[derive(Clone, PartialEq, Eq)]
pub struct Published {
    pub id: PublicationId,
    pub filename: String,
    pub media_type: String,
    pub size: u64,
    /// In lower-case hex.
    pub sha256: String,
    pub delivery: Delivery,
    /// The bytes, where [`Delivery::Raw`].
    pub inline: Option<Vec<u8>>,
    pub object_key: String,
    pub descriptor_key: String,
    pub descriptor_sha256: String,
}

impl std::fmt::Debug for Published {
    /// Prints neither names nor bytes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Published")
            .field("id", &self.id)
            .field("size", &self.size)
            .field("delivery", &self.delivery)
            .finish_non_exhaustive()
    }
}

/// Ids in one statement.
const CHUNK: usize = 100;

/// The active ones among `ids`, in this exact scope. An id of another scope is simply unknown.
pub async fn find(
    pool: &Pool,
    scope: &ScopeDigest,
    ids: &[PublicationId],
) -> Result<HashMap<PublicationId, Published>, Error> {
    let mut found = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let mut params: Vec<Value> = vec![scope.as_str().into()];
        let mut places = String::new();
        for (index, id) in chunk.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            // Writing to a text cannot fail.
            let _ = write!(places, "{comma}${}", index + 2);
            params.push((*id).into());
        }
        let sql = format!(
            "-- store::publications::find
             select publication_id, filename, media_type, size_bytes, sha256, delivery,
                    inline_bytes, object_key, descriptor_key, descriptor_sha256
               from publications
              where scope_digest = $1 and state = 'active' and publication_id in ({places})"
        );
        for row in pool.query(&sql, &params).await? {
            let published = read(&row)?;
            found.insert(published.id, published);
        }
    }
    Ok(found)
}

fn read(row: &Row) -> Result<Published, Error> {
    Ok(Published {
        id: row.get("publication_id")?,
        filename: row.get("filename")?,
        media_type: row.get("media_type")?,
        size: row.get("size_bytes")?,
        sha256: row.get("sha256")?,
        delivery: read_delivery(row)?,
        inline: row.get("inline_bytes")?,
        object_key: row.get("object_key")?,
        descriptor_key: row.get("descriptor_key")?,
        descriptor_sha256: row.get("descriptor_sha256")?,
    })
}
