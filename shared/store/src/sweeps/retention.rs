//! What was kept long enough.
//!
//! **Nothing goes that anybody may still be told**: a webhook only after its task has ended and
//! everything was told or given up.

use std::time::Duration;

use crate::{Error, Pool};

/// Forgets up to `limit` webhooks whose task ended `kept` ago, those first that ended first; one that
/// was registered, or replaced, after the end is kept from then on. Returns how many; those that
/// somebody else is just forgetting are not among them.
pub async fn forget_webhooks(pool: &Pool, kept: Duration, limit: i64) -> Result<u64, Error> {
    pool.execute(
        "-- store::sweeps::forget_webhooks
         delete from webhooks where webhook_id in (
             select webhook_id from webhooks
              where ended_at <= seconds_from_now($1) and sent_sequence = wanted_sequence
                and lease_until is null and due_at is null
              order by ended_at limit $2 for update skip locked)",
        &[(-kept.as_secs_f64()).into(), limit.into()],
    )
    .await
}

/// Forgets up to `limit` updates that were given up `kept` ago, the oldest first. Returns how many.
pub async fn forget_dead_letters(pool: &Pool, kept: Duration, limit: i64) -> Result<u64, Error> {
    pool.execute(
        "-- store::sweeps::forget_dead_letters
         delete from webhook_dead_letters where (webhook_id, sequence) in (
             select webhook_id, sequence from webhook_dead_letters
              where given_up_at <= seconds_from_now($1)
              order by given_up_at limit $2 for update skip locked)",
        &[(-kept.as_secs_f64()).into(), limit.into()],
    )
    .await
}
