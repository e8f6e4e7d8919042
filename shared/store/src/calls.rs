//! Tool calls: planned with the model's answer, begun before their effect, done with their result.
//!
//! ```text
//! planned ──start──► started ──finish──► done
//!                      │  ▲
//!                      └──┘ start again, by a later worker that found out that it may
//! ```

use domain::{CallId, RunId, ScopeDigest};

use crate::driver::Json;
use crate::lease::Lease;
use crate::runs::{self, Output, PlacedEvent};
use crate::steps::{self, LoopMessage, Spoken};
use crate::{Error, Pool, Row, Tx};

/// A call as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    pub call: CallId,
    pub step: i32,
    pub ordinal: i32,
    pub tool: String,
    pub args: String,
    pub state: CallState,
    pub attempt: i32,
    /// A JSON object that an earlier attempt left.
    pub handle: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    Planned,
    Started,
    Done,
}

/// The calls of a run that have no result yet, in call order.
pub async fn open(pool: &Pool, scope: &ScopeDigest, run: RunId) -> Result<Vec<StoredCall>, Error> {
    let rows = pool
        .query(
            "-- store::calls::open
             select call_id, step, ordinal, tool, args, state, attempt, handle from tool_calls
              where run_id = $1 and scope_digest = $2 and state <> 'done'
              order by step, ordinal",
            &[run.into(), scope.as_str().into()],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// P5: notes that a call begins, with what is needed to find out how it ended. Before any effect.
pub async fn start(
    pool: &Pool,
    lease: &Lease,
    call: &CallId,
    handle: Option<&str>,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    begin(&mut tx, lease, call, handle).await?;
    tx.commit().await
}

pub(crate) async fn begin(
    tx: &mut Tx,
    lease: &Lease,
    call: &CallId,
    handle: Option<&str>,
) -> Result<(), Error> {
    let changed = tx
        .execute(
            "-- store::calls::start
             update tool_calls set state = 'started', attempt = attempt + 1,
                                   handle = coalesce($4, handle),
                                   started_at = statement_timestamp()
              where run_id = $1 and call_id = $2 and scope_digest = $3 and state <> 'done'",
            &[
                lease.run.into(),
                call.0.as_str().into(),
                lease.scope.as_str().into(),
                handle.map(|handle| Json(handle.to_owned())).into(),
            ],
        )
        .await?;
    if changed == 1 { Ok(()) } else { Err(Error::Conflict) }
}

/// P6: makes a call's result history, once. A second result for the same call changes nothing and
/// is answered by `Conflict`.
pub async fn finish(
    pool: &Pool,
    lease: &Lease,
    call: &StoredCall,
    result: &LoopMessage,
    events: &[PlacedEvent],
    output: Output,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let changed = tx
        .execute(
            "-- store::calls::finish
             update tool_calls set state = 'done', result_message_id = $4,
                                   finished_at = statement_timestamp()
              where run_id = $1 and call_id = $2 and scope_digest = $3 and state <> 'done'",
            &[
                lease.run.into(),
                call.call.0.as_str().into(),
                lease.scope.as_str().into(),
                result.id.into(),
            ],
        )
        .await?;
    if changed == 0 {
        return Err(Error::Conflict);
    }
    steps::put_message(&mut tx, lease, Spoken::ByTool, call.step, result).await?;
    runs::append_placed(&mut tx, lease, events, output).await?;
    tx.execute(
        "-- store::calls::progress
         update runs set crash_count = 0 where run_id = $1 and scope_digest = $2",
        &[lease.run.into(), lease.scope.as_str().into()],
    )
    .await?;
    tx.commit().await
}

fn read(row: &Row) -> Result<StoredCall, Error> {
    let state: String = row.get("state")?;
    Ok(StoredCall {
        call: CallId(row.get("call_id")?),
        step: row.get("step")?,
        ordinal: row.get("ordinal")?,
        tool: row.get("tool")?,
        args: row.get("args")?,
        state: match state.as_str() {
            "planned" => CallState::Planned,
            "started" => CallState::Started,
            "done" => CallState::Done,
            _ => {
                return Err(Error::corrupt("tool_calls", "state", domain::state::UnknownWord));
            }
        },
        attempt: row.get("attempt")?,
        handle: row.get::<Option<Json>>("handle")?.map(|json| json.0),
    })
}
