//! The newest messages of several tasks at once, for pages of tasks.

use std::collections::HashMap;

use domain::{ScopeDigest, TaskId};

use super::{StoredMessage, joined};
use crate::driver::places;
use crate::{Error, Row, Tx, Value};

/// The messages of a task, or why they cannot be read.
pub type History = Result<Vec<StoredMessage>, Error>;

/// The newest `length` messages of each of `tasks` that its client sees, oldest first; at least one.
/// Tasks without any are absent.
///
/// One statement, and only rows that are wanted are read, however much else was said. What is
/// unreadable of one task takes nothing from the others.
pub(crate) async fn of_tasks(
    tx: &mut Tx,
    scope: &ScopeDigest,
    tasks: &[TaskId],
    length: u32,
) -> Result<HashMap<TaskId, History>, Error> {
    let before = i64::from(length).saturating_sub(1);
    let mut params: Vec<Value> = vec![scope.as_str().into(), before.into()];
    let places = places(&mut params, tasks);
    let sql = format!(
        "-- store::conversation::of_tasks
         select m.message_id, m.task_id, m.run_id, m.position, m.role, m.step,
                case when coalesce(p.ordinal, 0) = 0 then m.body end as body, m.client_message_id,
                m.created_at, p.part_id, p.kind, p.value, p.media_type, p.filename, p.metadata
           from tasks t
           join messages m on m.task_id = t.task_id and m.shown
                and m.position >= coalesce(
                        (select x.position from messages x where x.task_id = t.task_id and x.shown
                          order by x.position desc limit 1 offset $2), 0)
           left join parts p on p.message_id = m.message_id
          where t.task_id in ({places}) and t.scope_digest = $1 and m.scope_digest = $1
          order by m.task_id, m.position, p.ordinal"
    );
    let mut by_task: HashMap<TaskId, Vec<Row>> = HashMap::new();
    for row in tx.query(&sql, &params).await? {
        by_task.entry(row.get("task_id")?).or_default().push(row);
    }
    Ok(by_task.into_iter().map(|(task, rows)| (task, joined(&rows))).collect())
}
