//! Commands: started once per id, polled, killed, acknowledged.
//!
//! **The same id and body never start two processes**, also after the command ended and also after
//! it was acknowledged. An id that the server does not know was never started on this instance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `PUT /v1/execs/{id}`. Exactly one of `shell` and `argv`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartExec {
    /// A line for `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Relative to the workspace; made where it is missing. Absent: the workspace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Added to the base environment. Names match `[A-Z_][A-Z0-9_]*`; `LD_*` and `COG_*` are
    /// refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Absent: standard input is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_b64: Option<String>,
    /// Seconds. Absent: the server's default. 0: the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// Present: standard output and error are one stream, in the order in which they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
}

/// Where combined output goes, and how much of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// A file below the workspace that takes output over `inline`. Absent: only a preview is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Output up to this many bytes comes back whole. At most, and by default, 80 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<u32>,
    /// The file's largest size. At most, and by default, 10 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl StartExec {
    /// A shell line with the server's defaults and separate streams.
    pub fn shell(line: impl Into<String>) -> Self {
        Self { shell: Some(line.into()), ..Self::default() }
    }
}

/// How far a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    Running,
    /// It ended by itself; a signal that was not ours counts as that.
    Exited,
    /// It was ended by `kill`.
    Killed,
    /// It was ended by its time limit.
    TimedOut,
    /// The server lost sight of it: what it did is unknown.
    Lost,
}

/// `GET /v1/execs/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecStatus {
    pub id: String,
    pub state: ExecState,
    /// 124 for a time limit, 128 + n for signal n.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub duration_ms: u64,
    /// Without `capture`: what there is from the asked offset on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Chunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Chunk>,
    /// With `capture`: present when the command is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<CapturedOutput>,
    /// The output made room for that of later commands; the outcome stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_dropped: bool,
}

impl ExecStatus {
    pub fn is_over(&self) -> bool {
        self.state != ExecState::Running
    }
}

/// A piece of one stream. Offsets count the bytes that the command wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Where the text begins. Later than asked where bytes in between were dropped.
    pub from: u64,
    /// What to ask for next.
    pub next: u64,
    /// How much the command has written so far.
    pub total: u64,
    /// Bytes were dropped somewhere in this stream: its beginning and its end are kept.
    pub truncated: bool,
    /// Bytes that are not UTF-8 are replaced, and a character is never cut in two.
    pub text: String,
}

/// The combined output of a command that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedOutput {
    /// How much the command wrote.
    pub total_bytes: u64,
    #[serde(flatten)]
    pub content: CapturedContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CapturedContent {
    /// All of it. No file was left.
    Inline { text: String },
    /// Its two ends.
    Preview {
        head: String,
        tail: String,
        /// The file that holds it, relative to the workspace; absent where none could be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The file ends before the output does.
        incomplete: bool,
    },
}

/// `POST /v1/execs/{id}/kill`. Also ends what a finished command left running.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KillExec {
    /// Between the request to stop and the end by force. 2 000 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// `GET /v1/execs`, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecList {
    pub execs: Vec<ExecSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecSummary {
    pub id: String,
    pub state: ExecState,
}
