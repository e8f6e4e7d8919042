//! When the parts of a task began and ended, as the log has it: for the demo, the benchmark and
//! operators.

use domain::{ScopeDigest, TaskId, Timestamp};

use crate::{Error, Pool, Row};

/// One part of a task's work, on the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub part: Part,
    pub began: Timestamp,
    pub ended: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// From admission to the first claim.
    Queued,
    /// From the first claim to the end.
    Run,
    /// One model step.
    Model,
    /// One tool call, from before its effect to its result.
    Tool(String),
}

/// The finished parts of a task, in the order in which they began.
pub async fn of_task(pool: &Pool, scope: &ScopeDigest, task: TaskId) -> Result<Vec<Span>, Error> {
    let params = [task.into(), scope.as_str().into()];
    let mut spans = Vec::new();
    let runs = pool
        .query(
            "-- store::timings::runs
             select created_at, started_at, ended_at from runs
              where task_id = $1 and scope_digest = $2 and started_at is not null",
            &params,
        )
        .await?;
    for row in &runs {
        spans.extend(span(row, Part::Queued, "created_at", "started_at")?);
        spans.extend(span(row, Part::Run, "started_at", "ended_at")?);
    }
    let steps = pool
        .query(
            "-- store::timings::steps
             select s.started_at, s.committed_at from run_steps s join runs r on r.run_id = s.run_id
              where r.task_id = $1 and s.scope_digest = $2",
            &params,
        )
        .await?;
    for row in &steps {
        spans.extend(span(row, Part::Model, "started_at", "committed_at")?);
    }
    let calls = pool
        .query(
            "-- store::timings::calls
             select c.tool, c.started_at, c.finished_at
               from tool_calls c join runs r on r.run_id = c.run_id
              where r.task_id = $1 and c.scope_digest = $2",
            &params,
        )
        .await?;
    for row in &calls {
        spans.extend(span(row, Part::Tool(row.get("tool")?), "started_at", "finished_at")?);
    }
    spans.sort_by_key(|span| span.began);
    Ok(spans)
}

fn span(row: &Row, part: Part, began: &str, ended: &str) -> Result<Option<Span>, Error> {
    let began: Option<Timestamp> = row.get(began)?;
    let ended: Option<Timestamp> = row.get(ended)?;
    Ok(began.zip(ended).map(|(began, ended)| Span { part, began, ended }))
}
