//! Tasks as their owner reads them, their state changes, and cancellation.

pub mod list;
pub mod page_token;

use domain::{
    AgentKey, Event, EventBody, RunId, ScopeDigest, SessionId, TaskId, TaskState, Timestamp,
};

use crate::conversation::{self, StoredMessage};
use crate::events::{self, Place, Source};
use crate::{Error, Pool, Row, Tx, Value};

/// A task's own row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTask {
    pub id: TaskId,
    pub session: SessionId,
    pub context_id: String,
    pub state: TaskState,
    pub status_message: Option<String>,
    pub status_code: Option<String>,
    /// Never runs backwards. The event of that status has the same time.
    pub status_at: Timestamp,
    pub current_run: RunId,
}

/// A task with what a client sees of it, all read at one moment.
#[derive(Debug, Clone)]
pub struct TaskView {
    pub task: StoredTask,
    /// The newest messages that the client sees, oldest first.
    pub history: Vec<StoredMessage>,
    /// The artifact updates, oldest first; empty when they were not asked for.
    pub artifacts: Vec<Event>,
    /// The log's position at that moment: a subscriber goes on after it and misses nothing.
    pub position: i64,
}

/// What of a task is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    /// At most this many messages, of those that the client sees; `None` is all.
    pub history: Option<u32>,
    pub artifacts: bool,
}

/// The task that is asked for. Whatever else is read of it is joined to this, so that nothing is read
/// of a task that is not the caller's.
const TASK: &str = "-- store::tasks::view
    with task as (
        select t.task_id, t.session_id, s.context_id, t.state, t.status_message, t.status_code,
               t.status_at, t.current_run_id, s.last_sequence as sequence
          from tasks t join sessions s on s.session_id = t.session_id
         where t.task_id = $1 and t.scope_digest = $2 and t.agent_name = $3)
    select task.*, null as message_id, null as run_id, null as position, null as role, null as step,
           null as body, null as client_message_id, null as created_at, null as ordinal,
           null as part_id, null as kind, null as value, null as media_type, null as filename,
           null as metadata, null as payload
      from task";

/// A row for each message with one of its Parts, or with none.
const MESSAGES: &str = "
    union all
    select task.task_id, null, null, null, null, null, null, null, null, m.message_id, m.run_id,
           m.position, m.role, m.step, case when coalesce(p.ordinal, 0) = 0 then m.body end,
           m.client_message_id, m.created_at, p.ordinal, p.part_id, p.kind, p.value, p.media_type,
           p.filename, p.metadata, null
      from task join messages m on m.task_id = task.task_id and m.scope_digest = $2 and m.shown
           left join parts p on p.message_id = m.message_id";

/// Keeps the newest of them: those from the one on that has `$4` newer ones.
const NEWEST: &str = "
     where m.position >= coalesce(
               (select x.position from messages x
                 where x.task_id = $1 and x.scope_digest = $2 and x.shown
                 order by x.position desc limit 1 offset $4), 0)";

/// A row for each artifact update.
const ARTIFACTS: &str = "
    union all
    select task.task_id, null, null, null, null, null, null, null, e.sequence, null, e.run_id, null,
           null, null, null, null, e.created_at, null, null, null, null, null, null, null, e.payload
      from task join events e on e.task_id = task.task_id and e.scope_digest = $2
       and e.kind = 'artifact'";

/// Reads a task with all that is wanted of it, in one statement and so at one moment. `None` when it
/// does not exist, or belongs to another scope or agent: there is no telling which.
pub async fn view(
    pool: &Pool,
    scope: &ScopeDigest,
    agent: &AgentKey,
    task: TaskId,
    want: Want,
) -> Result<Option<TaskView>, Error> {
    let mut sql = TASK.to_owned();
    let mut params: Vec<Value> = vec![task.into(), scope.as_str().into(), agent.as_str().into()];
    if want.history != Some(0) {
        sql.push_str(MESSAGES);
    }
    if let Some(newest @ 1..) = want.history {
        sql.push_str(NEWEST);
        params.push(i64::from(newest - 1).into());
    }
    if want.artifacts {
        sql.push_str(ARTIFACTS);
    }
    sql.push_str(" order by position, ordinal, sequence");
    let (mut found, mut messages, mut artifacts) = (None, Vec::new(), Vec::new());
    for row in pool.query(&sql, &params).await? {
        if row.holds("message_id") {
            messages.push(row);
        } else if row.holds("payload") {
            artifacts.push(events::read(&row)?);
        } else {
            found = Some(row);
        }
    }
    let Some(row) = found else { return Ok(None) };
    Ok(Some(TaskView {
        task: read(&row)?,
        history: conversation::joined(&messages)?,
        artifacts,
        position: row.get("sequence")?,
    }))
}

