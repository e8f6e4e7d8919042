//! The tools step: every open call gets its result.
//!
//! **Results become history as they finish, and the outcome is as if the calls had run one after
//! the other in the model's order.** Independent calls run at the same time, within this one
//! future. What cannot be finished in this invocation stays open, and the run rests until there is
//! news.

use std::sync::atomic::AtomicBool;

use agent::schedule::{self, CallState as Turn, MAX_PARALLEL};
use agent::{ToolRequest, tools};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use store::calls::{self, StoredCall};
use store::runs::{self, Rest, Wake};

use crate::log::Log;
use crate::sandbox::Acquired;
use crate::tools::{Job, Wait, needs_sandbox};
use crate::worker::{Stop, Worker};

/// Gives the open calls their results, as far as it goes. `seen` is the run's signal as it was
/// before the log was read. When this returns, the log says what comes next.
pub(crate) async fn run(worker: &Worker<'_>, log: &Log, seen: i64) -> Result<(), Stop> {
    let time = &worker.on.settings.time;
    if worker.budget.remaining() < time.tools_least {
        return Err(Stop::YIELD);
    }
    let open = calls::open(&worker.on.pool, worker.lease.scope(), worker.run()).await?;
    let (calls, unreadable) = understand(open);
    for (call, error) in unreadable {
        worker.finish_call(&call, error.into()).await?;
    }
    let sandbox = if calls.iter().any(|(_, request)| needs_sandbox(request)) {
        match worker.acquire_sandbox().await? {
            Acquired::Ready(sandbox) => Some(sandbox),
            Acquired::Later => None,
            Acquired::Failed => {
                return Err(Stop::Fail(domain::FailureCode::SandboxUnavailable));
            }
        }
    } else {
        None
    };
    let jobs = calls.iter().map(|(call, request)| Job {
        worker,
        log,
        call,
        request,
        sandbox: sandbox.clone(),
        begun: AtomicBool::new(false),
    });
    let jobs: Vec<_> = jobs.collect();
    let waits = tokio::select! {
        biased;
        why = worker.interrupted() => return Err(Stop::Interrupted(why)),
        waits = run_all(&jobs) => waits?,
    };
    rest(worker, &waits, seen).await
}

type Unreadable = (StoredCall, agent::ToolError);

/// The calls with what they ask for. They were checked before they were planned; one that this
/// version cannot read any more is answered, not run.
fn understand(open: Vec<StoredCall>) -> (Vec<(StoredCall, ToolRequest)>, Vec<Unreadable>) {
    let (mut calls, mut unreadable) = (Vec::new(), Vec::new());
    for call in open {
        let args = serde_json::from_str(&call.args).unwrap_or_default();
        match tools::parse(&call.tool, &args) {
            Ok(request) => calls.push((call, request)),
            Err(error) => unreadable.push((call, error)),
        }
    }
    (calls, unreadable)
}

/// Runs the calls, each as soon as it may begin, and says what those wait for that have no result.
async fn run_all(jobs: &[Job<'_>]) -> Result<Vec<Wait>, Stop> {
    let mut turns = vec![Turn::Waiting; jobs.len()];
    let mut running = FuturesUnordered::new();
    let mut waits = Vec::new();
    loop {
        let states: Vec<_> =
            jobs.iter().zip(&turns).map(|(job, turn)| (job.request, *turn)).collect();
        for position in schedule::startable(&states, MAX_PARALLEL) {
            if let (Some(job), Some(turn)) = (jobs.get(position), turns.get_mut(position)) {
                *turn = Turn::Running;
                running.push(async move { (position, job.run().await) });
            }
        }
        let Some((position, end)) = running.next().await else { return Ok(waits) };
        match end? {
            None => {
                if let Some(turn) = turns.get_mut(position) {
                    *turn = Turn::Done;
                }
            }
            // It stays in the way of those that must come after it.
            Some(wait) => waits.push(wait),
        }
    }
}

/// When calls are left without a result: gives the run back until there is news of them, unless the
/// news came meanwhile.
async fn rest(worker: &Worker<'_>, waits: &[Wait], seen: i64) -> Result<(), Stop> {
    let commands = waits.iter().filter_map(|wait| match wait {
        Wait::Command(after) => Some(*after),
        Wait::Signal => None,
    });
    if let Some(after) = commands.min() {
        return Err(Stop::Yield(after));
    }
    if waits.is_empty() {
        return Ok(());
    }
    let wake = Wake::OnSignal { at_latest: worker.on.settings.time.signal };
    match runs::rest(&worker.on.pool, &worker.on.ids, &worker.lease, seen, wake).await? {
        Rest::Resting(outgoing) => {
            if let Some(outgoing) = outgoing {
                worker.send(outgoing).await;
            }
            Err(Stop::Rested)
        }
        Rest::Signalled(_) => Ok(()),
    }
}
