//! `bench`: how completion holds up when many ask at once.

#![expect(clippy::indexing_slicing, reason = "a JSON value gives null where there is nothing")]

use std::time::{Duration, Instant};

use anyhow::Context as _;
use domain::{Ids, Scope, TaskId};
use futures_util::future::try_join_all;
use store::timings::{self, Part, Span};

use crate::client::Client;
use crate::demo::{REQUEST, seconds};
use crate::system::System;

/// What one level of concurrency showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub concurrent: usize,
    pub median: Duration,
    pub slowest: Duration,
    /// The share of a run's time in which neither model nor tool was at work.
    pub overhead: f64,
}

/// Sends `concurrent` requests at once and waits for all of them.
pub async fn level(system: &System, concurrent: usize) -> anyhow::Result<Level> {
    let card_url = format!("{}/a2a/analyst/.well-known/agent-card.json", system.url());
    let (client, _) = Client::discover(&card_url).await?;
    let tasks = (0..concurrent).map(|_| {
        let client = client.clone();
        async move {
            let began = Instant::now();
            let task = client.send(&Ids::random().uuid().to_string(), REQUEST).await?;
            anyhow::ensure!(task["status"]["state"] == "TASK_STATE_COMPLETED", "a task failed");
            let id: TaskId = task["id"].as_str().context("a task without an id")?.parse()?;
            anyhow::Ok((began.elapsed(), id))
        }
    });
    let mut done = try_join_all(tasks).await?;
    let mut shares = 0.0;
    let mut tasks = 0.0;
    for (_, task) in &done {
        let spans = timings::of_task(system.pool(), &Scope::empty().digest(), *task).await?;
        shares += overhead(&spans);
        tasks += 1.0;
    }
    done.sort_by_key(|(took, _)| *took);
    let middle = done.get(done.len() / 2).context("nothing was measured")?.0;
    let slowest = done.last().context("nothing was measured")?.0;
    Ok(Level { concurrent, median: middle, slowest, overhead: shares / tasks })
}

/// The share of the runs' time that no model step and no tool call covers.
fn overhead(spans: &[Span]) -> f64 {
    let length = |span: &Span| span.ended.as_micros() - span.began.as_micros();
    let total: i64 = spans.iter().filter(|s| s.part == Part::Run).map(length).sum();
    let mut work: Vec<(i64, i64)> = spans
        .iter()
        .filter(|span| matches!(span.part, Part::Model | Part::Tool(_)))
        .map(|span| (span.began.as_micros(), span.ended.as_micros()))
        .collect();
    work.sort_unstable();
    let (mut covered, mut until) = (0, i64::MIN);
    for (began, ended) in work {
        covered += (ended - began.max(until)).max(0);
        until = until.max(ended);
    }
    if total == 0 { 0.0 } else { 1.0 - seconds(covered) / seconds(total) }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    #[test]
    fn what_overlaps_is_counted_once() {
        let span =
            |part, began, ended| Span { part, began: Timestamp(began), ended: Timestamp(ended) };
        let tool = || Part::Tool("ls".to_owned());
        let spans = [
            span(Part::Run, 0, 100),
            span(Part::Model, 0, 40),
            span(tool(), 50, 70),
            span(tool(), 60, 80),
            span(tool(), 61, 62),
        ];
        assert!((overhead(&spans) - 0.3).abs() < 1e-9);
        assert!(overhead(&[]).abs() < 1e-9);
    }
}
