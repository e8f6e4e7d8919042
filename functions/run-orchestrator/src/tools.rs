//! One tool call, from its request to its result.
//!
//! **An effect is noted before it begins (P5), in a way that lets a later worker find out how it
//! ended.** What a call of each kind does after a crash is in its own module (agent-loop.md §22.5).

mod execute;
mod files;
mod parts;
mod publish;
mod reach;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::{ToolCode, ToolError, ToolRequest, ToolResult, tools::ReadPath};
use store::calls::{self, StoredCall};

use crate::log::Log;
use crate::note::{Note, Unusable};
use crate::sandbox::Sandbox;
use crate::worker::{Stop, Worker};

pub(crate) use execute::stop_commands;

/// A call that may begin.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) worker: &'a Worker<'a>,
    pub(crate) log: &'a Log,
    pub(crate) call: &'a StoredCall,
    pub(crate) request: &'a ToolRequest,
    /// Absent where the run has none yet.
    pub(crate) sandbox: Option<Arc<Sandbox>>,
    /// Whether this attempt is counted.
    pub(crate) begun: AtomicBool,
}

/// How far a call came.
#[derive(Debug)]
pub(crate) enum End {
    Result(ToolResult),
    /// It has no result yet.
    Wait(Wait),
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// News of a sandbox or of a publication: a signal comes.
    Signal,
    /// A command that runs on: worth a look after this long.
    Command(Duration),
}

impl From<ToolResult> for End {
    fn from(result: ToolResult) -> Self {
        Self::Result(result)
    }
}

impl From<ToolError> for End {
    fn from(error: ToolError) -> Self {
        Self::Result(error.into())
    }
}

/// Whether a call can do without a sandbox.
pub(crate) fn needs_sandbox(request: &ToolRequest) -> bool {
    !matches!(request, ToolRequest::ReadFile(read) if matches!(read.path, ReadPath::Part(_)))
}

impl Job<'_> {
    /// Runs the call and commits its result, if it has one.
    pub(crate) async fn run(&self) -> Result<Option<Wait>, Stop> {
        match self.end().await? {
            End::Result(result) => {
                self.worker.finish_call(self.call, result).await?;
                self.after_commit().await;
                Ok(None)
            }
            End::Wait(wait) => Ok(Some(wait)),
        }
    }

    async fn end(&self) -> Result<End, Stop> {
        if let ToolRequest::ReadFile(read) = self.request
            && let ReadPath::Part(id) = &read.path
        {
            return Ok(parts::read(self.log, read, id).into());
        }
        let Some(sandbox) = &self.sandbox else { return Ok(End::Wait(Wait::Signal)) };
        match self.request {
            // It has had its result since its turn was committed; see [`agent::speech`].
            ToolRequest::Say(_) => Ok(failed().into()),
            ToolRequest::Ls(ls) => self.ls(sandbox, ls).await,
            ToolRequest::ReadFile(read) => self.read_file(sandbox, read).await,
            ToolRequest::WriteFile(write) => self.write_file(sandbox, write).await,
            ToolRequest::EditFile(edit) => self.edit_file(sandbox, edit).await,
            ToolRequest::Delete(delete) => self.delete(sandbox, delete).await,
            ToolRequest::Glob(glob) => self.glob(sandbox, glob).await,
            ToolRequest::Grep(grep) => self.grep(sandbox, grep).await,
            ToolRequest::Execute(execute) => self.execute(sandbox, execute).await,
            ToolRequest::PublishArtifact(publish) => self.publish(sandbox, publish).await,
        }
    }

    /// P5: from here on the call may have taken effect.
    async fn begin(&self, note: Option<&Note>) -> Result<(), Stop> {
        self.begun.store(true, Ordering::Relaxed);
        let note = note.map(Note::to_json).transpose();
        let note = note.map_err(|source| Stop::Store(store::Error::Json(source)))?;
        let call = &self.call.call;
        Ok(calls::start(&self.worker.on.pool, &self.worker.lease, call, note.as_deref()).await?)
    }

    /// What an earlier attempt noted, as `wanted` takes it.
    fn noted<T>(&self, wanted: impl FnOnce(Note) -> Option<T>) -> Result<Option<T>, Stop> {
        let Some(text) = &self.call.handle else { return Ok(None) };
        let note = Note::from_json(text).and_then(|note| wanted(note).ok_or(Unusable::Kind));
        note.map(Some)
            .map_err(|source| Stop::Store(store::Error::corrupt("tool_calls", "handle", source)))
    }

    async fn after_commit(&self) {
        if matches!(self.request, ToolRequest::Execute(_)) {
            self.acknowledge_command().await;
        }
    }
}

/// The call met something that it cannot do anything about. Causes are in the log, not in the text.
fn failed() -> ToolError {
    ToolError::new(ToolCode::ToolFailed, "The tool failed for a reason of our own.")
}

/// The call may or may not have taken effect, and is not made again.
fn outcome_unknown() -> ToolError {
    ToolError::new(
        ToolCode::OutcomeUnknown,
        "The workspace was lost while this ran. It may or may not have taken effect; look before \
         doing it again.",
    )
}
