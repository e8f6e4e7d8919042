//! The loop: takes a run from its queue and drives it, one committed step after the other.
//!
//! **A run is driven by one worker at a time, and everything that a worker writes carries its
//! fence**: a worker that was overtaken changes nothing. **Nothing is kept between two steps but
//! what the database holds**, so that any worker goes on where another one stopped.
//!
//! - [`Orchestrator::handle`] is the handler: claim, drive, acknowledge.
//! - [`Orchestrator::drive`] is the loop as a library, for every driver alike.

pub mod answer;
pub mod config;
mod drive;
mod ending;
mod heartbeat;
mod leave;
mod log;
mod model_step;
pub mod note;
mod sandbox;
pub mod settings;
mod tools;
mod tools_step;
mod worker;

use std::sync::Arc;

use agent::tools::BuiltIn;
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use cloud::queues::Queues;
use domain::{AgentDefinition, Clock, Ids};
use lambda_kit::deadline::Budget;
use lambda_kit::env::Secret;
use lambda_kit::sqs::{self, Failure};
use messages::Message as _;
use messages::runs::RunReady;
use model::Providers;
use sandbox_protocol::client::Transport;
use store::Pool;
use store::runs::{self, Claim};

pub use drive::Outcome;
pub use settings::{Settings, Times};

/// What the orchestrator works with.
#[derive(Debug)]
pub struct Orchestrator {
    pub pool: Pool,
    pub queues: Arc<dyn Queues>,
    pub models: Providers,
    /// Connections to sandboxes.
    pub transport: Transport,
    /// From which every sandbox's bearer is derived.
    pub runtime_key: Secret,
    pub ids: Ids,
    pub clock: Arc<dyn Clock>,
    /// Names this process in the rows of the runs that it holds.
    pub owner: String,
    pub settings: Settings,
}

impl Orchestrator {
    /// Handles the messages of one event within `budget`. The event source mapping must have
    /// `ReportBatchItemFailures` set.
    pub async fn handle(&self, event: SqsEvent, budget: Budget) -> SqsBatchResponse {
        sqs::for_each(event, RunReady::parse, |message| self.take(message, budget)).await
    }

    /// Handles one message.
    pub async fn handle_message(&self, body: &str, budget: Budget) -> Result<(), Failure> {
        self.take(RunReady::parse(body).map_err(Failure::reject)?, budget).await
    }

    /// Takes the run that the message is about and drives it as far as it goes within `budget`.
    ///
    /// Safe to repeat, late and out of order: a run that another worker holds, that has ended or
    /// that this scope does not have is acknowledged without effect.
    async fn take(&self, message: RunReady, budget: Budget) -> Result<(), Failure> {
        let claim = runs::claim(&self.pool, &message.scope, message.run, &self.owner).await;
        let claimed = match claim.map_err(Failure::retry)? {
            Claim::Yes(claimed) => *claimed,
            Claim::Busy | Claim::Over | Claim::Unknown => return Ok(()),
        };
        // The loop's future is large, and callers hold it in theirs.
        let outcome = Box::pin(self.drive(claimed, budget)).await;
        dispatch::flush(&self.pool, &*self.queues).await;
        let outcome = outcome.map_err(Failure::retry)?;
        tracing::info!(run.id = %message.run, ?outcome, "{} {outcome:?}", message.run);
        Ok(())
    }

    /// The tools that the agent's model is not told of here: to it they do not exist.
    fn hidden_tools(&self, agent: &AgentDefinition) -> Vec<String> {
        let named = |tool: BuiltIn| {
            agent.a2a.client_tools.iter().any(|named| BuiltIn::of_client_tool(*named) == tool)
        };
        let hidden = |tool: BuiltIn| match tool {
            BuiltIn::PublishArtifact => !self.settings.publication,
            tool => tool.is_client_tool() && !named(tool),
        };
        let hidden = BuiltIn::ALL.iter().filter(|tool| hidden(**tool));
        hidden.map(|tool| tool.name().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers with several threads may hand the work from one to another.
    #[expect(dead_code, reason = "it is enough that it compiles")]
    fn the_handlers_future_can_move_between_threads(orchestrator: &Orchestrator, budget: Budget) {
        fn can_move(_: impl Send) {}
        can_move(orchestrator.handle_message("", budget));
    }
}
