//! Reaching the sandbox: what is tried again, and what becomes of a call when nobody answers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::{ToolCode, ToolError, ToolRequest};
use lambda_kit::chain;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::client::{Client, Error};
use store::calls::CallState;
use store::runs;

use super::{End, Job, Wait, failed, outcome_unknown};
use crate::sandbox::Sandbox;
use crate::worker::Stop;

/// A request is made this often before the sandbox counts as out of reach.
const REQUESTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// A call is begun this often before it is given up; by crashes, too.
const ATTEMPTS: i32 = 5;

/// What came of a request.
#[derive(Debug)]
pub(super) enum Reply<T> {
    Yes(T),
    /// The sandbox said no; the model may react to it.
    No(Error),
    /// Nobody answered, or not to us.
    Silence,
}

enum Class {
    No,
    /// The sandbox has not heard of our generation, or nobody renewed its lease while the run
    /// rested.
    Introduce,
    Again,
    /// Another try cannot help.
    Hopeless,
}

const fn class(error: &Error) -> Class {
    match error {
        Error::Unreachable(_)
        | Error::Interrupted(_)
        | Error::NotReady
        | Error::Busy
        | Error::Refused { code: ErrorCode::Internal | ErrorCode::Other, .. } => Class::Again,
        Error::NotFound | Error::TooLarge | Error::Refused { .. } => Class::No,
        Error::UnknownGeneration | Error::Fenced => Class::Introduce,
        Error::Unauthorized | Error::BadReply(_) | Error::Request(_) => Class::Hopeless,
    }
}

impl Job<'_> {
    /// Makes a request that may be repeated: all of them may, since each either changes nothing,
    /// makes the same thing again, or is recognised by the sandbox.
    pub(super) async fn reach<T, F>(
        &self,
        sandbox: &Sandbox,
        request: impl Fn(Client) -> F,
    ) -> Result<Reply<T>, Stop>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut pause = FIRST_PAUSE;
        for left in (0..REQUESTS).rev() {
            let error = match request(sandbox.client.clone()).await {
                Ok(reply) => return Ok(Reply::Yes(reply)),
                Err(error) => error,
            };
            match class(&error) {
                Class::No => return Ok(Reply::No(error)),
                Class::Introduce => {
                    if let Err(error) = sandbox.renew(self.worker.on.clock.now()).await {
                        self.note(&error);
                        break;
                    }
                }
                Class::Again if left > 0 => {
                    self.worker.sleep(pause).await?;
                    pause *= 2;
                }
                Class::Again | Class::Hopeless => {
                    self.note(&error);
                    break;
                }
            }
        }
        Ok(Reply::Silence)
    }

    fn note(&self, error: &Error) {
        let run = self.worker.run();
        tracing::warn!(run.id = %run, tool = self.call.tool, "{run} {}: {}", self.call.tool, chain(error));
    }

    /// Nobody answered. The controller looks after the sandbox, and the call is made again when
    /// there is news; after too many attempts it gets an error instead.
    pub(super) async fn unanswered(&self) -> Result<End, Stop> {
        // A worker that was overtaken is refused by the sandbox too, and must not report it.
        runs::look(&self.worker.on.pool, &self.worker.lease).await?;
        if self.call.attempt + 1 >= ATTEMPTS {
            let journaled = matches!(self.request, ToolRequest::Execute(_));
            let begun = self.call.state == CallState::Started;
            return Ok(if journaled && begun { outcome_unknown() } else { failed() }.into());
        }
        if !self.begun.load(Ordering::Relaxed) {
            self.begin(None).await?;
        }
        self.worker.give_up_sandbox().await?;
        Ok(End::Wait(Wait::Signal))
    }
}

/// What a no means to the model. `missing` is the code for a path where nothing stands.
pub(super) fn refusal(error: &Error, missing: ToolCode) -> ToolError {
    let (code, text) = match error.code() {
        Some(ErrorCode::NotFound) => (missing, "There is nothing at this path."),
        Some(ErrorCode::InvalidPath) => {
            (ToolCode::InvalidPath, "The workspace does not allow this path.")
        }
        Some(ErrorCode::IsDirectory) => (ToolCode::IsDirectory, "The path names a folder."),
        Some(ErrorCode::NotAFile) => {
            (ToolCode::NotAFile, "What stands at this path is of another kind.")
        }
        Some(ErrorCode::PermissionDenied) => {
            (ToolCode::PermissionDenied, "The workspace does not permit this at this path.")
        }
        Some(ErrorCode::TooLarge) => (ToolCode::TooLarge, "The file is too large for this."),
        Some(ErrorCode::LimitExceeded) => (ToolCode::ToolFailed, "The workspace has no room left."),
        Some(ErrorCode::Conflict) => {
            (ToolCode::NotAFile, "A part of the path is a file, not a folder.")
        }
        Some(ErrorCode::Timeout) => (ToolCode::Timeout, "It took too long. Be more specific."),
        _ => return failed(),
    };
    ToolError::new(code, text)
}
