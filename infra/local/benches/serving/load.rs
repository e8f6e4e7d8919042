//! Requests per second at several numbers of connections.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cognition_local::System;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::connection::{Connection, message, request};
use crate::{ms, percentile};

const CONNECTIONS: [usize; 3] = [1, 8, 64];
const WARM_UP: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(4);

/// Prints a row for each operation and number of connections.
pub(crate) async fn measure(system: &System) {
    let task = Connection::open(system.url()).await.send("first").await;
    let get = request("GetTask", &json!({"id": task}));
    println!(
        "\n{:<14} {:>11} {:>8} {:>9} {:>9} {:>11}",
        "", "connections", "per s", "p50 ms", "p99 ms", "statements"
    );
    for connections in CONNECTIONS {
        let get = get.clone();
        row(system, "GetTask", connections, Arc::new(move |_: &str| get.clone())).await;
    }
    for connections in CONNECTIONS {
        row(system, "SendMessage", connections, Arc::new(message)).await;
    }
}

type Make = Arc<dyn Fn(&str) -> Bytes + Send + Sync>;

async fn row(system: &System, name: &str, connections: usize, make: Make) {
    let (reply, answer) = oneshot::channel();
    let url = system.url().to_owned();
    let label = format!("{name}-{connections}");
    let before = system.pool().statements();
    // A thread of its own, so that the load is not scheduled among what it measures.
    let generator = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = reply.send(runtime.block_on(load(&url, &label, connections, &make)));
    });
    let (all, mut took) = answer.await.unwrap();
    generator.join().unwrap();
    took.sort_unstable();
    let rate = took.len() as f64 / MEASURED.as_secs_f64();
    let statements = (system.pool().statements() - before) as f64 / all as f64;
    let (p50, p99) = (ms(percentile(&took, 50)), ms(percentile(&took, 99)));
    println!("{name:<14} {connections:>11} {rate:>8.0} {p50:>9.2} {p99:>9.2} {statements:>11.1}");
}

/// How many requests were sent in all, and how long those took that were sent after the warm-up.
async fn load(url: &str, label: &str, connections: usize, make: &Make) -> (u64, Vec<Duration>) {
    let counted_from = Instant::now() + WARM_UP;
    let ends = counted_from + MEASURED;
    let mut tasks = JoinSet::new();
    for number in 0..connections {
        let (url, label, make) = (url.to_owned(), label.to_owned(), Arc::clone(make));
        tasks.spawn(async move {
            let mut connection = Connection::open(&url).await;
            let (mut sent, mut took) = (0_u64, Vec::new());
            loop {
                let body = make(&format!("{label}-{number}-{sent}"));
                let began = Instant::now();
                if began > ends {
                    return (sent, took);
                }
                connection.ask(body).await;
                sent += 1;
                if began > counted_from {
                    took.push(began.elapsed());
                }
            }
        });
    }
    let results = tasks.join_all().await;
    let all = results.iter().map(|(sent, _)| sent).sum();
    (all, results.into_iter().flat_map(|(_, took)| took).collect())
}
