//! The loop: one claimed run, driven until it ends, waits, or must go on elsewhere.
//!
//! ```text
//! claimed ─► look ─► model step ─┐
//!              ▲ ▲               ├─► Terminal    it has ended
//!              │ └── tools step ◄┘   Yield       it goes on in a later invocation
//!              └────────┘            LostLease   it is another's, or was cancelled
//! ```
//!
//! **Every decision is made on what the database holds, read anew before each step**: a worker that
//! takes over decides as the one that died would have.

use std::collections::BTreeSet;
use std::convert::Infallible;

use agent::dangling;
use agent::route::{self, Next, Outcome as End};
use domain::limits::MAX_CRASHES;
use domain::{AgentDefinition, FailureCode};
use lambda_kit::chain;
use lambda_kit::deadline::Budget;
use sha2::{Digest as _, Sha256};
use store::events::Place;
use store::runs::{self, Claimed, Ending, PlacedEvent, Progress};
use store::steps;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::log::Log;
use crate::sandbox::Slot;
use crate::worker::{Stop, Worker, loop_message};
use crate::{Orchestrator, answer, ending, heartbeat, leave, model_step, tools_step};

/// How an invocation left a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on later: a message, a signal or the sweeper brings it back.
    Yield,
    /// It waits for its client.
    Paused,
    /// It has ended.
    Terminal,
    /// It is another worker's, or its client cancelled it. Nothing was written since.
    LostLease,
}

impl Orchestrator {
    /// Drives a claimed run as far as it goes within `budget`.
    ///
    /// Safe to drop at any moment, and safe to fail: the run then goes on once its lease has
    /// expired, exactly where the database says it stands.
    pub async fn drive(&self, claimed: Claimed, budget: Budget) -> Result<Outcome, store::Error> {
        let Claimed { lease, manifest, manifest_digest, crash_count, time_left, .. } = claimed;
        let agent = match definition(&manifest, &manifest_digest) {
            _ if crash_count >= MAX_CRASHES => Err(FailureCode::Poisoned),
            _ if time_left.is_zero() => Err(FailureCode::ExecutionTimeout),
            Some(agent) => Ok(agent),
            None => Err(FailureCode::ManifestMismatch),
        };
        let agent = match agent {
            Ok(agent) => agent,
            Err(code) => return leave::leave(self, lease, None, Stop::Fail(code)).await,
        };
        let (raise, interrupt) = watch::channel(None);
        let worker = Worker {
            on: self,
            lease,
            agent,
            budget,
            deadline: Instant::now() + time_left,
            sandbox: Slot::default(),
            interrupt,
        };
        let stop = tokio::select! {
            biased;
            stop = steps(&worker) => match stop {
                Err(stop) => stop,
                Ok(never) => match never {},
            },
            never = heartbeat::watch_over(&worker, &raise) => match never {},
        };
        let sandbox = worker.sandbox.present();
        leave::leave(self, worker.lease, sandbox, stop).await
    }
}

/// The pinned definition, if it is what was pinned.
fn definition(manifest: &str, digest: &str) -> Option<AgentDefinition> {
    if hex::encode(Sha256::digest(manifest)) != digest {
        return None;
    }
    match serde_json::from_str(manifest) {
        Ok(agent) => Some(agent),
        Err(error) => {
            tracing::error!("a pinned agent definition cannot be read: {}", chain(&error));
            None
        }
    }
}

/// Does one step after the other until there is a reason to stop.
async fn steps(worker: &Worker<'_>) -> Result<Infallible, Stop> {
    let pool = &worker.on.pool;
    let most = worker.on.settings.max_steps_per_invocation;
    let mut done = 0;
    loop {
        worker.check()?;
        // Webhooks hear of the step before.
        dispatch::flush(pool, &*worker.on.queues).await;
        // First the signal, then what it may be about: so a wake-up in between is seen as new.
        let progress = runs::look(pool, &worker.lease).await?;
        let log = Log::read(pool, &worker.lease).await?;
        if progress.next_step == 1 && mend(worker, &log).await? {
            continue;
        }
        let next = route::next(log.messages());
        if let Next::Finish(end) = next {
            return Err(finished(worker, &log, &progress, end));
        }
        if most > 0 && done >= most {
            return Err(Stop::YIELD);
        }
        done += 1;
        match next {
            Next::Finish(_) => {}
            Next::Model if log.is_over_tool_limit() => {
                return Err(Stop::Fail(FailureCode::ToolCallLimit));
            }
            Next::Model => model_step::run(worker, &log, &progress).await?,
            Next::Tools(_) => tools_step::run(worker, &log, progress.signal).await?,
        }
    }
}

/// P2: answers what earlier runs of the session left open. `true` when there was something.
async fn mend(worker: &Worker<'_>, log: &Log) -> Result<bool, Stop> {
    let patches = dangling::patches(log.messages(), &BTreeSet::new());
    let patches: Vec<_> = patches.iter().map(loop_message).collect();
    steps::patch_dangling(&worker.on.pool, &worker.lease, &patches).await?;
    Ok(!patches.is_empty())
}

fn finished(worker: &Worker<'_>, log: &Log, progress: &Progress, end: End) -> Stop {
    let text = !answer::committed(log.of_task()).is_empty();
    let place = last_place(progress.next_step);
    let last = |other: bool| {
        let last = answer::last(worker.lease.task(), text, other);
        last.map(|body| Box::new(PlacedEvent { place, body }))
    };
    match end {
        End::Completed { truncated: _ } => {
            Stop::End(last(progress.output_artifacts > 0), Ending::Completed)
        }
        End::Said(word) => {
            let ending = ending::said(word);
            // The next run goes on with the answer of one that waits for its client.
            let waits =
                matches!(ending, Ending::InputRequired { .. } | Ending::AuthRequired { .. });
            Stop::End(if waits { None } else { last(true) }, ending)
        }
        End::Failed(code) => Stop::Fail(code),
    }
}

/// The place of a run's last word: in the step that never was.
pub(crate) const fn last_place(next_step: i32) -> Place {
    Place { step: next_step, attempt: 0, ordinal: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_was_tampered_with_is_not_used() {
        let manifest = r#"{"name":"a","model":{"provider":"demo"}}"#;
        let digest = hex::encode(Sha256::digest(manifest));
        assert!(definition(manifest, &digest).is_some());
        assert!(definition(&manifest.replace("demo", "x"), &digest).is_none());
        let unknown = manifest.replace("model", "models");
        assert!(definition(&unknown, &hex::encode(Sha256::digest(&unknown))).is_none());
    }
}
