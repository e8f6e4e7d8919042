//! The codec against `a2a-protocol-types` on the same texts in the same run, and what our protocol
//! layer costs per request without a socket and a database.
//!
//! Each figure is the best of seven batches: what the code takes when nothing disturbs it.

#![expect(clippy::print_stdout, reason = "this is what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]

mod dispatch;
mod texts;

use std::hint::black_box;
use std::time::{Duration, Instant};

use a2a::types::{SendMessageRequest, Task};
use a2a_protocol_types::params::MessageSendParams;
use a2a_protocol_types::task::Task as TheirTask;
use serde::Serialize;
use serde::de::DeserializeOwned;

const BATCHES: usize = 7;
const BATCH: Duration = Duration::from_millis(60);

fn main() {
    println!("ns, best of {BATCHES} batches            ours   theirs   ratio");
    let send = texts::send();
    read(
        "send request",
        &send,
        |text| text.parse::<SendMessageRequest>().unwrap(),
        from_json::<MessageSendParams>,
    );
    write(
        "send request",
        &send.parse::<SendMessageRequest>().unwrap(),
        &from_json::<MessageSendParams>(&send),
    );
    for turns in [1, 20] {
        let text = texts::task(turns);
        let name = format!("task, {turns} turns");
        read(&name, &text, from_json::<Task>, from_json::<TheirTask>);
        write(&name, &from_json::<Task>(&text), &from_json::<TheirTask>(&text));
    }
    dispatch::measure();
}

fn from_json<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

fn read<A, B>(name: &str, text: &str, ours: impl Fn(&str) -> A, theirs: impl Fn(&str) -> B) {
    let what = format!("{name} ({} B), read", text.len());
    compare(
        &what,
        || drop(black_box(ours(black_box(text)))),
        || drop(black_box(theirs(black_box(text)))),
    );
}

fn write(name: &str, ours: &impl Serialize, theirs: &impl Serialize) {
    compare(
        &format!("{name}, written"),
        || drop(black_box(serde_json::to_vec(black_box(ours)).unwrap())),
        || drop(black_box(serde_json::to_vec(black_box(theirs)).unwrap())),
    );
}

/// Batches of both take turns, so that what disturbs the machine disturbs both.
fn compare(what: &str, ours: impl Fn(), theirs: impl Fn()) {
    let (count_ours, count_theirs) = (fitting(&ours), fitting(&theirs));
    let (mut best_ours, mut best_theirs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..BATCHES {
        best_ours = best_ours.min(batch(count_ours, &ours));
        best_theirs = best_theirs.min(batch(count_theirs, &theirs));
    }
    let ratio = best_ours / best_theirs;
    println!("{what:<30} {best_ours:>8.0} {best_theirs:>8.0} {ratio:>7.2}");
}

/// Nanoseconds that one call takes in a batch of `count`.
fn batch(count: u32, work: &impl Fn()) -> f64 {
    let began = Instant::now();
    for _ in 0..count {
        work();
    }
    began.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

/// How many calls fill a batch.
fn fitting(work: &impl Fn()) -> u32 {
    let mut count = 1;
    loop {
        let began = Instant::now();
        for _ in 0..count {
            work();
        }
        if began.elapsed() * 10 > BATCH {
            return count * 10;
        }
        count *= 2;
    }
}
