//! The function on Lambda.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use cloud::sqs::SqsQueues;
use domain::{Ids, SystemClock};
use lambda_kit::deadline::Budget;
use lambda_kit::env::Env;
use lambda_kit::logging;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use run_orchestrator::Orchestrator;
use run_orchestrator::config::Config;
use sandbox_protocol::client::Transport;
use store::Pool;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    logging::init(&env)?;
    let config = Config::read(&env)?;
    let ids = Ids::random();
    let orchestrator = Orchestrator {
        // The heartbeat must not wait behind a transaction.
        pool: Pool::connect(config.database_url.expose(), 2).await?,
        queues: Arc::new(SqsQueues::connect(config.queues).await),
        models: config.models.providers()?,
        transport: Transport::new()?,
        runtime_key: config.runtime_key,
        owner: ids.uuid().to_string(),
        ids,
        clock: Arc::new(SystemClock),
        settings: config.settings,
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let budget = Budget::until_epoch_millis(event.context.deadline);
        Ok::<_, Error>(orchestrator.handle(event.payload, budget).await)
    }))
    .await
}