/// The task's state alone, for those who wait for it.
pub async fn state(
    pool: &Pool,
    scope: &ScopeDigest,
    task: TaskId,
) -> Result<Option<TaskState>, Error> {
    let row = pool
        .query_opt(
            "-- store::tasks::state
             select state from tasks where task_id = $1 and scope_digest = $2",
            &[task.into(), scope.as_str().into()],
        )
        .await?;
    row.map(|row| read_state(&row)).transpose()
}

/// What became of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canceled {
    /// The task is canceled, now or since an earlier call.
    Yes,
    /// The task had ended otherwise.
    No(TaskState),
    /// No such task in this scope and agent.
    Unknown,
}

/// Ends a task at its client's wish: terminal status, event, the run's end and the loss of its
/// worker's lease are one transaction. Nothing follows the terminal status. May be repeated.
pub async fn cancel(
    pool: &Pool,
    scope: &ScopeDigest,
    agent: &AgentKey,
    task: TaskId,
) -> Result<Canceled, Error> {
    loop {
        let mut tx = pool.begin().await?;
        let row = tx
            .query_opt(
                "-- store::tasks::cancel_find
                 select current_run_id, session_id, state from tasks
                  where task_id = $1 and scope_digest = $2 and agent_name = $3",
                &[task.into(), scope.as_str().into(), agent.as_str().into()],
            )
            .await?;
        let Some(row) = row else { return Ok(Canceled::Unknown) };
        match read_state(&row)? {
            TaskState::Canceled => return Ok(Canceled::Yes),
            ended if ended.is_terminal() => return Ok(Canceled::No(ended)),
            _ => {}
        }
        let run: RunId = row.get("current_run_id")?;
        let source = Source { scope, session: row.get("session_id")?, task, run };
        // The run first: rows are locked in this order everywhere.
        tx.execute(
            "-- store::tasks::cancel_run
             update runs set state = 'aborted', fence = fence + 1, lease_owner = null,
                             lease_until = null, wake_at = null, ended_at = statement_timestamp()
              where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
        let changed = tx
            .execute(
                "-- store::tasks::cancel_task
                 update tasks set state = 'canceled', status_message = null, status_code = null,
                                  status_at = case when status_at > statement_timestamp()
                                                   then status_at else statement_timestamp() end,
                                  status_tx = this_transaction()
                  where task_id = $1 and scope_digest = $2 and current_run_id = $3
                    and state not in ('completed', 'failed', 'canceled', 'rejected')",
                &[task.into(), scope.as_str().into(), run.into()],
            )
            .await?;
        if changed == 0 {
            // The task ended or was continued between our look and our lock: look again.
            tx.rollback().await?;
            continue;
        }
        let status = EventBody::Status { state: TaskState::Canceled, message: None, code: None };
        events::append(&mut tx, source, None, &status).await?;
        crate::runs::let_go_of_sandbox(&mut tx, scope, run).await?;
        tx.commit().await?;
        return Ok(Canceled::Yes);
    }
}

/// Changes a task's state with its event, unless the task has ended; then nothing changes and the
/// answer is `false`.
pub(crate) async fn change(
    tx: &mut Tx,
    source: Source<'_>,
    place: Option<Place>,
    state: TaskState,
    message: Option<&str>,
    code: Option<&str>,
) -> Result<bool, Error> {
    let changed = tx
        .execute(
            "-- store::tasks::change
             update tasks set state = $3, status_message = $4, status_code = $5,
                              status_at = case when status_at > statement_timestamp()
                                               then status_at else statement_timestamp() end,
                              status_tx = this_transaction()
              where task_id = $1 and scope_digest = $2
                and state not in ('completed', 'failed', 'canceled', 'rejected')",
            &[
                source.task.into(),
                source.scope.as_str().into(),
                state.as_str().into(),
                message.into(),
                code.into(),
            ],
        )
        .await?;
    if changed == 0 {
        return Ok(false);
    }
    let status = EventBody::Status {
        state,
        message: message.map(str::to_owned),
        code: code.map(str::to_owned),
    };
    events::append(tx, source, place, &status).await?;
    Ok(true)
}

fn read_state(row: &Row) -> Result<TaskState, Error> {
    let state: String = row.get("state")?;
    state.parse().map_err(|source| Error::corrupt("tasks", "state", source))
}

fn read(row: &Row) -> Result<StoredTask, Error> {
    Ok(StoredTask {
        id: row.get("task_id")?,
        session: row.get("session_id")?,
        context_id: row.get("context_id")?,
        state: read_state(row)?,
        status_message: row.get("status_message")?,
        status_code: row.get("status_code")?,
        status_at: row.get("status_at")?,
        current_run: row.get("current_run_id")?,
    })
}
