//! What a tool call ends with.

use std::fmt;

use domain::{CallId, MessageId};

use crate::conversation::{Block, Body, Message, Meta, ToolArtifact, ToolStatus};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)*) => {
        /// Why a call gave no result. The word is stored, shown in events and tested for; the text
        /// beside it is for the model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ToolCode { $($(#[$doc])* $variant,)* }

        impl ToolCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

codes! {
    InvalidArguments = "INVALID_ARGUMENTS",
    UnknownTool = "UNKNOWN_TOOL",
    ToolBlocked = "TOOL_BLOCKED",
    InvalidPath = "INVALID_PATH",
    PermissionDenied = "PERMISSION_DENIED",
    FileNotFound = "FILE_NOT_FOUND",
    PathNotFound = "PATH_NOT_FOUND",
    IsDirectory = "IS_DIRECTORY",
    NotAFile = "NOT_A_FILE",
    NotText = "NOT_TEXT",
    TooLarge = "TOO_LARGE",
    OffsetOutOfRange = "OFFSET_OUT_OF_RANGE",
    StringNotFound = "STRING_NOT_FOUND",
    NotUnique = "NOT_UNIQUE",
    InvalidPattern = "INVALID_PATTERN",
    Unsupported = "UNSUPPORTED",
    Timeout = "TIMEOUT",
    TimeoutTooLarge = "TIMEOUT_TOO_LARGE",
    /// The file is no longer what it was when the call began.
    StaleTarget = "STALE_TARGET",
    /// It may or may not have taken effect.
    OutcomeUnknown = "OUTCOME_UNKNOWN",
    /// The file could not become a deliverable. Nothing was announced.
    PublicationFailed = "PUBLICATION_FAILED",
    ToolCallLimit = "TOOL_CALL_LIMIT",
    /// Another message arrived, or the run ended, before the call ran.
    Canceled = "CANCELED",
    /// Nothing can be added to the artifact any more.
    ArtifactClosed = "ARTIFACT_CLOSED",
    /// Another call of the same turn ends the run.
    AlreadyEnding = "ALREADY_ENDING",
    ToolFailed = "TOOL_FAILED",
}

impl fmt::Display for ToolCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that ran into something the model can react to. The text is for the model alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}")]
pub struct ToolError {
    pub code: ToolCode,
    pub text: String,
}

impl ToolError {
    pub fn new(code: ToolCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// The result of a call, before it has a message's id.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub status: ToolStatus,
    pub code: Option<ToolCode>,
    pub content: Vec<Block>,
    pub artifact: Option<ToolArtifact>,
}

impl ToolResult {
    pub fn success(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Success,
            code: None,
            content: vec![Block::text(text)],
            artifact: None,
        }
    }

    pub fn error(code: ToolCode, text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Error,
            code: Some(code),
            content: vec![Block::text(text)],
            artifact: None,
        }
    }

    #[must_use]
    pub fn with(self, artifact: ToolArtifact) -> Self {
        Self { artifact: Some(artifact), ..self }
    }

    pub fn is_ok(&self) -> bool {
        self.status == ToolStatus::Success
    }

    /// The message that answers `call`.
    pub fn into_message(self, id: MessageId, call: &CallId, tool: &str) -> Message {
        let body = Body::Tool {
            call: call.clone(),
            name: tool.to_owned(),
            status: self.status,
            code: self.code.map(|code| code.as_str().to_owned()),
            content: self.content,
            artifact: self.artifact,
        };
        Message::new(id, body, Meta::default())
    }
}

impl From<ToolError> for ToolResult {
    fn from(error: ToolError) -> Self {
        Self::error(error.code, error.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errors_own_text_shows_only_its_code() {
        let error = ToolError::new(ToolCode::FileNotFound, "There is no file at /workspace/canary");
        assert_eq!(error.to_string(), "FILE_NOT_FOUND");
    }

    #[test]
    fn every_code_has_its_own_word() {
        let words: std::collections::BTreeSet<_> =
            ToolCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(words.len(), ToolCode::ALL.len());
    }
}
