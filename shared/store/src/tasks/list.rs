//! Pages of a caller's tasks.
//!
//! **What a page shows is as it is now; where a task stands is as it was when the first page was
//! read.** A task that is there from the first page to the last, and matches the filters all the
//! while, comes exactly once, whatever happens to it meanwhile; one that was made after the first
//! page does not come.
//!
//! Whether a change came after the first page is told by two things. Its time: later than the moment
//! of the first page, which is the newest status that it found. And its transaction: one that the
//! snapshot of the first page did not see, since it was still being written, came after it whatever
//! time it bears. Transactions are numbered by PostgreSQL; on SQLite, and for a snapshot of too many
//! running transactions, the time alone decides.

mod snapshot;

use std::collections::HashMap;
use std::fmt::Write as _;

use domain::{AgentKey, Event, ScopeDigest, TaskId, TaskState, Timestamp};

use super::{StoredTask, read};
use crate::conversation::{self, History};
use crate::driver::places;
use crate::{Error, Pool, Row, Tx, Value, events};

pub use snapshot::Snapshot;

/// No transaction lives so long. A status that is older than this before the first page was seen,
/// whatever the number of its transaction says: in rows that were brought from another cluster, it
/// is one of that cluster. In microseconds.
const LONGEST_TRANSACTION: i64 = 3_600_000_000;

/// Which tasks are wanted: those that every given filter leaves, by what they are now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub context_id: Option<&'a str>,
    pub state: Option<TaskState>,
    /// The status is of this time or later.
    pub status_since: Option<Timestamp>,
}

/// Where a page ended. Nothing in it is secret or trusted: whatever it says, a page holds tasks of
/// the caller alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The moment of the first page.
    pub as_of: Timestamp,
    /// What the first page has seen, where transactions tell.
    pub seen: Option<Snapshot>,
    /// Where the last task of the page stood at that moment.
    pub at: Timestamp,
    pub task: TaskId,
}

/// What of each task is wanted.
#[derive(Debug, Clone, Copy)]
pub struct PageWant {
    /// At least one.
    pub size: u32,
    /// So many of the newest messages that its client sees; none where it is `None` or 0.
    pub history: Option<u32>,
    pub artifacts: bool,
}

/// One page.
#[derive(Debug)]
pub struct Page {
    /// The newest status first.
    pub tasks: Vec<Listed>,
    /// Tasks whose own row cannot be read; they are not in `tasks`.
    pub unreadable: Vec<Error>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<Cursor>,
    /// How many tasks the filters leave now, on whatever page.
    pub total: u64,
}

/// A task of a page. What of it cannot be read is an error in its place and takes nothing from the
/// rest.
#[derive(Debug)]
pub struct Listed {
    pub task: StoredTask,
    /// Oldest first; empty when no history was wanted.
    pub history: History,
    /// The artifact updates, oldest first; empty when they were not wanted.
    pub artifacts: Result<Vec<Event>, Error>,
}

/// Reads the page after `after`, or the first one, in one snapshot.
///
/// One statement for the tasks, one for their number, one for all artifacts, and one for all
/// histories, however many tasks there are.
pub async fn list(
    pool: &Pool,
    scope: &ScopeDigest,
    agent: &AgentKey,
    filter: Filter<'_>,
    after: Option<Cursor>,
    want: PageWant,
) -> Result<Page, Error> {
    let mut tx = pool.snapshot().await?;
    let matching = Matching::new(scope, agent, filter);
    let (total, seen) = matching.count(&mut tx).await?;
    let mut rows = match &after {
        None => matching.first(&mut tx, want.size).await?,
        Some(cursor) => matching.later(&mut tx, cursor, want.size).await?,
    };
    let size = usize::try_from(want.size).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let next = if more { next(&rows, after, seen)? } else { None };
    let mut found = Vec::with_capacity(rows.len());
    let mut unreadable = Vec::new();
    for row in &rows {
        match read(row) {
            Ok(task) => found.push(task),
            Err(error) => unreadable.push(error),
        }
    }
    let ids: Vec<TaskId> = found.iter().map(|task| task.id).collect();
    let mut histories = match want.history {
        Some(length) if length > 0 && !ids.is_empty() => {
            conversation::of_tasks(&mut tx, scope, &ids, length).await?
        }
        _ => HashMap::new(),
    };
    let mut artifacts = if want.artifacts && !ids.is_empty() {
        artifacts(&mut tx, scope, &ids).await?
    } else {
        HashMap::new()
    };
    let listed = |task: StoredTask| Listed {
        history: histories.remove(&task.id).unwrap_or(Ok(Vec::new())),
        artifacts: artifacts.remove(&task.id).unwrap_or(Ok(Vec::new())),
        task,
    };
    Ok(Page { tasks: found.into_iter().map(listed).collect(), unreadable, next, total })
}

