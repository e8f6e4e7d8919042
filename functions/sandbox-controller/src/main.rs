//! The function on Lambda.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use cloud::sqs::SqsQueues;
use domain::Ids;
use lambda_kit::env::Env;
use lambda_kit::logging;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use sandbox_controller::process::Process;
use sandbox_controller::{Backend, SandboxController, config};
use sandbox_protocol::client::Transport;
use store::Pool;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    logging::init(&env)?;
    let config = config::Config::read(&env)?;
    let ids = Ids::random();
    let config::Backend::Process(settings) = config.backend;
    let controller = SandboxController {
        pool: Pool::connect(config.database_url.expose(), 1).await?,
        queues: Arc::new(SqsQueues::connect(config.queues).await),
        backend: Backend::Process(Process::start(settings, &ids).await?),
        ids,
        sandboxes: Transport::new()?,
        runtime_key: config.runtime_key,
        patience: config.patience,
    };
    controller.recover().await?;
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(controller.handle(event.payload).await)
    }))
    .await
}
