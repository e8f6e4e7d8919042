//! The states of tasks and runs, why a run failed, and the versions of the protocol: words that are
//! stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A stored word that this version does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownWord;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or(UnknownWord)
            }
        }
    };
}

words! {
    /// Where a task stands. Nothing leaves a terminal state.
    ///
    /// ```text
    /// submitted ─► working ─► completed | failed | canceled | rejected
    ///     │           │▲
    ///     │           ▼│
    ///     │    input_required | auth_required ─► canceled | rejected
    ///     └────► rejected | canceled
    /// ```
    TaskState {
        Submitted = "submitted",
        Working = "working",
        InputRequired = "input_required",
        AuthRequired = "auth_required",
        Completed = "completed",
        Failed = "failed",
        Canceled = "canceled",
        Rejected = "rejected",
    }
}

impl TaskState {
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Waits for the client; a message to the task continues it.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

words! {
    /// A version of A2A that a client can speak.
    ProtocolVersion {
        V03 = "0.3",
        V10 = "1.0",
    }
}

words! {
    /// Where a run stands. `queued` and `active` are the live ones: at most one per session.
    RunState {
        /// Admitted, and no worker has claimed it yet.
        Queued = "queued",
        /// Claimed at least once; between claims it waits without a lease.
        Active = "active",
        /// Over: the task waits for the client, and the next message starts another run.
        Interrupted = "interrupted",
        Done = "done",
        Failed = "failed",
        Aborted = "aborted",
        Rejected = "rejected",
    }
}

impl RunState {
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Active)
    }
}

words! {
    /// Why a run failed (agent-loop.md §17.3). Clients see the word.
    FailureCode {
        ModelRateLimited = "MODEL_RATE_LIMITED",
        ModelUnavailable = "MODEL_UNAVAILABLE",
        ModelTimeout = "MODEL_TIMEOUT",
        ModelInvalidRequest = "MODEL_INVALID_REQUEST",
        ModelAuth = "MODEL_AUTH",
        ModelRefused = "MODEL_REFUSED",
        ModelMalformed = "MODEL_MALFORMED",
        ModelOutputTruncated = "MODEL_OUTPUT_TRUNCATED",
        ContextOverflow = "CONTEXT_OVERFLOW",
        StepLimit = "STEP_LIMIT",
        ModelCallLimit = "MODEL_CALL_LIMIT",
        ToolCallLimit = "TOOL_CALL_LIMIT",
        ExecutionTimeout = "EXECUTION_TIMEOUT",
        OutputBytesExceeded = "OUTPUT_BYTES_EXCEEDED",
        OutputArtifactsExceeded = "OUTPUT_ARTIFACTS_EXCEEDED",
        SandboxUnavailable = "SANDBOX_UNAVAILABLE",
        ProviderConfigError = "PROVIDER_CONFIG_ERROR",
        ManifestMismatch = "MANIFEST_MISMATCH",
        ScriptExhausted = "SCRIPT_EXHAUSTED",
        Poisoned = "POISONED",
        Internal = "INTERNAL",
    }
}

words! {
    /// Why a file was not published. The model sees the word; nothing of it was announced.
    PublicationFailure {
        /// Publication is switched off here.
        Disabled = "PUBLICATION_DISABLED",
        /// The path does not name something strictly inside the workspace, or leads through a link.
        InvalidPath = "INVALID_PATH",
        InvalidMediaType = "INVALID_MEDIA_TYPE",
        FileNotFound = "FILE_NOT_FOUND",
        /// A directory, a pipe, a device: there are no bytes to publish.
        NotAFile = "NOT_A_FILE",
        FileUnreadable = "FILE_UNREADABLE",
        FileTooLarge = "FILE_TOO_LARGE",
        /// Somebody wrote to it while it was read.
        FileChanged = "FILE_CHANGED",
        /// The sandbox that held the file no longer holds the workspace.
        SandboxReplaced = "SANDBOX_REPLACED",
        RunEnded = "RUN_ENDED",
        OutputBytesExceeded = "OUTPUT_BYTES_EXCEEDED",
        OutputArtifactsExceeded = "OUTPUT_ARTIFACTS_EXCEEDED",
        /// What the object store gave back was not what it was given.
        VerificationFailed = "VERIFICATION_FAILED",
        /// It could not be stored, and we gave up.
        PublicationFailed = "PUBLICATION_FAILED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for state in TaskState::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
        }
        for state in RunState::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
        }
        for code in FailureCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        for code in PublicationFailure::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        assert_eq!("COMPLETED".parse::<TaskState>(), Err(UnknownWord));
    }
}
