//! The ingress as a Lambda function behind a REST API or a function URL, with response streaming.

use std::sync::Arc;

use a2a_ingress::agents::Agents;
use a2a_ingress::cards::Cards;
use a2a_ingress::config::Config;
use a2a_ingress::{Desk, Ingress, Viewer, event};
use cloud::s3::S3Objects;
use cloud::sqs::SqsQueues;
use domain::{Clock as _, Ids, SystemClock};
use lambda_http::lambda_runtime::tower::ServiceBuilder;
use lambda_http::{Error, LambdaEvent, StreamAdapter, lambda_runtime, service_fn};
use lambda_kit::env::Env;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let env = Env::process();
    lambda_kit::logging::init(&env)?;
    let config = Config::read(&env)?;
    let viewer = Viewer {
        pool: store::Pool::connect(&config.database_url, 1).await?,
        objects: Arc::new(S3Objects::connect(config.s3).await),
        scope_key: config.scope_key.into_bytes().into(),
    };
    let queues = Arc::new(SqsQueues::connect(config.sqs).await);
    let agents = config.webhooks.fit(Agents::load(&config.agents)?)?;
    let (ids, limits, webhooks) = (Arc::new(Ids::random()), config.limits, config.webhooks);
    let desk = Desk { viewer, queues, ids, limits, idempotent: config.idempotent, webhooks };
    let cards = Cards::new(config.address, config.trust, &agents, SystemClock.now())?.into();
    let ingress = Ingress { desk: Arc::new(desk), agents, scope: config.scope, cards };
    let handler = service_fn(async |request| Ok::<_, Error>(ingress.handle(request).await));
    let whole =
        |event: LambdaEvent<_>| LambdaEvent { payload: event::all_headers(event.payload), ..event };
    lambda_runtime::run(
        ServiceBuilder::new().map_request(whole).service(StreamAdapter::from(handler)),
    )
    .await
}
