//! How a worker lets its run go: at rest, ended, or to whoever holds it now.

use std::sync::Arc;
use std::time::Duration;

use domain::FailureCode;
use lambda_kit::chain;
use store::runs::{self, Ending, PlacedEvent, Rest, Wake};
use store::{Error, Lease, events, tasks};

use crate::drive::{Outcome, last_place};
use crate::heartbeat::Interrupt;
use crate::sandbox::{self, Sandbox};
use crate::tools::stop_commands;
use crate::worker::Stop;
use crate::{Orchestrator, answer, ending};

/// How soon a run is looked at again after the database was out of reach.
const AFTER_TROUBLE: Duration = Duration::from_secs(5);

/// Ends the work on a run. An error means that nobody could be told: the lease expires, and the
/// run goes on then.
pub(crate) async fn leave(
    on: &Orchestrator,
    lease: Lease,
    sandbox: Option<Arc<Sandbox>>,
    stop: Stop,
) -> Result<Outcome, Error> {
    let left = match stop {
        Stop::End(last, ending) => {
            let last: Vec<_> = last.into_iter().map(|last| *last).collect();
            finish(on, lease.clone(), &last, &ending).await
        }
        Stop::Fail(code) => fail(on, &lease, sandbox.as_ref(), code).await,
        Stop::Yield(after) => rest(on, &lease, after).await,
        Stop::Rested => return Ok(Outcome::Yield),
        Stop::Interrupted(Interrupt::OutOfTime) => rest(on, &lease, Duration::ZERO).await,
        Stop::Interrupted(Interrupt::Overdue) => {
            fail(on, &lease, sandbox.as_ref(), FailureCode::ExecutionTimeout).await
        }
        Stop::Interrupted(Interrupt::LostLease) => Err(Error::LeaseLost),
        Stop::Store(error) if error.is_retryable() => {
            tracing::warn!(run.id = %lease.run(), "{} rests: {}", lease.run(), chain(&error));
            rest(on, &lease, AFTER_TROUBLE).await
        }
        Stop::Store(error) => {
            tracing::error!(run.id = %lease.run(), "{} fails: {}", lease.run(), chain(&error));
            fail(on, &lease, sandbox.as_ref(), FailureCode::Internal).await
        }
    };
    match left {
        Err(Error::LeaseLost) => {
            after_loss(on, &lease, sandbox.as_ref()).await;
            Ok(Outcome::LostLease)
        }
        left => left,
    }
}

/// P9: the run goes on after `wait`, whoever takes it.
async fn rest(on: &Orchestrator, lease: &Lease, wait: Duration) -> Result<Outcome, Error> {
    let mut seen = runs::look(&on.pool, lease).await?.signal;
    loop {
        match runs::rest(&on.pool, &on.ids, lease, seen, Wake::After(wait)).await? {
            Rest::Resting(outgoing) => {
                if let Some(outgoing) = outgoing {
                    dispatch::send(&on.pool, &*on.queues, outgoing).await;
                }
                return Ok(Outcome::Yield);
            }
            // Whatever it was about is found by the next worker.
            Rest::Signalled(signal) => seen = signal,
        }
    }
}

/// P10 for a run that did not succeed. What clients saw of its answer stays, and is closed.
async fn fail(
    on: &Orchestrator,
    lease: &Lease,
    present: Option<&Arc<Sandbox>>,
    code: FailureCode,
) -> Result<Outcome, Error> {
    let progress = runs::look(&on.pool, lease).await?;
    let sandbox = match present {
        Some(sandbox) => Some(Arc::clone(sandbox)),
        None => sandbox::held_now(on, lease).await?,
    };
    if let Some(sandbox) = sandbox {
        stop_commands(on, lease, &sandbox).await;
    }
    let mut last = Vec::new();
    if events::answer_shown(&on.pool, lease).await?
        && let Some(body) = answer::last(lease.task(), true, false)
    {
        last.push(PlacedEvent { place: last_place(progress.next_step), body });
    }
    finish(on, lease.clone(), &last, &ending::failed(code)).await
}

async fn finish(
    on: &Orchestrator,
    lease: Lease,
    last: &[PlacedEvent],
    ending: &Ending,
) -> Result<Outcome, Error> {
    runs::finish(&on.pool, lease, last, ending).await?;
    Ok(match ending {
        Ending::Completed
        | Ending::Concluded { .. }
        | Ending::Replied { .. }
        | Ending::Rejected { .. }
        | Ending::Failed { .. } => Outcome::Terminal,
        Ending::InputRequired { .. } | Ending::AuthRequired { .. } => Outcome::Paused,
    })
}

/// The run is not ours any more. If its task is over, nobody else ends the commands that it left
/// running; if another worker has it, they are that one's.
async fn after_loss(on: &Orchestrator, lease: &Lease, sandbox: Option<&Arc<Sandbox>>) {
    tracing::info!(run.id = %lease.run(), "{} is not ours any more", lease.run());
    let Some(sandbox) = sandbox else { return };
    match tasks::state(&on.pool, lease.scope(), lease.task()).await {
        Ok(Some(state)) if state.is_terminal() => stop_commands(on, lease, sandbox).await,
        Ok(_) => {}
        Err(error) => tracing::warn!("commands may run on: {}", chain(&error)),
    }
}
