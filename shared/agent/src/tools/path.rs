//! Paths as tools take them (agent-loop.md §5.1).
//!
//! **The same path names the same file in every tool and in every command.** The workspace is the
//! folder `/workspace`, so:
//!
//! - `/workspace/a.txt` is itself, and a relative `a.txt` means it too;
//! - an absolute path elsewhere (`/a.txt`, `/etc/passwd`) is refused. To map it quietly into the
//!   workspace would make `write_file /a.txt` and `cat /a.txt` two different files;
//! - `""`, `"."`, `"./"` and `"/"` mean the workspace itself, for the tools that take a folder;
//! - `/artifacts/<part id>` is what a client sent, for `read_file` only.
//!
//! Backslashes become slashes, `.` and `//` collapse; `..`, a leading `~`, drive letters and control
//! characters are refused. A name such as `a..b` is fine. What a symbolic link would do is for the
//! sandbox to refuse: this is about names only.

use std::fmt;

use super::{ToolCode, ToolError};

/// The folder that an agent works in.
pub const WORKSPACE: &str = "/workspace";
/// Where the Parts that a client sent can be read.
pub const ARTIFACTS: &str = "/artifacts/";

const MAX_PATH_BYTES: usize = 4096;
const MAX_SEGMENT_BYTES: usize = 255;

/// A normalized absolute path: the workspace or something inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The workspace itself.
    pub fn root() -> Self {
        Self(WORKSPACE.to_owned())
    }

    /// Reads a path that may name a folder, the workspace included.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let segments = segments(text)?;
        let absolute = text.starts_with(['/', '\\']);
        let inside = match segments.split_first() {
            None => &[],
            Some((&"workspace", inside)) if absolute => inside,
            Some(_) if absolute => return Err(invalid("it must be inside /workspace")),
            Some(_) => segments.as_slice(),
        };
        let mut path = WORKSPACE.to_owned();
        for segment in inside {
            path.push('/');
            path.push_str(segment);
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(invalid("it is longer than 4096 bytes"));
        }
        Ok(Self(path))
    }

    /// Reads a path that must name something inside the workspace.
    pub fn parse_inside(text: &str) -> Result<Self, ToolError> {
        let path = Self::parse(text)?;
        if path.is_root() { Err(invalid("it names the workspace itself")) } else { Ok(path) }
    }

    /// Reads the path of a publication, which must be written out in full:
    /// `/workspace/` and segments that are neither empty nor `.` nor `..`.
    pub fn parse_published(text: &str) -> Result<Self, ToolError> {
        let path = Self::parse_inside(text)?;
        if path.0 == text { Ok(path) } else { Err(invalid("it must be written as /workspace/…")) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0 == WORKSPACE
    }

    /// The path below the workspace, without a leading slash; empty for the workspace itself.
    pub fn relative(&self) -> &str {
        self.0.get(WORKSPACE.len() + 1..).unwrap_or_default()
    }

    /// The last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether one of the two is the other or lies below it.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (short, long) =
            if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        long.0.strip_prefix(&short.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What `read_file` can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPath {
    Workspace(WorkspacePath),
    /// The Part of this id, which the client sent.
    Part(String),
}

impl ReadPath {
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        match text.strip_prefix(ARTIFACTS) {
            Some(id) if is_part_id(id) => Ok(Self::Part(id.to_owned())),
            Some(_) => Err(invalid("no such artifact")),
            None => WorkspacePath::parse_inside(text).map(Self::Workspace),
        }
    }
}

impl fmt::Display for ReadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(path) => path.fmt(f),
            Self::Part(id) => write!(f, "{ARTIFACTS}{id}"),
        }
    }
}

fn is_part_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Splits a path into the names that it goes through.
fn segments(text: &str) -> Result<Vec<&str>, ToolError> {
    if text.chars().any(char::is_control) {
        return Err(invalid("it holds a control character"));
    }
    if text.starts_with('~') {
        return Err(invalid("~ has no meaning here"));
    }
    let mut start = text.bytes();
    if start.next().is_some_and(|b| b.is_ascii_alphabetic()) && start.next() == Some(b':') {
        return Err(invalid("drive letters have no meaning here"));
    }
    let names: Vec<_> =
        text.split(['/', '\\']).filter(|name| !name.is_empty() && *name != ".").collect();
    if names.contains(&"..") {
        return Err(invalid("it holds a .. segment"));
    }
    if names.iter().any(|name| name.len() > MAX_SEGMENT_BYTES) {
        return Err(invalid("a name in it is longer than 255 bytes"));
    }
    Ok(names)
}

