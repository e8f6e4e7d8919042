//! How runs go to rest, and how they are woken.
//!
//! **No signal is lost**: a run rests only when nothing has happened that its worker has not seen.

use std::time::Duration;

use domain::{Ids, RunId, ScopeDigest};
use messages::runs::{Reason, RunReady};

use crate::lease::Lease;
use crate::outbox::{self, Outgoing};
use crate::{Error, Pool, Tx};

/// How a resting run comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// By a message that the queue holds back this long (at most 15 minutes).
    After(Duration),
    /// By whoever gives the signal; the sweeper looks after this long at the latest.
    OnSignal { at_latest: Duration },
}

/// Whether a run went to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    Resting(Option<Outgoing>),
    /// Something happened since `seen`: the lease is still held, look again.
    Signalled(i64),
}

/// P9: gives the lease back without ending the run, unless a signal came that the worker has not
/// seen. So a wake-up that arrives while the worker goes to rest is never lost. A late heartbeat of
/// the resting worker cannot take the lease back: the fence has moved on.
pub async fn rest(
    pool: &Pool,
    ids: &Ids,
    lease: &Lease,
    seen: i64,
    wake: Wake,
) -> Result<Rest, Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let wait = match wake {
        Wake::After(wait) => wait,
        Wake::OnSignal { at_latest } => at_latest,
    };
    let changed = tx
        .execute(
            "-- store::runs::rest
             update runs set fence = fence + 1, lease_owner = null, lease_until = null,
                             crash_count = 0, wake_at = seconds_from_now($5)
              where run_id = $1 and scope_digest = $2 and fence = $3 and signal = $4",
            &[
                lease.run.into(),
                lease.scope.as_str().into(),
                lease.fence.into(),
                seen.into(),
                wait.as_secs_f64().into(),
            ],
        )
        .await?;
    if changed == 0 {
        let row = tx
            .query_opt(
                "-- store::runs::signal_now
                 select signal from runs where run_id = $1 and scope_digest = $2",
                &[lease.run.into(), lease.scope.as_str().into()],
            )
            .await?
            .ok_or(Error::LeaseLost)?;
        return Ok(Rest::Signalled(row.get("signal")?));
    }
    let outgoing = match wake {
        Wake::After(delay) => {
            let ready = RunReady::new(lease.run, lease.scope.clone(), Reason::Due);
            Some(outbox::put(&mut tx, ids, &lease.scope, &ready, delay).await?)
        }
        Wake::OnSignal { .. } => None,
    };
    tx.commit().await?;
    Ok(Rest::Resting(outgoing))
}

/// Tells a live run that something it may wait for has happened. In the transaction of what
/// happened; `None` when the run has ended.
pub(crate) async fn signal(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    run: RunId,
    reason: Reason,
) -> Result<Option<Outgoing>, Error> {
    let changed = tx
        .execute(
            "-- store::runs::signal
             update runs set signal = signal + 1, wake_at = statement_timestamp()
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
    if changed == 0 {
        return Ok(None);
    }
    let ready = RunReady::new(run, scope.clone(), reason);
    outbox::put(tx, ids, scope, &ready, Duration::ZERO).await.map(Some)
}
