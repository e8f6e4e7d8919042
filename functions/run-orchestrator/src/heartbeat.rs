//! What happens beside the work: the lease is kept, and someone watches the clock and the run.
//!
//! **It runs in the same future as the work and ends with it**: nothing is left behind when the
//! handler returns or is dropped.

use std::convert::Infallible;
use std::time::Duration;

use lambda_kit::chain;
use store::{runs, sandboxes};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::worker::Worker;

/// Why work that is under way must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The run is another's, or has ended. Nothing may be written any more.
    LostLease,
    /// The run's own deadline has passed.
    Overdue,
    /// The invocation's time is nearly over.
    OutOfTime,
}

/// Every third beat tells the sandbox itself.
const BEATS_PER_SANDBOX_LEASE: u32 = 3;
/// A sandbox that does not answer must not keep the run's own lease waiting.
const SANDBOX_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Watches over the work for ever; raises the first reason to stop and keeps still after it.
pub(crate) async fn watch_over(
    worker: &Worker<'_>,
    raise: &watch::Sender<Option<Interrupt>>,
) -> Infallible {
    let guard = worker.on.settings.time.guard;
    let why = tokio::select! {
        why = keep_lease(worker) => why,
        () = tokio::time::sleep_until(worker.deadline) => Interrupt::Overdue,
        () = worker.budget.down_to(guard) => Interrupt::OutOfTime,
    };
    raise.send_replace(Some(why));
    std::future::pending().await
}

/// Renews the lease, looks for a cancellation in between, and ends when one of them says stop.
async fn keep_lease(worker: &Worker<'_>) -> Interrupt {
    let time = &worker.on.settings.time;
    let mut beat = ticks(time.heartbeat);
    let mut look = ticks(time.look);
    let mut known_good = Instant::now();
    let mut beats: u32 = 0;
    loop {
        let answer = tokio::select! {
            _ = beat.tick() => {
                beats += 1;
                let began = Instant::now();
                let answer = renew(worker, beats).await;
                if answer.is_ok() {
                    known_good = began;
                }
                answer
            }
            _ = look.tick() => runs::look(&worker.on.pool, &worker.lease).await.map(|_| false),
        };
        match answer {
            Ok(false) => {}
            Ok(true) => return Interrupt::Overdue,
            Err(store::Error::LeaseLost) => return Interrupt::LostLease,
            Err(error) => {
                tracing::warn!("the lease will be renewed later: {}", chain(&error));
            }
        }
        if known_good.elapsed() >= time.lease {
            return Interrupt::LostLease;
        }
    }
}

/// One beat: the run's lease, and that of the sandbox it holds. Says whether the run is overdue.
async fn renew(worker: &Worker<'_>, beats: u32) -> Result<bool, store::Error> {
    let beat = runs::heartbeat(&worker.on.pool, &worker.lease).await?;
    if let Some(sandbox) = worker.sandbox.present() {
        sandboxes::renew(&worker.on.pool, &worker.lease).await?;
        if beats.is_multiple_of(BEATS_PER_SANDBOX_LEASE) {
            let told = sandbox.renew(worker.on.clock.now());
            match tokio::time::timeout(SANDBOX_ANSWERS_WITHIN, told).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!("the sandbox was not told of its lease: {}", chain(&error));
                }
                Err(_) => tracing::warn!("the sandbox was not told of its lease: no answer"),
            }
        }
    }
    Ok(beat.overdue)
}

fn ticks(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