/// The path itself is not repeated: the model knows it, and logs must not.
fn invalid(reason: &str) -> ToolError {
    ToolError::new(
        ToolCode::InvalidPath,
        format!("The path is not valid: {reason}. Use /workspace/… or a path relative to it."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &str) {
        assert_eq!(WorkspacePath::parse(text).unwrap().as_str(), path, "{text:?}");
    }

    fn refused(text: &str) {
        for result in [
            WorkspacePath::parse(text),
            WorkspacePath::parse_inside(text),
            WorkspacePath::parse_published(text),
        ] {
            assert_eq!(result.unwrap_err().code, ToolCode::InvalidPath, "{text:?}");
        }
        assert_eq!(ReadPath::parse(text).unwrap_err().code, ToolCode::InvalidPath, "{text:?}");
    }

    #[test]
    fn t12_paths_that_could_leave_the_workspace_are_refused() {
        for text in ["../x", "~/x", "~", "C:\\x", "c:x", "/a/../b", "/workspace/../etc", "a/.."] {
            refused(text);
        }
        for text in ["a\0b", "a\nb", "/workspace/a\u{7f}", "/workspace\\..\\x", "\\..\\x"] {
            refused(text);
        }
    }

    #[test]
    fn t12_two_dots_within_a_name_are_a_name() {
        check("/workspace/a..b.txt", "/workspace/a..b.txt");
        check("a..b.txt", "/workspace/a..b.txt");
        check("...", "/workspace/...");
    }

    #[test]
    fn an_absolute_path_elsewhere_is_refused_and_not_mapped() {
        for text in ["/a.txt", "/etc/passwd", "/workspacex/a", "\\etc\\passwd", "/artifacts/../x"] {
            refused(text);
        }
    }

    #[test]
    fn spellings_of_one_path_become_one() {
        for text in
            ["a/b", "./a//b/", "a\\b", "/workspace/a/./b", "//workspace//a/b", "/workspace\\a\\b"]
        {
            check(text, "/workspace/a/b");
        }
        check("workspace/a", "/workspace/workspace/a");
    }

    #[test]
    fn a_bulk_call_may_name_the_workspace_and_a_file_call_may_not() {
        for text in ["", ".", "./", "/", "/workspace", "/workspace/"] {
            check(text, "/workspace");
            assert!(WorkspacePath::parse_inside(text).is_err());
        }
    }

    #[test]
    fn names_that_no_file_system_takes_are_refused() {
        refused(&"x".repeat(256));
        refused(&"x/".repeat(2050));
        check(&"x".repeat(255), &format!("/workspace/{}", "x".repeat(255)));
    }

    #[test]
    fn a_published_path_is_written_out_in_full() {
        assert!(WorkspacePath::parse_published("/workspace/out/a.csv").is_ok());
        for text in
            ["a.csv", "/workspace//a.csv", "/workspace/./a.csv", "/workspace/a/", "/workspace"]
        {
            assert!(WorkspacePath::parse_published(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_clients_part_can_be_read_and_nothing_beside_it() {
        let part = ReadPath::parse("/artifacts/a2a-input-00ff").unwrap();
        assert_eq!(part, ReadPath::Part("a2a-input-00ff".into()));
        assert_eq!(part.to_string(), "/artifacts/a2a-input-00ff");
        for text in ["/artifacts/", "/artifacts/a/b", "/artifacts/a.b"] {
            assert!(ReadPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_folder_overlaps_what_lies_in_it_and_not_its_neighbour() {
        let path = |text| WorkspacePath::parse(text).unwrap();
        assert!(path("a").overlaps(&path("a/b")));
        assert!(path("a/b").overlaps(&path("a")));
        assert!(path("a").overlaps(&path("a")));
        assert!(WorkspacePath::root().overlaps(&path("a")));
        assert!(!path("a").overlaps(&path("ab")));
        assert!(!path("a/b").overlaps(&path("a/c")));
    }

    #[test]
    fn the_relative_form_is_what_lies_below_the_workspace() {
        assert_eq!(WorkspacePath::root().relative(), "");
        let path = WorkspacePath::parse("a/b.txt").unwrap();
        assert_eq!((path.relative(), path.file_name()), ("a/b.txt", "b.txt"));
    }
}
