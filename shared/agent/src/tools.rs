//! The built-in tools: what the model is told of them, how its arguments become a typed request,
//! and how an answer becomes text (agent-loop.md §4).
//!
//! **A request that exists has been checked**: [`parse`] is the only way from a model's arguments
//! to a [`ToolRequest`], and it reports every violation at once, without repeating a value.

pub mod command;
pub mod files;
pub mod grep;
pub mod listing;
pub mod media;
pub mod path;
pub mod read;

mod args;
mod catalogue;
mod request;
mod result;
mod say;

pub use args::Violation;
pub use catalogue::{BuiltIn, ToolSpec, specs};
pub use path::{ReadPath, WORKSPACE, WorkspacePath};
pub use request::{
    Delete, EditFile, Execute, Glob, Grep, GrepMode, Idempotency, Ls, PublishArtifact, ReadFile,
    ToolRequest, WriteFile, parse, unknown,
};
pub use result::{ToolCode, ToolError, ToolResult};
pub use say::{MAX_ARTIFACT_ID, PutArtifact, Say};

/// Most characters of one result's text.
pub const RESULT_CHARS: usize = 80_000;
/// Most bytes that `write_file` takes.
pub const MAX_WRITE_BYTES: usize = 2 * 1024 * 1024;
/// How long a command may run when the model does not say, in seconds.
pub const DEFAULT_COMMAND_TIMEOUT: u32 = 120;
/// How long a command may run at most, in seconds.
pub const MAX_COMMAND_TIMEOUT: u32 = 3600;
/// Hits that `grep` returns when the model does not say.
pub const DEFAULT_MAX_HITS: u32 = 1000;

#[cfg(test)]
mod tests;
