//! The service as it runs, on a throwaway PostgreSQL: requests per second and how long they take,
//! how soon a subscriber sees an event, and what a long log costs whoever appends to it.
//!
//! **No run is worked on**: what is measured is the front, the admission and the database, not a
//! model. The load comes from a thread of its own, over real connections that are kept open.

#![expect(clippy::print_stdout, reason = "this is what it is for")]
#![expect(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a measurement that fails is no measurement"
)]

mod connection;
mod latency;
mod load;
mod log;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cognition_local::{Options, System};
use testkit::Database;

#[tokio::main]
async fn main() {
    let database = Database::postgres().await;
    let (system, _home) = start(Some(database.url())).await;
    println!("PostgreSQL, everything on this machine; the work itself is not done");
    load::measure(&system).await;
    log::measure(&system).await;
    latency::measure("PostgreSQL, by polling", &system).await;
    system.stop().await;
    let (system, _home) = start(None).await;
    latency::measure("SQLite, woken in process", &system).await;
    system.stop().await;
}

/// A system whose queues nobody reads.
async fn start(database_url: Option<&str>) -> (System, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let options = Options {
        data: home.path().to_owned(),
        database_url: database_url.map(str::to_owned),
        port: 0,
        agents: root().join("infra/local/agents"),
        runs: 0,
        sweep_every: Duration::from_hours(1),
        sandboxd: Some(testkit::sandboxd()),
        ..Options::default()
    };
    (System::start(&options).await.unwrap(), home)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The value below which so many per cent of the sorted ones are.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
