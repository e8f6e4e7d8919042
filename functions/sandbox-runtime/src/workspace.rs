//! The folder that everything is about. All of it blocks: it runs on [`crate::workers`].
//!
//! **A path is walked one directory at a time, from a descriptor of the root, and no step follows
//! a link.** So it cannot lead out of the root, whatever commands do to the folders meanwhile; it
//! is what `openat2` does with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`, on every kernel and with an
//! answer to *which* rule was broken. Where a link may be followed, it is resolved first and the
//! outcome is walked the same way.

pub(crate) mod bounded;
pub(crate) mod delete;
pub(crate) mod draft;
pub(crate) mod edit;
pub(crate) mod grep;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod walk;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use sandbox_protocol::path::RelativePath;
use sandbox_protocol::{ErrorCode, files::FileKind};

use crate::refusal::Refusal;

/// Names that begin so are unfinished files of the server's: never listed, never found.
pub(crate) const DRAFT_PREFIX: &str = ".cog-tmp-";

const LINK: Refusal = Refusal(ErrorCode::InvalidPath, "a symbolic link stands in the path");
const NOT_A_FILE: Refusal = Refusal(ErrorCode::NotAFile, "it is not a regular file");
const NO_DIRECTORY: Refusal = Refusal(ErrorCode::NotAFile, "it is not a directory");
const IS_DIRECTORY: Refusal = Refusal(ErrorCode::IsDirectory, "it is a directory");
const PROTECTED: Refusal = Refusal(ErrorCode::PermissionDenied, "the path is protected");

/// A directory that is only passed through.
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Anything that may turn out to be no regular file: opening it neither blocks nor takes a
/// terminal.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The workspace, by its path: what is mounted there may change.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

/// Reads a path that something is to be done to.
pub(crate) fn target(text: &str) -> Result<RelativePath, Refusal> {
    let path = RelativePath::parse(text)?;
    if path.is_protected() { Err(PROTECTED) } else { Ok(path) }
}

impl Workspace {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn open_root(&self) -> Result<OwnedFd, Refusal> {
        let root = openat(CWD, &self.root, STEP, Mode::empty())?;
        match kind(&fstat(&root)?) {
            FileKind::Directory => Ok(root),
            FileKind::Symlink => Err(LINK),
            FileKind::File | FileKind::Other => Err(NO_DIRECTORY),
        }
    }

    /// Opens the directory that holds `path`, and gives the name there. A path that is the root
    /// names nothing that could be changed or read.
    fn parent<'a>(&self, path: &'a RelativePath) -> Result<(OwnedFd, &'a str), Refusal> {
        let mut segments = path.segments();
        let name = segments.next_back().ok_or(IS_DIRECTORY)?;
        let mut at = self.open_root()?;
        for segment in segments {
            at = step(&at, segment.as_ref())?;
        }
        Ok((at, name))
    }

    /// Like [`Workspace::parent`], making directories that are missing.
    fn parent_made<'a>(&self, path: &'a RelativePath) -> Result<(OwnedFd, &'a str), Refusal> {
        let mut segments = path.segments();
        let name = segments.next_back().ok_or(IS_DIRECTORY)?;
        let mut at = self.open_root()?;
        for segment in segments {
            at = step_or_make(&at, segment)?;
        }
        Ok((at, name))
    }

    /// Makes a directory and its parents; one that is there is fine.
    pub(crate) fn make_directory(&self, path: &RelativePath) -> Result<(), Refusal> {
        let mut at = self.open_root()?;
        for segment in path.segments() {
            at = step_or_make(&at, segment)?;
        }
        Ok(())
    }

    /// Opens a regular file, without following links.
    fn open_file(&self, path: &RelativePath) -> Result<(File, Stat), Refusal> {
        let (parent, name) = self.parent(path)?;
        open_regular(&parent, name.as_ref())
    }

    /// Opens a regular file; links inside the workspace are followed.
    fn open_file_following(&self, path: &RelativePath) -> Result<(File, Stat), Refusal> {
        match self.open_file(path) {
            Err(refusal) if refusal == LINK => {
                let resolved = self.resolve(path)?;
                let name = resolved.file_name().ok_or(IS_DIRECTORY)?;
                let parent = self.walk(resolved.parent().unwrap_or(Path::new("")))?;
                open_regular(&parent, name)
            }
            other => other,
        }
    }

    /// Opens a directory for reading; links inside the workspace are followed.
    fn open_directory_following(&self, path: &RelativePath) -> Result<OwnedFd, Refusal> {
        let at = match self.walk(Path::new(path.as_str())) {
            Err(refusal) if refusal == LINK => self.walk(&self.resolve(path)?)?,
            other => other?,
        };
        open_directory(&at, OsStr::new("."))
    }

    /// Opens the directory at a path that is already resolved.
    fn walk(&self, resolved: &Path) -> Result<OwnedFd, Refusal> {
        let mut at = self.open_root()?;
        for segment in resolved.components() {
            at = step(&at, segment.as_os_str())?;
        }
        Ok(at)
    }

    /// Where a path with links leads, relative to the root. What leads out of it is refused.
    fn resolve(&self, path: &RelativePath) -> Result<PathBuf, Refusal> {
        let root = std::fs::canonicalize(&self.root)?;
        let whole = std::fs::canonicalize(root.join(path.as_str()))?;
        whole.strip_prefix(&root).map(Path::to_path_buf).map_err(|_| LINK)
    }
}

/// What something is, itself and not what it leads to.
fn kind(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

fn step(at: impl AsFd, name: &OsStr) -> Result<OwnedFd, Refusal> {
    let next = openat(at, name, STEP, Mode::empty())?;
    match kind(&fstat(&next)?) {
        FileKind::Directory => Ok(next),
        FileKind::Symlink => Err(LINK),
        FileKind::File | FileKind::Other => Err(Errno::NOTDIR.into()),
    }
}

fn step_or_make(at: impl AsFd, name: &str) -> Result<OwnedFd, Refusal> {
    match mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        // A directory that may not be written may still be passed through.
        Err(refused) => return step(at, name.as_ref()).map_err(|_| refused.into()),
    }
    step(at, name.as_ref())
}

fn open_directory(at: impl AsFd, name: &OsStr) -> Result<OwnedFd, Refusal> {
    Ok(openat(at, name, READ.union(OFlags::DIRECTORY), Mode::empty())?)
}

fn open_regular(at: impl AsFd, name: &OsStr) -> Result<(File, Stat), Refusal> {
    // A look before the opening: to open a device may already do something.
    require_regular(&statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let file = openat(at, name, READ, Mode::empty())?;
    let stat = fstat(&file)?;
    require_regular(&stat)?;
    Ok((File::from(file), stat))
}

fn require_regular(stat: &Stat) -> Result<(), Refusal> {
    match kind(stat) {
        FileKind::File => Ok(()),
        FileKind::Directory => Err(IS_DIRECTORY),
        FileKind::Symlink => Err(LINK),
        FileKind::Other => Err(NOT_A_FILE),
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// When the content changed last, in nanoseconds since 1970.
fn modified_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

fn modified_ms(stat: &Stat) -> i64 {
    i64::try_from(modified_ns(stat) / 1_000_000).unwrap_or(i64::MAX)
}

/// What is compared to see whether a file is still the one that was looked at.
fn version(stat: &Stat) -> (u64, i128, u64) {
    (stat.st_ino, modified_ns(stat), size(stat))
}

fn is_draft(name: &OsStr) -> bool {
    name.as_bytes().starts_with(DRAFT_PREFIX.as_bytes())
}

#[cfg(test)]
mod tests;
