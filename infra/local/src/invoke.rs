//! `invoke`: one handler on one sample event.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use cloud::Cause;
use cloud::queues::{Error, Queues};
use domain::SystemClock;
use http_body_util::BodyExt as _;
use lambda_kit::deadline::Budget;
use messages::Queue;
use serde_json::{Value, json};
use store::{Pool, migrations};
use tokio::net::TcpListener;

use crate::functions::Functions;
use crate::options::{Keys, Options};
use crate::s3::LocalS3;

/// The names that `--function` takes.
pub const FUNCTIONS: [&str; 6] = [
    "a2a-ingress",
    "run-orchestrator",
    "sandbox-controller",
    "artifact-publisher",
    "push-notifier",
    "sweeper",
];

/// One handler is alone: what it sends stays in the outbox, for the next `serve`.
#[derive(Debug)]
struct NoQueues;

#[async_trait]
impl Queues for NoQueues {
    async fn send(&self, queue: Queue, _body: String, _delay: Duration) -> Result<(), Error> {
        let cause = Cause::new("one handler runs alone; the message stays in the outbox");
        Err(Error::Unavailable { queue, cause })
    }
}

/// Runs `function` on the event in `file` and returns what it answers.
pub async fn invoke(options: &Options, function: &str, file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    std::fs::create_dir_all(&options.data)?;
    let data = std::fs::canonicalize(&options.data)?;
    let options = Options { data: data.clone(), ..options.clone() };
    let pool = Pool::connect(&options.database(), 2).await?;
    migrations::migrate(&pool).await?;
    let keys = match &options.keys {
        Some(keys) => keys.clone(),
        None => Keys::kept(&data)?,
    };
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    let s3 = LocalS3::start(&data.join("objects"), listener, Arc::new(SystemClock))?;
    let objects = Arc::new(cloud::s3::S3Objects::connect(s3.bucket("cognition")?).await);
    let functions = Functions::wire(&options, &keys, &pool, objects, Arc::new(NoQueues)).await?;
    let answer = match function {
        "a2a-ingress" => {
            let event = serde_json::from_str(&text).context("read the event")?;
            let request = a2a_ingress::event::into_request(event);
            let response = functions.ingress.handle(request).await;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await?.to_bytes();
            json!({"statusCode": status, "body": String::from_utf8_lossy(&body)})
        }
        "run-orchestrator" => {
            let event = serde_json::from_str(&text).context("read the event")?;
            let budget = Budget::of(Duration::from_mins(15));
            serde_json::to_value(functions.orchestrator.handle(event, budget).await)?
        }
        "sandbox-controller" => {
            let event = serde_json::from_str(&text).context("read the event")?;
            serde_json::to_value(functions.controller.handle(event).await)?
        }
        "artifact-publisher" => {
            let event = serde_json::from_str(&text).context("read the event")?;
            serde_json::to_value(functions.publisher.handle(event).await)?
        }
        "push-notifier" => {
            let event = serde_json::from_str(&text).context("read the event")?;
            let budget = Budget::of(Duration::from_mins(15));
            serde_json::to_value(functions.notifier.handle(event, budget).await)?
        }
        "sweeper" => json!({"swept": format!("{:?}", functions.sweeper.sweep().await)}),
        other => bail!("there is no function {other}; there are {}", FUNCTIONS.join(", ")),
    };
    s3.stop().await;
    Ok(answer)
}
