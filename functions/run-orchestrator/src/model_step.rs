//! One model step: the model is asked, its words are shown as they come, its answer is committed.
//!
//! **The model may be asked several times for one step, but one answer becomes history.** What an
//! attempt showed before it died is replaced by the next one.

mod commit;
mod voice;

use std::sync::Arc;

use agent::retry::{self, Verdict};
use agent::route::{self, Accept};
use agent::{AssistantTurn, guards, history, tools};
use futures_util::StreamExt as _;
use lambda_kit::chain;
use model::{
    Assembler, CallContext, ErrorClass, ModelError, ModelProvider, ModelRequest, ModelStream,
};
use store::runs::Progress;
use store::{events, steps};
use tokio::time::{Instant, timeout_at};

use crate::answer::{self, Growth};
use crate::heartbeat::Interrupt;
use crate::log::Log;
use crate::worker::{Stop, Worker, unsigned};

use voice::Voice;

/// Why an attempt gave no answer.
enum Broken {
    Model(ModelError),
    Stop(Stop),
}

impl From<ModelError> for Broken {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<Stop> for Broken {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Asks the model until it has answered, and commits the answer. When this returns, the log says
/// what comes next.
pub(crate) async fn run(worker: &Worker<'_>, log: &Log, progress: &Progress) -> Result<(), Stop> {
    let spent = spent(progress);
    guards::before_model(&worker.agent.limits, spent, guards::Outside::default()).map_err(halt)?;
    let target = &worker.agent.model;
    let provider = worker.on.models.find(&target.provider).map_err(|error| {
        tracing::error!(run.id = %worker.run(), "{}: {}", worker.run(), chain(&error));
        Stop::Fail(ErrorClass::Config.failure())
    })?;
    let request = request(worker, log, &*provider);
    let committed = answer::committed(log.of_task());
    let time = &worker.on.settings.time;
    loop {
        let most = worker.budget.less(time.reserve);
        if most < time.model_least {
            return Err(Stop::YIELD);
        }
        let step = progress.next_step;
        let begun =
            steps::begin(&worker.on.pool, &worker.lease, step, &target.provider, &target.model)
                .await;
        let attempt = match begun {
            Ok(attempt) => attempt,
            // It is committed: an earlier commit of ours whose answer got lost.
            Err(store::Error::Conflict) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let stale =
            attempt > 1 && events::shown_in_step(&worker.on.pool, &worker.lease, step).await?;
        let growth = Growth::new(worker.lease.task(), committed.clone(), stale, step, attempt);
        let mut voice = Voice::new(worker, growth, progress);
        let context = CallContext {
            run: worker.run(),
            step: unsigned(step),
            attempt: unsigned(attempt),
            timeout: most.min(time.model_most),
        };
        let said = speak(worker, &provider, request.clone(), context, &mut voice).await;
        match said {
            Ok(turn) => match route::accept(&turn, context.attempt) {
                Accept::Commit => {
                    return commit::run(worker, log, spent, voice, turn, context).await;
                }
                Accept::Repeat => {}
            },
            Err(Broken::Stop(stop)) => {
                // What was said stays seen; only a run that is not ours any more keeps silent.
                if !matches!(stop, Stop::Interrupted(Interrupt::LostLease)) {
                    voice.flush().await?;
                }
                return Err(stop);
            }
            Err(Broken::Model(error)) => retry_or_stop(worker, &mut voice, &error, context).await?,
        }
    }
}

/// Waits for the next attempt; a longer wait is left to a later invocation, and after the last
/// attempt the run fails.
async fn retry_or_stop(
    worker: &Worker<'_>,
    voice: &mut Voice<'_>,
    error: &ModelError,
    context: CallContext,
) -> Result<(), Stop> {
    tracing::warn!(
        run.id = %worker.run(),
        step = context.step,
        attempt = context.attempt,
        "{} step {} attempt {}: {}",
        worker.run(),
        context.step,
        context.attempt,
        chain(error)
    );
    let time = &worker.on.settings.time;
    match retry::after_error(error.class, context.attempt, error.retry_after, jitter(context)) {
        Verdict::Wait(wait)
            if wait <= time.paid_wait
                && wait <= worker.budget.less(time.reserve + time.model_least) =>
        {
            worker.sleep(wait).await
        }
        Verdict::Wait(wait) => Err(Stop::Yield(wait)),
        Verdict::GiveUp(code) => {
            voice.flush().await?;
            Err(Stop::Fail(code))
        }
    }
}

/// Spreads the waits of many runs: the same run and attempt always wait the same.
fn jitter(context: CallContext) -> f64 {
    let bytes = context.run.as_uuid().into_bytes();
    let index = usize::try_from(context.attempt).unwrap_or(0) % bytes.len();
    bytes.get(index).map_or(0.5, |byte| f64::from(*byte) / 255.0)
}

fn request(worker: &Worker<'_>, log: &Log, provider: &dyn ModelProvider) -> ModelRequest {
    let target = &worker.agent.model;
    let hidden = worker.on.hidden_tools(&worker.agent);
    let prompt = worker.agent.system_prompt.as_str();
    ModelRequest {
        model: target.model.clone(),
        system: if prompt.is_empty() { vec![] } else { vec![prompt.to_owned()] },
        messages: history::for_model(log.messages(), &provider.profile(&target.model).media),
        tools: tools::specs().into_iter().filter(|tool| !hidden.contains(&tool.name)).collect(),
    }
}

/// One attempt. Text is shown while it comes; dropping this cancels the call.
async fn speak(
    worker: &Worker<'_>,
    provider: &Arc<dyn ModelProvider>,
    request: ModelRequest,
    context: CallContext,
    voice: &mut Voice<'_>,
) -> Result<AssistantTurn, Broken> {
    let time = &worker.on.settings.time;
    let end = Instant::now() + context.timeout;
    let late = || {
        // A call that was cut short by our own time is no failure of the model's.
        if context.timeout < time.model_most {
            Broken::Stop(Stop::YIELD)
        } else {
            Broken::Model(ErrorClass::Timeout.into())
        }
    };
    let silent = || Broken::Model(ErrorClass::Timeout.into());
    let mut heard = Instant::now();
    let mut stream: ModelStream = tokio::select! {
        biased;
        why = worker.interrupted() => return Err(Stop::Interrupted(why).into()),
        () = tokio::time::sleep_until(end) => return Err(late()),
        begun = timeout_at(heard + time.model_silence, provider.stream(request, context)) => {
            begun.map_err(|_| silent())??
        }
    };
    let mut assembler = Assembler::new();
    loop {
        let due = voice.due();
        tokio::select! {
            biased;
            why = worker.interrupted() => return Err(Stop::Interrupted(why).into()),
            () = tokio::time::sleep_until(end) => return Err(late()),
            () = tokio::time::sleep_until(due.unwrap_or(end)), if due.is_some() => {
                voice.tick().await?;
            }
            event = timeout_at(heard + time.model_silence, stream.next()) => {
                let Some(event) = event.map_err(|_| silent())? else { break };
                let event = event?;
                heard = Instant::now();
                assembler.push(&event)?;
                if let model::ModelEvent::TextDelta { text, .. } = &event {
                    voice.say(text).await?;
                }
            }
        }
    }
    Ok(assembler.finish()?)
}

fn spent(progress: &Progress) -> guards::Spent {
    guards::Spent {
        steps: unsigned(progress.next_step).saturating_sub(1),
        model_calls: unsigned(progress.model_calls),
        tool_calls: unsigned(progress.tool_calls),
    }
}

fn halt(halt: guards::Halt) -> Stop {
    match halt {
        guards::Halt::Canceled => Stop::Interrupted(Interrupt::LostLease),
        guards::Halt::Failed(code) => Stop::Fail(code),
    }
}
