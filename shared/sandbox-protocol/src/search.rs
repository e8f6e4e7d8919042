//! Searching below a directory of the workspace. Both searches have a time budget and say when it,
//! or a cap, cut them short.

use serde::{Deserialize, Serialize};

/// `POST /v1/fs/glob`; see [`crate::glob`] for the pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobRequest {
    pub pattern: String,
    /// Absent: the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobReply {
    /// Regular files, relative to the workspace, sorted.
    pub paths: Vec<String>,
    pub truncated: bool,
    /// Places that could not be looked into.
    pub skipped: u64,
}

/// `POST /v1/fs/grep`: lines that hold a text, literally.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepRequest {
    pub pattern: String,
    /// A directory, or one file. Absent: the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which files to look into; relative to `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Found lines in all. 1 000 where absent, at most 10 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_count: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepReply {
    /// By path, then by line.
    pub matches: Vec<GrepMatch>,
    /// There is, or may be, more than this.
    pub truncated: bool,
    /// Files that could not be read or are over 10 MiB. Binary files are passed over in silence.
    pub skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepMatch {
    pub path: String,
    /// From 1.
    pub line: u64,
    /// Without its ending, cut after 5 000 characters.
    pub text: String,
}
