//! One claimed run in the hands of one worker.

use std::time::Duration;

use agent::{Message, ToolResult, ids};
use domain::{AgentDefinition, EventBody, FailureCode, RunId};
use lambda_kit::deadline::Budget;
use store::calls::{self, StoredCall};
use store::events::Place;
use store::runs::{Ending, Output, PlacedEvent};
use store::steps::LoopMessage;
use store::{Lease, Outgoing};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Orchestrator;
use crate::heartbeat::Interrupt;
use crate::sandbox::Slot;

/// What every step works with.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) on: &'a Orchestrator,
    pub(crate) lease: Lease,
    pub(crate) agent: AgentDefinition,
    /// The invocation's time.
    pub(crate) budget: Budget,
    /// When the run itself must be over.
    pub(crate) deadline: Instant,
    pub(crate) sandbox: Slot,
    pub(crate) interrupt: watch::Receiver<Option<Interrupt>>,
}

/// Why a worker stops working on its run.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The model has said its last word; the event closes the answer.
    End(Option<Box<PlacedEvent>>, Ending),
    Fail(FailureCode),
    /// The run goes on in a later invocation, after this long.
    Yield(Duration),
    /// The run rests already; a signal wakes it.
    Rested,
    Interrupted(Interrupt),
    Store(store::Error),
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::LeaseLost => Self::Interrupted(Interrupt::LostLease),
            error => Self::Store(error),
        }
    }
}

impl Stop {
    /// To the next invocation, at once.
    pub(crate) const YIELD: Self = Self::Yield(Duration::ZERO);
}

impl Worker<'_> {
    pub(crate) fn run(&self) -> RunId {
        self.lease.run()
    }

    /// Ends when something says that the work must stop, and says what.
    pub(crate) async fn interrupted(&self) -> Interrupt {
        let mut interrupt = self.interrupt.clone();
        // The guard is let go before the next await, so that the work can move between threads.
        let raised = interrupt.wait_for(Option::is_some).await.ok().and_then(|raised| *raised);
        match raised {
            Some(why) => why,
            // The other end lives as long as the work does.
            None => std::future::pending().await,
        }
    }

    /// Stops here if the work must stop.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        match *self.interrupt.borrow() {
            Some(why) => Err(Stop::Interrupted(why)),
            None => Ok(()),
        }
    }

    /// Waits, unless the work must stop meanwhile.
    pub(crate) async fn sleep(&self, wait: Duration) -> Result<(), Stop> {
        tokio::select! {
            biased;
            why = self.interrupted() => Err(Stop::Interrupted(why)),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    pub(crate) async fn send(&self, outgoing: Outgoing) {
        dispatch::send(&self.on.pool, &*self.on.queues, outgoing).await;
    }

    /// P6: the call's result becomes history, once.
    pub(crate) async fn finish_call(
        &self,
        call: &StoredCall,
        result: ToolResult,
    ) -> Result<(), Stop> {
        let event = tool_finished(call.step, call.ordinal, &call.call, &call.tool, &result);
        let message =
            result_message(self.run(), call.step, call.ordinal, &call.call, &call.tool, result);
        let finished = calls::finish(
            &self.on.pool,
            &self.lease,
            call,
            &loop_message(&message),
            &[event],
            Output::default(),
        )
        .await;
        match finished {
            // It has its result: an earlier commit of ours whose answer got lost.
            Ok(()) | Err(store::Error::Conflict) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The message that answers a call. Its id follows from the call's place, so that a repetition
/// makes the same one.
pub(crate) fn result_message(
    run: RunId,
    step: i32,
    ordinal: i32,
    call: &domain::CallId,
    tool: &str,
    result: ToolResult,
) -> Message {
    result.into_message(ids::message(run, unsigned(step), unsigned(ordinal) + 1), call, tool)
}

/// Says that a call has its result, at the place that belongs to this call alone.
pub(crate) fn tool_finished(
    step: i32,
    ordinal: i32,
    call: &domain::CallId,
    tool: &str,
    result: &ToolResult,
) -> PlacedEvent {
    PlacedEvent {
        // Attempts of a model step count from 1.
        place: Place { step, attempt: 0, ordinal },
        body: EventBody::ToolFinished {
            call: call.clone(),
            tool: tool.to_owned(),
            ok: result.is_ok(),
            code: result.code.map(|code| code.as_str().to_owned()),
        },
    }
}

pub(crate) fn loop_message(message: &Message) -> LoopMessage {
    LoopMessage { id: message.id, body: message.to_json() }
}

/// Steps and ordinals are small and positive; the database has no unsigned numbers.
pub(crate) fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
