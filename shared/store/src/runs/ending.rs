//! How runs end.
//!
//! **The status event is the last that a run appends**, in the transaction that ends it.

use domain::{EventBody, FailureCode, RunId, RunState, ScopeDigest, TaskState, limits};

use super::{Output, PlacedEvent, append_placed};
use crate::events::{self, Source};
use crate::lease::Lease;
use crate::{Error, Pool, Tx, tasks};

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Completed,
    /// Completed, with a word about it.
    Concluded {
        message: String,
    },
    /// Completed, with a message to the client in place of a task, where this is the task's first
    /// run: the client of a later one knows the task, and gets the message with its status.
    Replied {
        text: String,
    },
    /// The agent will not do what was asked.
    Rejected {
        message: String,
    },
    Failed {
        code: FailureCode,
        message: String,
    },
    /// The task waits for its client.
    InputRequired {
        message: String,
    },
    /// The task waits until its client has authorised something, elsewhere.
    AuthRequired {
        message: String,
    },
}

impl Ending {
    fn states(&self) -> (RunState, TaskState) {
        match self {
            Self::Completed | Self::Concluded { .. } | Self::Replied { .. } => {
                (RunState::Done, TaskState::Completed)
            }
            Self::Rejected { .. } => (RunState::Rejected, TaskState::Rejected),
            Self::Failed { .. } => (RunState::Failed, TaskState::Failed),
            Self::InputRequired { .. } => (RunState::Interrupted, TaskState::InputRequired),
            Self::AuthRequired { .. } => (RunState::Interrupted, TaskState::AuthRequired),
        }
    }

    fn words(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Completed => (None, None),
            Self::Failed { code, message } => (Some(message), Some(code.as_str())),
            Self::Concluded { message }
            | Self::Replied { text: message }
            | Self::Rejected { message }
            | Self::InputRequired { message }
            | Self::AuthRequired { message } => (Some(message), None),
        }
    }
}

/// P10 and P8: last events, the run's end, the task's status and the sandbox's release from the
/// run, in one transaction. The status event is the last that the run ever appends.
pub async fn finish(
    pool: &Pool,
    lease: Lease,
    last: &[PlacedEvent],
    ending: &Ending,
) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    lease.guard(&mut tx).await?;
    append_placed(&mut tx, &lease, last, Output::default()).await?;
    end(&mut tx, lease.source(), ending).await?;
    tx.commit().await
}

/// Ends a run whose row the transaction has locked.
pub(crate) async fn end(tx: &mut Tx, source: Source<'_>, ending: &Ending) -> Result<(), Error> {
    let (run_state, task_state) = ending.states();
    let (message, code) = ending.words();
    if let Ending::Replied { text } = ending
        && is_first(tx, source).await?
    {
        let reply = EventBody::Reply { text: text.clone() };
        events::append(tx, source, None, &reply).await?;
    }
    tx.execute(
        "-- store::runs::end
         update runs set state = $3, failure_code = $4, fence = fence + 1, lease_owner = null,
                         lease_until = null, wake_at = null, ended_at = statement_timestamp()
          where run_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
        &[source.run.into(), source.scope.as_str().into(), run_state.as_str().into(), code.into()],
    )
    .await?;
    tasks::change(tx, source, None, task_state, message, code).await?;
    let_go_of_sandbox(tx, source.scope, source.run).await
}

/// Whether the run is the first of its task.
async fn is_first(tx: &mut Tx, source: Source<'_>) -> Result<bool, Error> {
    let row = tx
        .query_opt(
            "-- store::runs::is_first
             select run_id from runs where run_id = $1 and scope_digest = $2 and attempt = 1",
            &[source.run.into(), source.scope.as_str().into()],
        )
        .await?;
    Ok(row.is_some())
}

/// Frees the workspace that the run held. Its sandbox stays for the session's next run until it has
/// been idle for long.
pub(crate) async fn let_go_of_sandbox(
    tx: &mut Tx,
    scope: &ScopeDigest,
    run: RunId,
) -> Result<(), Error> {
    tx.execute(
        "-- store::runs::let_go_of_sandbox
         update sandbox_leases
            set holder_run_id = null, lease_until = null, idle_release_at = seconds_from_now($3),
                updated_at = statement_timestamp()
          where holder_run_id = $1 and scope_digest = $2",
        &[run.into(), scope.as_str().into(), limits::SANDBOX_IDLE.as_secs_f64().into()],
    )
    .await?;
    Ok(())
}
