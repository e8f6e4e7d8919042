//! The function on Lambda.

use std::sync::Arc;

use cloud::sqs::SqsQueues;
use domain::Ids;
use lambda_kit::env::Env;
use lambda_kit::logging;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde::de::IgnoredAny;
use store::Pool;
use sweeper::Sweeper;
use sweeper::config::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    logging::init(&env)?;
    let config = Config::read(&env)?;
    let sweeper = Sweeper {
        pool: Pool::connect(config.database_url.expose(), 1).await?,
        queues: Arc::new(SqsQueues::connect(config.queues).await),
        ids: Ids::random(),
        pace: config.pace,
    };
    run(service_fn(async |event: LambdaEvent<IgnoredAny>| {
        sweeper.handle(event.payload).await.map(drop).map_err(Error::from)
    }))
    .await
}
