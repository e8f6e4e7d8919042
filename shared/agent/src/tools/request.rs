//! A call, checked and typed.

use std::time::Duration;

use serde_json::{Map, Value};

use super::args::Args;
use super::path::{ReadPath, WorkspacePath};
use super::say::{self, Say};
use super::{
    BuiltIn, DEFAULT_COMMAND_TIMEOUT, DEFAULT_MAX_HITS, MAX_COMMAND_TIMEOUT, MAX_WRITE_BYTES,
    ToolCode, ToolError,
};
use crate::speech::LastWord;

/// What the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRequest {
    Ls(Ls),
    ReadFile(ReadFile),
    WriteFile(WriteFile),
    EditFile(EditFile),
    Delete(Delete),
    Glob(Glob),
    Grep(Grep),
    Execute(Execute),
    PublishArtifact(PublishArtifact),
    /// Answered with the turn that makes it, never run; see [`crate::speech`].
    Say(Say),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ls {
    pub path: WorkspacePath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    pub path: ReadPath,
    /// As given; below zero means from the start, which the answer says.
    pub offset: i64,
    /// As given; zero or less reads nothing, which the answer says.
    pub limit: i64,
}

impl ReadFile {
    /// How many lines to skip.
    pub fn skip(&self) -> u64 {
        u64::try_from(self.offset).unwrap_or(0)
    }

