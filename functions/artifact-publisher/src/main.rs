//! The function on Lambda.

use std::sync::Arc;

use artifact_publisher::Publisher;
use artifact_publisher::config::Config;
use aws_lambda_events::event::sqs::SqsEvent;
use cloud::s3::S3Objects;
use cloud::sqs::SqsQueues;
use domain::Ids;
use lambda_kit::env::Env;
use lambda_kit::logging;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use sandbox_protocol::client::Transport;
use store::Pool;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    logging::init(&env)?;
    let config = Config::read(&env)?;
    let publisher = Publisher {
        pool: Pool::connect(config.database_url.expose(), 1).await?,
        objects: Arc::new(S3Objects::connect(config.objects).await),
        queues: Arc::new(SqsQueues::connect(config.queues).await),
        ids: Ids::random(),
        sandboxes: Transport::new()?,
        runtime_key: config.runtime_key,
        scope_key: config.scope_key,
        policy: config.policy,
        patience: config.patience,
    };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(publisher.handle(event.payload).await)
    }))
    .await
}
