//! Webhooks whose message was lost, or whose worker died.

use std::time::Duration;

use domain::{Ids, ScopeDigest, WebhookId};
use messages::notifications::WebhookReady;

use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Row};

/// A webhook that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentWebhook {
    pub webhook: WebhookId,
    pub scope: ScopeDigest,
}

/// Up to `limit` webhooks that should have been told something `grace` ago, or whose worker did not
/// renew its lease.
pub async fn silent_webhooks(
    pool: &Pool,
    grace: Duration,
    limit: i64,
) -> Result<Vec<SilentWebhook>, Error> {
    let rows = pool
        .query(
            "-- store::sweeps::silent_webhooks
             select webhook_id, scope_digest from webhooks
              where due_at <= seconds_from_now($1) or lease_until < statement_timestamp()
              limit $2",
            &[(-grace.as_secs_f64()).into(), limit.into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// Takes a webhook from a worker that is gone and asks for another one, once per `grace`. `None`
/// when somebody is at it, or nothing is to be told.
pub async fn remind_webhook(
    pool: &Pool,
    ids: &Ids,
    silent: &SilentWebhook,
    grace: Duration,
) -> Result<Option<Outgoing>, Error> {
    let SilentWebhook { webhook, scope } = silent;
    let mut tx = pool.begin().await?;
    let row = tx
        .query_opt(
            "-- store::sweeps::lock_silent_webhook
             select case when sent_sequence < wanted_sequence then 1 else 0 end as wanted
               from webhooks
              where webhook_id = $1 and scope_digest = $2
                and (due_at <= seconds_from_now($3) or lease_until < statement_timestamp())
                for update skip locked",
            &[(*webhook).into(), scope.as_str().into(), (-grace.as_secs_f64()).into()],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let wanted: i32 = row.get("wanted")?;
    tx.execute(
        "-- store::sweeps::remind_webhook
         update webhooks
            set fence = fence + 1, lease_owner = null, lease_until = null,
                due_at = case when sent_sequence < wanted_sequence then statement_timestamp() end
          where webhook_id = $1 and scope_digest = $2",
        &[(*webhook).into(), scope.as_str().into()],
    )
    .await?;
    let outgoing = if wanted == 1 {
        let ready = WebhookReady::new(*webhook, scope.clone());
        Some(outbox::put(&mut tx, ids, scope, &ready, Duration::ZERO).await?)
    } else {
        None
    };
    tx.commit().await?;
    Ok(outgoing)
}

fn read(row: &Row) -> Result<SilentWebhook, Error> {
    let scope: String = row.get("scope_digest")?;
    let scope = scope.try_into().map_err(|e| Error::corrupt("webhooks", "scope_digest", e))?;
    Ok(SilentWebhook { webhook: row.get("webhook_id")?, scope })
}
