//! The function on Lambda.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use cloud::s3::S3Objects;
use cloud::sqs::SqsQueues;
use domain::Ids;
use lambda_kit::deadline::Budget;
use lambda_kit::env::Env;
use lambda_kit::logging;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use push_notifier::config::Config;
use push_notifier::{Notifier, Post, SystemLookup};
use store::Pool;
use view::Viewer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    logging::init(&env)?;
    let config = Config::read(&env)?;
    let viewer = Viewer {
        pool: Pool::connect(config.database_url.expose(), 1).await?,
        objects: Arc::new(S3Objects::connect(config.objects).await),
        scope_key: config.scope_key.expose().as_bytes().into(),
    };
    let queues = Arc::new(SqsQueues::connect(config.queues).await);
    let post = Post::new(config.guard, config.timeout, &(Arc::new(SystemLookup) as _))?;
    let (keys, patience, ids) = (config.keys, config.patience, Ids::random());
    let owner = ids.uuid().to_string();
    let notifier = Notifier { viewer, queues, ids, owner, keys, post, patience };
    run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let budget = Budget::until_epoch_millis(event.context.deadline);
        Ok::<_, Error>(notifier.handle(event.payload, budget).await)
    }))
    .await
}
