//! Model steps: begun before the model is asked, history once its answer is committed.

use domain::{CallId, MessageId};

use crate::conversation::{self, NewMessage, Role};
use crate::driver::Json;
use crate::lease::Lease;
use crate::runs::{self, Output, PlacedEvent};
use crate::{Error, Pool, Tx};

/// P3: notes that a model step begins, and returns its attempt: 1, or more when a worker died in
/// it. An answer that was not committed is asked for again.
pub async fn begin(
    pool: &Pool,
    lease: &Lease,
    step: i32,
    provider: &str,
    model: &str,
) -> Result<i32, Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let row = tx
        .query_opt(
            "-- store::steps::begin
             insert into run_steps (run_id, step, scope_digest, attempt, fence, state, provider,
                                    model, started_at)
             values ($1, $2, $3, 1, $4, 'started', $5, $6, statement_timestamp())
             on conflict (run_id, step) do update
                set attempt = run_steps.attempt + 1, fence = $4,
                    started_at = statement_timestamp()
              where run_steps.state = 'started'
             returning attempt",
            &[
                lease.run.into(),
                step.into(),
                lease.scope.as_str().into(),
                lease.fence.into(),
                provider.into(),
                model.into(),
            ],
        )
        .await?
        .ok_or(Error::Conflict)?;
    let attempt = row.get("attempt")?;
    tx.commit().await?;
    Ok(attempt)
}

/// A message that the loop wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopMessage {
    pub id: MessageId,
    /// Versioned JSON of the loop's own.
    pub body: String,
}

/// A tool call that the model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    pub call: CallId,
    pub ordinal: i32,
    pub tool: String,
    /// A JSON object.
    pub args: String,
}

/// A model's whole answer.
#[derive(Debug, Clone)]
pub struct ModelCommit<'a> {
    pub step: i32,
    pub attempt: i32,
    pub message: LoopMessage,
    /// Whether the message says anything to the client: whether it has text, beside calls.
    pub speaks: bool,
    /// Calls that are to be executed.
    pub calls: Vec<PlannedCall>,
    /// Results of calls that are answered without being executed.
    pub answered: Vec<LoopMessage>,
    pub stop_reason: &'a str,
    /// A JSON object; `None` when the provider reported nothing.
    pub usage: Option<String>,
    pub events: Vec<PlacedEvent>,
    pub output: Output,
}

/// P4: makes a model's answer history: message, calls, events and counters at once. From here on
/// the model is not asked again for this step.
pub async fn commit(pool: &Pool, lease: &Lease, commit: &ModelCommit<'_>) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    let changed = tx
        .execute(
            "-- store::steps::commit
             update run_steps set state = 'committed', stop_reason = $5, usage = $6,
                                  committed_at = statement_timestamp()
              where run_id = $1 and step = $2 and scope_digest = $3 and attempt = $4
                and state = 'started'",
            &[
                lease.run.into(),
                commit.step.into(),
                lease.scope.as_str().into(),
                commit.attempt.into(),
                commit.stop_reason.into(),
                commit.usage.clone().map(Json).into(),
            ],
        )
        .await?;
    if changed == 0 {
        return Err(Error::Conflict);
    }
    let spoken = Spoken::ByModel { shown: commit.speaks };
    put_message(&mut tx, lease, spoken, commit.step, &commit.message).await?;
    for answered in &commit.answered {
        put_message(&mut tx, lease, Spoken::ByTool, commit.step, answered).await?;
    }
    for call in &commit.calls {
        tx.execute(
            "-- store::steps::plan_call
             insert into tool_calls (run_id, call_id, scope_digest, step, ordinal, tool, args,
                                     state, attempt)
             values ($1, $2, $3, $4, $5, $6, $7, 'planned', 0)",
            &[
                lease.run.into(),
                call.call.0.as_str().into(),
                lease.scope.as_str().into(),
                commit.step.into(),
                call.ordinal.into(),
                call.tool.as_str().into(),
                call.args.as_str().into(),
            ],
        )
        .await?;
    }
    runs::append_placed(&mut tx, lease, &commit.events, commit.output).await?;
    let calls = i32::try_from(commit.calls.len()).unwrap_or(i32::MAX);
    tx.execute(
        "-- store::steps::advance
         update runs set next_step = $3, model_calls = model_calls + 1,
                         tool_calls = tool_calls + $4, crash_count = 0
          where run_id = $1 and scope_digest = $2",
        &[lease.run.into(), lease.scope.as_str().into(), (commit.step + 1).into(), calls.into()],
    )
    .await?;
    tx.commit().await
}

/// Whose message it is, and whether the task's client sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spoken {
    ByModel { shown: bool },
    ByTool,
}

pub(crate) async fn put_message(
    tx: &mut Tx,
    lease: &Lease,
    spoken: Spoken,
    step: i32,
    message: &LoopMessage,
) -> Result<(), Error> {
    let (role, shown) = match spoken {
        Spoken::ByModel { shown } => (Role::Assistant, shown),
        Spoken::ByTool => (Role::Tool, false),
    };
    conversation::append(
        tx,
        &NewMessage {
            id: message.id,
            scope: &lease.scope,
            session: lease.session,
            task: lease.task,
            run: lease.run,
            role,
            step: Some(step),
            body: &message.body,
            shown,
            // Only a client's ids are unique within an agent.
            agent: "",
            client_message_id: None,
            idempotency_key: None,
            fingerprint: None,
        },
    )
    .await?;
    Ok(())
}

/// P2: answers calls that an earlier run of the session left open, at the start of a run. The
/// messages' ids are derived, so that repeating this adds nothing.
pub async fn patch_dangling(
    pool: &Pool,
    lease: &Lease,
    results: &[LoopMessage],
) -> Result<(), Error> {
    if results.is_empty() {
        return Ok(());
    }
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    for result in results {
        let known = tx
            .query_opt(
                "-- store::steps::patched
                 select message_id from messages where message_id = $1 and scope_digest = $2",
                &[result.id.into(), lease.scope.as_str().into()],
            )
            .await?;
        if known.is_none() {
            put_message(&mut tx, lease, Spoken::ByTool, 0, result).await?;
        }
    }
    tx.commit().await
}
