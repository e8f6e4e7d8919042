//! What subscribers cost that wait for a silent task, on PostgreSQL.
//!
//! `cargo run -p a2a-ingress --example idle_subscribers [subscribers] [seconds]` starts a throwaway
//! cluster, opens the streams, lets them fall silent, and then counts for a while: statements as the
//! pool counts them, bytes between us and the database as a relay counts them, and the processor time
//! of this process and of the database's connections as the kernel counts it.

#![expect(clippy::print_stdout, reason = "this is what it is for")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a measurement that fails is no measurement"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use serde_json::json;
use store::Pool;
use testkit::Database;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use common::{Call, message, scene, sent};

#[path = "../tests/ingress/common.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod common;

/// Until pauses have grown to their longest.
const FALLS_SILENT: Duration = Duration::from_secs(4);
/// The kernel's clock ticks, as every Linux has them.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>().unwrap());
    let subscribers = arguments.next().unwrap_or(100);
    let seconds = arguments.next().unwrap_or(20);
    let database = Database::postgres().await;
    let bytes = Arc::new(AtomicU64::new(0));
    let pool = Pool::connect(&relayed(database.url(), Arc::clone(&bytes)).await, 4).await.unwrap();
    let scene = Arc::new(scene(&pool));
    let mut streams = tokio::task::JoinSet::new();
    for number in 0..subscribers {
        let task = sent(&scene, &message(&format!("m{number}"))).await;
        let call = Call::rpc("SubscribeToTask", &json!({"id": task["id"]}));
        let mut body = call.raw(&scene).await.into_body();
        streams.spawn(async move { while body.frame().await.is_some() {} });
    }
    tokio::time::sleep(FALLS_SILENT).await;
    let now = async || {
        let pids = pool
            .query(
                "select pid from pg_stat_activity where datname = current_database()
                    and application_name = 'cognition'",
                &[],
            )
            .await
            .unwrap();
        let backends: f64 = pids.iter().map(|row| cpu(&row.get::<i32>("pid").unwrap())).sum();
        (pool.statements(), bytes.load(Ordering::Relaxed), cpu(&"self"), backends, Instant::now())
    };
    let (statements, moved, ours, theirs, began) = now().await;
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    let (statements2, moved2, ours2, theirs2, ended) = now().await;
    let per = (ended - began).as_secs_f64() * f64::from(subscribers);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = |before: u64, after: u64| (after - before) as f64 / per;
    println!("{subscribers} idle subscribers, per subscriber and second:");
    println!("  statements            {:.2}", rate(statements, statements2));
    println!("  bytes to and from     {:.0}", rate(moved, moved2));
    println!("  our processor time    {:.3} ms", (ours2 - ours) * 1000.0 / per);
    println!("  the database's        {:.3} ms", (theirs2 - theirs) * 1000.0 / per);
}

/// Seconds of processor time that a process has used, itself and for the kernel.
fn cpu(pid: &dyn std::fmt::Display) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS
}

/// The same database behind a relay that counts bytes.
async fn relayed(url: &str, bytes: Arc<AtomicU64>) -> String {
    let (head, rest) = url.split_once('@').unwrap_or_else(|| panic!("a user in the URL"));
    let (address, name) = rest.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = address.to_owned();
    tokio::spawn(async move {
        while let Ok((front, _)) = listener.accept().await {
            let back = TcpStream::connect(&target).await.unwrap();
            front.set_nodelay(true).unwrap();
            back.set_nodelay(true).unwrap();
            let (front_read, front_write) = front.into_split();
            let (back_read, back_write) = back.into_split();
            tokio::spawn(copy(front_read, back_write, Arc::clone(&bytes)));
            tokio::spawn(copy(back_read, front_write, Arc::clone(&bytes)));
        }
    });
    format!("{head}@127.0.0.1:{port}/{name}")
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    bytes: Arc<AtomicU64>,
) {
    let mut buffer = [0; 8192];
    while let Ok(read) = from.read(&mut buffer).await
        && let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty())
        && to.write_all(chunk).await.is_ok()
    {
        bytes.fetch_add(u64::try_from(read).unwrap_or_default(), Ordering::Relaxed);
    }
}
