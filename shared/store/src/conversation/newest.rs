//! The newest messages of several tasks at once, for pages of tasks.

use std::collections::HashMap;

use domain::{MessageId, ScopeDigest, TaskId};

use super::{StoredMessage, read, read_part};
use crate::driver::places;
use crate::{Error, Row, Tx, Value};

/// How many messages of each task are wanted, and which count.
#[derive(Debug, Clone, Copy)]
pub struct Newest {
    pub length: u32,
    /// Whether clients see this message: a turn that only calls tools says nothing to them.
    pub counts: fn(&StoredMessage) -> bool,
}

/// So many more are read than are wanted, since some do not count.
const SPARE: i64 = 16;
/// Ids in one statement.
const CHUNK: usize = 500;

/// The messages of a task, or why they cannot be read.
pub type History = Result<Vec<StoredMessage>, Error>;

/// The newest messages that count of each of `tasks`, oldest first. Tasks without any are absent.
///
/// One statement reads the messages of all tasks, another one the Parts of those that are kept. Only
/// a task whose newest messages mostly do not count costs a second look. What is unreadable of one
/// task takes nothing from the others.
pub(crate) async fn of_tasks(
    tx: &mut Tx,
    scope: &ScopeDigest,
    tasks: &[TaskId],
    newest: Newest,
) -> Result<HashMap<TaskId, History>, Error> {
    let wanted = usize::try_from(newest.length).unwrap_or(usize::MAX);
    let limit = i64::from(newest.length) + SPARE;
    let mut found = HashMap::new();
    let mut short = Vec::new();
    for (task, rows) in ranked(tx, scope, tasks, limit).await? {
        let all = rows.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        let history = kept(&rows, newest, wanted);
        if !all && history.as_ref().is_ok_and(|history| history.len() < wanted) {
            short.push(task);
        } else {
            found.insert(task, history);
        }
    }
    if !short.is_empty() {
        for (task, rows) in ranked(tx, scope, &short, i64::MAX).await? {
            found.insert(task, kept(&rows, newest, wanted));
        }
    }
    fill(tx, scope, &mut found).await?;
    Ok(found)
}

/// The newest messages of client and agent, oldest first, by their task.
async fn ranked(
    tx: &mut Tx,
    scope: &ScopeDigest,
    tasks: &[TaskId],
    limit: i64,
) -> Result<HashMap<TaskId, Vec<Row>>, Error> {
    let mut params: Vec<Value> = vec![scope.as_str().into(), limit.into()];
    let places = places(&mut params, tasks);
    let sql = format!(
        "-- store::conversation::of_tasks
         select message_id, task_id, run_id, position, role, step, body, client_message_id, created_at
           from (select message_id, task_id, run_id, position, role, step, body, client_message_id,
                        created_at,
                        row_number() over (partition by task_id order by position desc) as newest
                   from messages
                  where task_id in ({places}) and scope_digest = $1
                    and role in ('user', 'assistant')) ranked
          where newest <= $2
          order by task_id, position"
    );
    let mut by_task: HashMap<TaskId, Vec<Row>> = HashMap::new();
    for row in tx.query(&sql, &params).await? {
        by_task.entry(row.get("task_id")?).or_default().push(row);
    }
    Ok(by_task)
}

/// The last `wanted` of the rows that count.
fn kept(rows: &[Row], newest: Newest, wanted: usize) -> History {
    let mut messages = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    messages.retain(newest.counts);
    messages.drain(..messages.len().saturating_sub(wanted));
    Ok(messages)
}

/// Gives the messages their Parts.
async fn fill(
    tx: &mut Tx,
    scope: &ScopeDigest,
    found: &mut HashMap<TaskId, History>,
) -> Result<(), Error> {
    let mut owners: HashMap<MessageId, (TaskId, usize)> = HashMap::new();
    for (task, history) in found.iter() {
        for (index, message) in history.iter().flatten().enumerate() {
            owners.insert(message.id, (*task, index));
        }
    }
    let ids: Vec<MessageId> = owners.keys().copied().collect();
    for chunk in ids.chunks(CHUNK) {
        let mut params: Vec<Value> = vec![scope.as_str().into()];
        let places = places(&mut params, chunk);
        let sql = format!(
            "-- store::conversation::parts_of
             select message_id, part_id, kind, value, media_type, filename, metadata from parts
              where message_id in ({places}) and scope_digest = $1
              order by message_id, ordinal"
        );
        for row in tx.query(&sql, &params).await? {
            let Some((task, index)) = owners.get(&row.get("message_id")?) else { continue };
            let Some(history) = found.get_mut(task) else { continue };
            match (read_part(&row), &mut *history) {
                (Ok(part), Ok(messages)) => {
                    messages.get_mut(*index).into_iter().for_each(|message| {
                        message.parts.push(part.clone());
                    });
                }
                (Err(error), Ok(_)) => *history = Err(error),
                (_, Err(_)) => {}
            }
        }
    }
    Ok(())
}
