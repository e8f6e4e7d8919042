//! `execute`: a command in the sandbox, started once.
//!
//! **The sandbox's journal knows every command by an id that follows from run and call.** So a start
//! may be repeated: the same sandbox recognises it, and another sandbox is not asked, since nobody
//! knows how far the command came in the one that was lost. The record is acknowledged only when
//! the result is history.

use std::time::Duration;

use agent::ToolResult;
use agent::ids;
use agent::tools::command::{self, CommandOutput};
use agent::tools::{BuiltIn, Execute, WORKSPACE};
use lambda_kit::chain;
use sandbox_protocol::client::Error;
use sandbox_protocol::exec::{
    Capture, CapturedContent, ExecState, ExecStatus, KillExec, StartExec,
};
use store::Lease;
use store::calls::{self, CallState};

use super::reach::{Reply, refusal};
use super::{End, Job, Wait, outcome_unknown};
use crate::Orchestrator;
use crate::note::{Command, Note};
use crate::sandbox::Sandbox;
use crate::worker::Stop;

/// Where the output of a command goes that is too long to be shown.
const LARGE_RESULTS: &str = "large_tool_results";
/// A poll shorter than this is not worth the invocation's last seconds.
const SHORTEST_POLL: Duration = Duration::from_millis(500);
/// How long a run rests while its command runs on: a quarter of what the command took so far.
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// What ending the commands of a run may take in all.
const STOPPING: Duration = Duration::from_secs(5);

impl Job<'_> {
    pub(super) async fn execute(&self, sandbox: &Sandbox, execute: &Execute) -> Result<End, Stop> {
        let command = |note| match note {
            Note::Command(command) => Some(command),
            Note::Edit(_) | Note::Delete => None,
        };
        match self.noted(command)? {
            Some(begun) if begun.instance != sandbox.instance => {
                return Ok(outcome_unknown().into());
            }
            Some(_) => {}
            None => {
                let Sandbox { instance, generation, .. } = *sandbox;
                self.begin(Some(&Note::Command(Command { instance, generation }))).await?;
            }
        }
        let id = ids::exec(self.worker.run(), &self.call.call);
        let start = &self.start_of(execute);
        let started =
            self.reach(sandbox, |client| async move { client.exec_start(id, start).await }).await;
        let mut status = match started? {
            Reply::Yes(started) => started.into_status(),
            // The journal knows the id and has nothing to say of it any more.
            Reply::No(Error::Refused { code: sandbox_protocol::ErrorCode::Conflict, .. }) => {
                return Ok(outcome_unknown().into());
            }
            Reply::No(error) => return Ok(refusal(&error, agent::ToolCode::ToolFailed).into()),
            Reply::Silence => return self.unanswered().await,
        };
        while !status.is_over() {
            let time = &self.worker.on.settings.time;
            let wait = time.poll.min(self.worker.budget.less(time.reserve));
            if wait < SHORTEST_POLL.min(time.poll) {
                return Ok(End::Wait(Wait::Command(rest(&status))));
            }
            let polled =
                self.reach(sandbox, |client| async move { client.exec_wait(id, wait).await }).await;
            status = match polled? {
                Reply::Yes(status) => status,
                Reply::No(_) => return Ok(outcome_unknown().into()),
                Reply::Silence => return self.unanswered().await,
            };
        }
        Ok(result(status).into())
    }

    /// The same for every attempt, or the journal would take it for another command.
    fn start_of(&self, execute: &Execute) -> StartExec {
        StartExec {
            timeout_s: Some(u32::try_from(execute.timeout.as_secs()).unwrap_or(u32::MAX)),
            capture: Some(Capture {
                path: Some(format!("{LARGE_RESULTS}/{}.txt", self.call.call.0)),
                ..Capture::default()
            }),
            ..StartExec::shell(execute.command.clone())
        }
    }

    /// The result is history: the journal may forget the command. Nothing depends on it.
    pub(super) async fn acknowledge_command(&self) {
        let Some(sandbox) = &self.sandbox else { return };
        let id = ids::exec(self.worker.run(), &self.call.call);
        match sandbox.client.exec_ack(id).await {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => tracing::debug!("the journal keeps a command: {}", chain(&error)),
        }
    }
}

fn rest(status: &ExecStatus) -> Duration {
    (Duration::from_millis(status.duration_ms) / 4).clamp(FIRST_REST, LONGEST_REST)
}

fn result(status: ExecStatus) -> ToolResult {
    let timed_out = match status.state {
        ExecState::Lost => return outcome_unknown().into(),
        ExecState::TimedOut => true,
        ExecState::Running | ExecState::Exited | ExecState::Killed => false,
    };
    let mut output = CommandOutput {
        exit_code: status.exit_code,
        timed_out,
        truncated: status.output_dropped,
        ..CommandOutput::default()
    };
    if let Some(captured) = status.output {
        output.total_bytes = Some(captured.total_bytes);
        match captured.content {
            CapturedContent::Inline { text } => output.output = text,
            CapturedContent::Preview { head, tail, path, .. } => {
                output.output = format!("{head}\n[…]\n{tail}");
                output.truncated = true;
                output.saved_to = path.map(|path| format!("{WORKSPACE}/{path}"));
            }
        }
    }
    command::render(&output)
}

/// Ends the commands that the run has left running in the sandbox, as far as it answers.
pub(crate) async fn stop_commands(on: &Orchestrator, lease: &Lease, sandbox: &Sandbox) {
    let stopping = async {
        let open = calls::open(&on.pool, lease.scope(), lease.run()).await;
        let open = match open {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!("commands may run on: {}", chain(&error));
                return;
            }
        };
        for call in open {
            if call.tool != BuiltIn::Execute.name() || call.state != CallState::Started {
                continue;
            }
            let id = ids::exec(lease.run(), &call.call);
            match sandbox.client.exec_kill(id, &KillExec::default()).await {
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => tracing::warn!("a command may run on: {}", chain(&error)),
            }
        }
    };
    if tokio::time::timeout(STOPPING, stopping).await.is_err() {
        tracing::warn!("commands may run on: the sandbox took too long");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: ExecState) -> ExecStatus {
        ExecStatus {
            id: "x".into(),
            state,
            exit_code: Some(3),
            signal: None,
            duration_ms: 0,
            stdout: None,
            stderr: None,
            output: None,
            output_dropped: false,
        }
    }

    #[test]
    fn the_rest_grows_with_the_command_within_bounds() {
        let rest_after = |ms| rest(&ExecStatus { duration_ms: ms, ..status(ExecState::Running) });
        assert_eq!(rest_after(0), FIRST_REST);
        assert_eq!(rest_after(100_000), Duration::from_secs(25));
        assert_eq!(rest_after(u64::MAX), LONGEST_REST);
    }

    #[test]
    fn t17_a_command_that_failed_is_a_success_and_a_lost_one_is_unknown() {
        assert!(result(status(ExecState::Exited)).is_ok());
        assert!(result(status(ExecState::TimedOut)).is_ok());
        let lost = result(status(ExecState::Lost));
        assert_eq!(lost.code, Some(agent::ToolCode::OutcomeUnknown));
    }
}