/// Where a page ends that others follow. `seen` is what this page has seen.
fn next(
    rows: &[Row],
    after: Option<Cursor>,
    seen: Option<Snapshot>,
) -> Result<Option<Cursor>, Error> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    let (as_of, seen) = match after {
        Some(cursor) => (cursor.as_of, cursor.seen),
        None => (first.get("placed_at")?, seen),
    };
    Ok(Some(Cursor { as_of, seen, at: last.get("placed_at")?, task: last.get("task_id")? }))
}

/// The tasks that a filter leaves, as the conditions of a statement and their parameters.
struct Matching {
    conditions: String,
    params: Vec<Value>,
}

/// What is read of a task, beside where it stands.
const COLUMNS: &str = "t.task_id, t.session_id, s.context_id, t.state, t.status_message, \
                       t.status_code, t.status_at, t.current_run_id";

impl Matching {
    /// Each filter is a condition only when it is set, so that the index of that filter serves it.
    fn new(scope: &ScopeDigest, agent: &AgentKey, filter: Filter<'_>) -> Self {
        let mut conditions = "t.scope_digest = $1 and t.agent_name = $2".to_owned();
        let mut params: Vec<Value> = vec![scope.as_str().into(), agent.as_str().into()];
        // Writing to a text cannot fail.
        if let Some(context_id) = filter.context_id {
            params.push(context_id.into());
            let _ = write!(
                conditions,
                " and t.session_id = (select c.session_id from sessions c
                                       where c.scope_digest = $1 and c.agent_name = $2
                                         and c.context_id = ${})",
                params.len()
            );
        }
        if let Some(state) = filter.state {
            params.push(state.as_str().into());
            let _ = write!(conditions, " and t.state = ${}", params.len());
        }
        if let Some(since) = filter.status_since {
            params.push(since.into());
            let _ = write!(conditions, " and t.status_at >= ${}", params.len());
        }
        Self { conditions, params }
    }

    /// How many they are, and what this transaction sees.
    async fn count(&self, tx: &mut Tx) -> Result<(u64, Option<Snapshot>), Error> {
        let sql = format!(
            "-- store::tasks::list_count
             select count(*) as total, this_snapshot() as seen from tasks t where {}",
            self.conditions
        );
        let row = tx.query_opt(&sql, &self.params).await?.ok_or(Error::NotFound)?;
        let seen: Option<String> = row.get("seen")?;
        Ok((row.get("total")?, seen.as_deref().and_then(Snapshot::parse)))
    }

    async fn first(&self, tx: &mut Tx, size: u32) -> Result<Vec<Row>, Error> {
        let mut params = self.params.clone();
        params.push((i64::from(size) + 1).into());
        let sql = format!(
            "-- store::tasks::list_first
             select {COLUMNS}, t.status_at as placed_at
               from tasks t join sessions s on s.session_id = t.session_id
              where {}
              order by t.status_at desc, t.task_id desc limit ${}",
            self.conditions,
            params.len()
        );
        tx.query(&sql, &params).await
    }

    /// Tasks that have not changed since the first page stand where their status says; those that
    /// have, where their newest status of that time says.
    async fn later(&self, tx: &mut Tx, cursor: &Cursor, size: u32) -> Result<Vec<Row>, Error> {
        let mut params = self.params.clone();
        let mut place = |value: Value| {
            params.push(value);
            params.len()
        };
        let (as_of, at, task) =
            (place(cursor.as_of.into()), place(cursor.at.into()), place(cursor.task.into()));
        let limit = place((i64::from(size) + 1).into());
        let matching = &self.conditions;
        let (mut task_seen, mut event_seen, mut unseen) = Default::default();
        if let Some(snapshot) = &cursor.seen {
            let long_ago = cursor.as_of.as_micros().saturating_sub(LONGEST_TRANSACTION);
            let long_ago = place(Timestamp::from_micros(long_ago).into());
            let oldest = place(snapshot.oldest().into());
            let snapshot = place(snapshot.to_string().into());
            task_seen =
                format!("and (t.status_at <= ${long_ago} or seen_in(${snapshot}, t.status_tx))");
            event_seen =
                format!("and (e.created_at <= ${long_ago} or seen_in(${snapshot}, e.created_tx))");
            // Those that bear an earlier time. A `case` serves no index: they are looked for by their
            // transaction, and not among all of the last hour, or of the state.
            unseen = format!(
                "union all
                 select t.task_id from tasks t
                  where t.scope_digest = $1 and t.agent_name = $2 and t.status_tx >= ${oldest}
                    and case when {matching}
                              and t.status_at > ${long_ago} and t.status_at <= ${as_of}
                             then not seen_in(${snapshot}, t.status_tx) else false end"
            );
        }
        let sql = format!(
            "-- store::tasks::list_later
             select {COLUMNS}, p.placed_at
               from (select * from (
                         select t.task_id, t.status_at as placed_at from tasks t
                          where {matching} and t.status_at <= ${as_of}
                            and (t.status_at, t.task_id) < (${at}, ${task}) {task_seen}
                          order by t.status_at desc, t.task_id desc limit ${limit}) unchanged
                     union all
                     select * from (
                         select a.task_id,
                                (select max(e.created_at) from events e
                                  where e.task_id = a.task_id and e.kind = 'status'
                                    and e.created_at <= ${as_of} {event_seen}) as placed_at
                           from (select t.task_id from tasks t
                                  where {matching} and t.status_at > ${as_of}
                                    and t.created_at <= ${as_of}
                                 {unseen}) a) changed
                      where (placed_at, task_id) < (${at}, ${task})) p
               join tasks t on t.task_id = p.task_id
               join sessions s on s.session_id = t.session_id
              order by p.placed_at desc, p.task_id desc limit ${limit}"
        );
        tx.query(&sql, &params).await
    }
}

/// The artifact updates of all of `tasks`, by their task.
async fn artifacts(
    tx: &mut Tx,
    scope: &ScopeDigest,
    tasks: &[TaskId],
) -> Result<HashMap<TaskId, Result<Vec<Event>, Error>>, Error> {
    let mut params: Vec<Value> = vec![scope.as_str().into()];
    let places = places(&mut params, tasks);
    let sql = format!(
        "-- store::tasks::list_artifacts
         select sequence, task_id, run_id, created_at, payload from events
          where task_id in ({places}) and scope_digest = $1 and kind = 'artifact'
          order by task_id, sequence"
    );
    let mut by_task: HashMap<TaskId, Result<Vec<Event>, Error>> = HashMap::new();
    for row in tx.query(&sql, &params).await? {
        let updates = by_task.entry(row.get("task_id")?).or_insert_with(|| Ok(Vec::new()));
        match (events::read(&row), &mut *updates) {
            (Ok(event), Ok(events)) => events.push(event),
            (Err(error), Ok(_)) => *updates = Err(error),
            (_, Err(_)) => {}
        }
    }
    Ok(by_task)
}
