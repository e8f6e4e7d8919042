//! File routes. Every path is relative to the workspace; see [`crate::path`] for the rules.
//!
//! **What changes a file never goes through a symbolic link.** Reading may follow one that ends
//! inside the workspace.

use serde::{Deserialize, Serialize};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    Other,
}

/// `POST /v1/fs/ls`. `""` and `"."` are the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsRequest {
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LsReply {
    /// By path. At most 10 000.
    pub entries: Vec<Entry>,
    pub truncated: bool,
    /// Entries that could not be looked at, or whose names no request could spell.
    pub skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the workspace, without a trailing slash.
    pub path: String,
    pub kind: FileKind,
    /// True also for a link to a directory inside the workspace.
    pub is_dir: bool,
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified_at: i64,
}

/// `POST /v1/fs/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatRequest {
    pub path: String,
    /// Ask for the digest of a regular file of at most 16 MiB.
    #[serde(default)]
    pub sha256: bool,
    /// Look at what a link leads to. By default a link is itself.
    #[serde(default)]
    pub follow: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatReply {
    pub path: String,
    pub kind: FileKind,
    pub size: u64,
    pub modified_at: i64,
    /// Permission bits.
    pub mode: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// `POST /v1/fs/read`: one page of a text, or a small binary file whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    pub path: String,
    /// Source lines to pass over.
    #[serde(default)]
    pub offset: u64,
    /// Source lines to return. 2 000 where absent; 0 reads nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Treat the file as bytes even if it reads as text.
    #[serde(default)]
    pub binary: bool,
}

/// One page. `start_line` and `end_line` come together, with
/// 1 ≤ `start_line` ≤ `end_line` ≤ `total_lines`, and `next_offset`, where there is more, equals
/// `end_line`.
///
/// None of them, `total_lines` of at least 1 and `no_lines_requested` false: the offset is beyond
/// the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReply {
    /// Lines joined by LF, without the last one's ending; CRLF and CR are read as LF.
    pub content: String,
    pub encoding: Encoding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Known for files of at most 1 MiB, and where the page reached the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// The limit was 0: the file was not looked into.
    pub no_lines_requested: bool,
    /// The page holds one line that is longer than a page, cut.
    pub line_truncated: bool,
    /// The file's size in bytes.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// `POST /v1/fs/write`: create or replace a whole text file. Bytes go to `PUT /v1/files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    pub path: String,
    pub content: String,
}

/// What a file holds after it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReply {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

/// `POST /v1/fs/edit`: replace one text by another.
///
/// A caller that must be able to repeat an edit asks first with `dry_run`, keeps both digests, and
/// sends them with the edit itself: it then happens exactly once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    pub path: String,
    pub old: String,
    pub new: String,
    #[serde(default)]
    pub replace_all: bool,
    /// Say what would happen and change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Change only a file that has this digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_sha256: Option<String>,
    /// A file that has this digest already holds the edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_sha256: Option<String>,
}

/// What became of an edit. Only `Edited` changed the file, and not even that in a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EditReply {
    Edited {
        occurrences: u64,
        sha256_before: String,
        sha256_after: String,
    },
    /// The file has the digest `done_sha256`.
    AlreadyDone {
        sha256: String,
    },
    /// The file has neither of the digests that were given.
    Stale {
        sha256: String,
    },
    NotFound {
        /// `old` without its last newline stands at the end of the file this often: the file does
        /// not end with a newline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        without_newline: Option<u64>,
    },
    NotUnique {
        count: u64,
    },
    NotText,
}

/// `POST /v1/fs/delete`: a file, a link as such, or a directory with all below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteReply {
    pub path: String,
    /// How many files, links and directories went.
    pub removed: u64,
}

/// `POST /v1/fs/mkdir`: with its parents; one that is there already is fine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MkdirRequest {
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MkdirReply {
    pub path: String,
}

/// `POST /v1/read-bounded`: a regular file with one name, no larger than said, as raw bytes with
/// its digest in a header. For publication.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundedRead {
    pub path: String,
    /// 1 to 10 MiB.
    pub max_bytes: u64,
}
