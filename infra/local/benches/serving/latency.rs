//! How soon after its commit an event is at a subscriber that has waited in silence.

use std::time::{Duration, Instant};

use cognition_local::System;
use domain::{AgentKey, AgentName, Scope, TaskId};
use http_body_util::BodyExt as _;
use serde_json::json;
use store::tasks::{self, Canceled};

use crate::connection::{Connection, request};
use crate::{ms, percentile};

const SUBSCRIBERS: usize = 100;
/// Until pauses between looks have grown to their longest.
const SILENCE: Duration = Duration::from_secs(4);
/// Between two events, so that they meet subscribers at different moments of their pause.
const BETWEEN: Duration = Duration::from_millis(13);

pub(crate) async fn measure(name: &str, system: &System) {
    let mut sender = Connection::open(system.url()).await;
    let mut waiting = Vec::new();
    for number in 0..SUBSCRIBERS {
        let task = sender.send(&format!("latency-{number}")).await;
        let mut connection = Connection::open(system.url()).await;
        let mut stream = connection.call(request("SubscribeToTask", &json!({"id": task}))).await;
        let id: TaskId = task.parse().unwrap();
        let arrived = tokio::spawn(async move {
            while let Some(frame) = stream.frame().await {
                let data = frame.unwrap().into_data().unwrap_or_default();
                if data.windows(19).any(|at| at == b"TASK_STATE_CANCELED") {
                    break;
                }
            }
            drop(connection);
            Instant::now()
        });
        waiting.push((id, arrived));
    }
    tokio::time::sleep(SILENCE).await;
    let scope = Scope::empty().digest();
    let agent = AgentKey::from(AgentName::try_from("analyst".to_owned()).unwrap());
    let mut took = Vec::new();
    let mut arrivals = Vec::new();
    for (task, arrived) in waiting {
        let canceled = tasks::cancel(system.pool(), &scope, &agent, task).await.unwrap();
        let committed = Instant::now();
        assert_eq!(canceled, Canceled::Yes);
        arrivals.push((committed, arrived));
        tokio::time::sleep(BETWEEN).await;
    }
    for (committed, arrived) in arrivals {
        // One who is woken by the commit may be there before whoever committed hears of it.
        took.push(arrived.await.unwrap().saturating_duration_since(committed));
    }
    took.sort_unstable();
    println!(
        "\nfrom commit to a subscriber after silence, {name}: p50 {:.2} ms, p99 {:.2} ms",
        ms(percentile(&took, 50)),
        ms(percentile(&took, 99)),
    );
}