    /// How many lines to read; zero reads nothing.
    pub fn take(&self) -> u64 {
        u64::try_from(self.limit).unwrap_or(0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    pub path: WorkspacePath,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    pub path: WorkspacePath,
    /// Not empty, and not equal to `new`.
    pub old: String,
    pub new: String,
    pub replace_all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Never the workspace itself.
    pub path: WorkspacePath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    pub pattern: String,
    pub path: WorkspacePath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grep {
    pub pattern: String,
    pub path: WorkspacePath,
    pub glob: Option<String>,
    pub mode: GrepMode,
    /// At least 1.
    pub max_count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrepMode {
    Files,
    Lines,
    Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute {
    pub command: String,
    /// Between one second and the maximum.
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishArtifact {
    pub path: WorkspacePath,
    /// Without control characters.
    pub media_type: String,
}

/// What may be done about a call that was started and whose outcome nobody knows
/// (agent-loop.md §22.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Idempotency {
    /// Changes nothing: run it again.
    Pure,
    /// Makes the same thing again: run it again.
    Idempotent,
    /// Compare what is there with what was noted before the start.
    Verify,
    /// Ask the sandbox's journal.
    Journaled,
}

impl Idempotency {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Idempotent => "idempotent",
            Self::Verify => "verify",
            Self::Journaled => "journaled",
        }
    }
}

impl ToolRequest {
    pub const fn tool(&self) -> BuiltIn {
        match self {
            Self::Ls(_) => BuiltIn::Ls,
            Self::ReadFile(_) => BuiltIn::ReadFile,
            Self::WriteFile(_) => BuiltIn::WriteFile,
            Self::EditFile(_) => BuiltIn::EditFile,
            Self::Delete(_) => BuiltIn::Delete,
            Self::Glob(_) => BuiltIn::Glob,
            Self::Grep(_) => BuiltIn::Grep,
            Self::Execute(_) => BuiltIn::Execute,
            Self::PublishArtifact(_) => BuiltIn::PublishArtifact,
            Self::Say(Say::LastWord(LastWord::Asked { .. })) => BuiltIn::AskClient,
            Self::Say(Say::LastWord(LastWord::Declined { .. })) => BuiltIn::DeclineTask,
            Self::Say(Say::LastWord(LastWord::Replied { .. })) => BuiltIn::ReplyDirectly,
            Self::Say(Say::LastWord(LastWord::Concluded { .. })) => BuiltIn::Conclude,
            Self::Say(Say::Put(_)) => BuiltIn::PutArtifact,
        }
    }

    pub const fn idempotency(&self) -> Idempotency {
        match self {
            Self::Ls(_) | Self::ReadFile(_) | Self::Glob(_) | Self::Grep(_) => Idempotency::Pure,
            Self::WriteFile(_) | Self::PublishArtifact(_) | Self::Say(_) => Idempotency::Idempotent,
            Self::EditFile(_) | Self::Delete(_) => Idempotency::Verify,
            Self::Execute(_) => Idempotency::Journaled,
        }
    }

    /// The path that a file tool changes. A command may change any and names none.
    pub const fn writes_path(&self) -> Option<&WorkspacePath> {
        match self {
            Self::WriteFile(WriteFile { path, .. })
            | Self::EditFile(EditFile { path, .. })
            | Self::Delete(Delete { path }) => Some(path),
            _ => None,
        }
    }

    /// The path that a tool looks at without changing it, in the workspace.
    pub const fn reads_path(&self) -> Option<&WorkspacePath> {
        match self {
            Self::Ls(Ls { path })
            | Self::ReadFile(ReadFile { path: ReadPath::Workspace(path), .. })
            | Self::Glob(Glob { path, .. })
            | Self::Grep(Grep { path, .. })
            | Self::PublishArtifact(PublishArtifact { path, .. }) => Some(path),
            _ => None,
        }
    }
}

/// Reads a call's arguments. An error is the call's result: nothing runs.
pub fn parse(name: &str, args: &Map<String, Value>) -> Result<ToolRequest, ToolError> {
    let Some(tool) = BuiltIn::named(name) else {
        return Err(unknown(&[]));
    };
    let mut args = Args::new(tool.fields(), args);
    rules(tool, &mut args);
    // Read before `finish` takes the arguments; what is missing has been noted as a violation.
    let text = |name| args.text(name).unwrap_or_default();
    let file = text("file_path");
    let path = text("path");
    let pattern = text("pattern").to_owned();
    let request: Result<ToolRequest, ToolError> = match tool {
        BuiltIn::Ls => WorkspacePath::parse(path).map(|path| ToolRequest::Ls(Ls { path })),
        BuiltIn::ReadFile => ReadPath::parse(file).map(|path| {
            let offset = args.integer("offset").unwrap_or(0);
            let limit = args.integer("limit").unwrap_or(100);
            ToolRequest::ReadFile(ReadFile { path, offset, limit })
        }),
        BuiltIn::WriteFile => WorkspacePath::parse_inside(file).and_then(|path| {
            let content = text("content");
            if content.len() > MAX_WRITE_BYTES {
                return Err(ToolError::new(
                    ToolCode::TooLarge,
                    format!(
                        "write_file takes {MAX_WRITE_BYTES} bytes at most. Nothing was written."
                    ),
                ));
            }
            Ok(ToolRequest::WriteFile(WriteFile { path, content: content.to_owned() }))
        }),
        BuiltIn::EditFile => WorkspacePath::parse_inside(file).map(|path| {
            ToolRequest::EditFile(EditFile {
                path,
                old: text("old_string").to_owned(),
                new: text("new_string").to_owned(),
                replace_all: args.boolean("replace_all").unwrap_or(false),
            })
        }),
        BuiltIn::Delete => {
            WorkspacePath::parse_inside(file).map(|path| ToolRequest::Delete(Delete { path }))
        }
        BuiltIn::Glob => {
            WorkspacePath::parse(path).map(|path| ToolRequest::Glob(Glob { pattern, path }))
        }
        BuiltIn::Grep => WorkspacePath::parse(path).map(|path| {
            let max_count = args
                .integer("max_count")
                .map_or(DEFAULT_MAX_HITS, |n| u32::try_from(n).unwrap_or(u32::MAX));
            let mode = match args.text("output_mode") {
                Some("content") => GrepMode::Lines,
                Some("count") => GrepMode::Counts,
                _ => GrepMode::Files,
            };
            let glob = args.text("glob").map(str::to_owned);
            ToolRequest::Grep(Grep { pattern, path, glob, mode, max_count })
        }),
        BuiltIn::Execute => timeout(args.integer("timeout")).map(|timeout| {
            ToolRequest::Execute(Execute { command: text("command").to_owned(), timeout })
        }),
        BuiltIn::PublishArtifact => WorkspacePath::parse_published(path).map(|path| {
            let media_type = args.text("media_type").unwrap_or("application/octet-stream");
            ToolRequest::PublishArtifact(PublishArtifact {
                path,
                media_type: media_type.to_owned(),
            })
        }),
        BuiltIn::AskClient => Ok(ToolRequest::Say(Say::LastWord(say::asked(&args)))),
        BuiltIn::DeclineTask => {
            let reason = say::text(&args, "reason");
            Ok(ToolRequest::Say(Say::LastWord(LastWord::Declined { reason })))
        }
        BuiltIn::ReplyDirectly => {
            let text = say::text(&args, "text");
            Ok(ToolRequest::Say(Say::LastWord(LastWord::Replied { text })))
        }
        BuiltIn::Conclude => {
            let message = say::text(&args, "message");
            Ok(ToolRequest::Say(Say::LastWord(LastWord::Concluded { message })))
        }
        BuiltIn::PutArtifact => Ok(ToolRequest::Say(Say::Put(say::put(&args)))),
    };
    args.finish()?;
    request
}

/// The answer to a call of a tool that does not exist, or that is hidden from the model.
pub fn unknown(hidden: &[String]) -> ToolError {
    let names = BuiltIn::ALL.iter().map(|tool| tool.name());
    let names: Vec<_> = names.filter(|name| !hidden.iter().any(|h| h == name)).collect();
    ToolError::new(
        ToolCode::UnknownTool,
        format!("There is no tool of this name. The tools are: {}.", names.join(", ")),
    )
}

/// The rules that a schema cannot express.
fn rules(tool: BuiltIn, args: &mut Args<'_>) {
    match tool {
        BuiltIn::EditFile => {
            let (old, new) = (args.text("old_string"), args.text("new_string"));
            if old == Some("") {
                args.refuse("old_string", "must not be empty");
            } else if old.is_some() && old == new {
                args.refuse("new_string", "must differ from old_string");
            }
        }
        BuiltIn::Glob | BuiltIn::Grep if args.text("pattern") == Some("") => {
            args.refuse("pattern", "must not be empty");
        }
        BuiltIn::Execute if args.text("command").is_some_and(|c| c.contains('\0')) => {
            args.refuse("command", "must not hold a NUL character");
        }
        BuiltIn::Execute if args.text("command").is_some_and(|c| c.trim().is_empty()) => {
            args.refuse("command", "must not be empty");
        }
        BuiltIn::PublishArtifact => {
            let unfit =
                |m: &str| m.trim().is_empty() || m.len() > 255 || m.chars().any(char::is_control);
            if args.text("media_type").is_some_and(unfit) {
                args.refuse("media_type", "must be a media type on one line");
            }
        }
        BuiltIn::AskClient => say::check_word(args, "question"),
        BuiltIn::DeclineTask => say::check_word(args, "reason"),
        BuiltIn::ReplyDirectly => say::check_word(args, "text"),
        BuiltIn::Conclude => say::check_word(args, "message"),
        BuiltIn::PutArtifact => say::check_put(args),
        _ => {}
    }
}

/// Zero means as long as allowed; above the maximum nothing runs.
fn timeout(seconds: Option<i64>) -> Result<Duration, ToolError> {
    let most = i64::from(MAX_COMMAND_TIMEOUT);
    let seconds = match seconds {
        None => i64::from(DEFAULT_COMMAND_TIMEOUT),
        Some(0) => most,
        Some(n) if n > most => {
            return Err(ToolError::new(
                ToolCode::TimeoutTooLarge,
                format!("A command may take {MAX_COMMAND_TIMEOUT} seconds at most. Nothing ran."),
            ));
        }
        Some(n) => n,
    };
    Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
