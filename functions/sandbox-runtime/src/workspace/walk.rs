//! Going through all files below a directory, in order, and finding those whose names match.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use rustix::fs::{AtFlags, statat};
use sandbox_protocol::files::FileKind;
use sandbox_protocol::glob::Pattern;
use sandbox_protocol::limits::MAX_GLOB_MATCHES;
use sandbox_protocol::path::RelativePath;
use sandbox_protocol::search::GlobReply;

use super::list::names;
use super::{Workspace, kind, open_directory, open_regular, require_regular};
use crate::refusal::Refusal;

/// One descriptor is held for each.
const MAX_DEPTH: usize = 256;

/// Whether to go on.
pub(super) enum Go {
    On,
    Enough,
}

/// A file that the walk came to.
pub(super) struct Found<'a> {
    workspace: &'a Workspace,
    directory: &'a OwnedFd,
    name: &'a CStr,
    kind: FileKind,
    /// Relative to the workspace.
    pub(super) path: &'a RelativePath,
    /// Relative to where the walk began.
    pub(super) below: &'a str,
}

impl Found<'_> {
    /// Whether it is a regular file; a link may lead to one inside the workspace.
    pub(super) fn is_file(&self) -> bool {
        match self.kind {
            FileKind::File => true,
            FileKind::Symlink => self.workspace.open_file_following(self.path).is_ok(),
            FileKind::Directory | FileKind::Other => false,
        }
    }

    pub(super) fn open(&self) -> Result<File, Refusal> {
        match self.kind {
            FileKind::Symlink => self.workspace.open_file_following(self.path),
            _ => open_regular(self.directory, OsStr::from_bytes(self.name.to_bytes())),
        }
        .map(|(file, _)| file)
    }
}

/// A walk's progress.
pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    until: Instant,
    /// It was cut short.
    pub(super) truncated: bool,
    /// Places that could not be looked into, or whose names no request could spell.
    pub(super) skipped: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(workspace: &'a Workspace, until: Instant) -> Self {
        Self { workspace, until, truncated: false, skipped: 0 }
    }

    /// Visits all that is not a directory, in the order of names. Directories are entered, links to
    /// directories are not.
    pub(super) fn below(
        &mut self,
        start: &RelativePath,
        visit: &mut dyn FnMut(&Found<'_>, &mut Self) -> Go,
    ) -> Result<(), Refusal> {
        let directory = self.workspace.open_directory_following(start)?;
        self.directory(&directory, start, "", 0, visit);
        Ok(())
    }

    fn directory(
        &mut self,
        directory: &OwnedFd,
        path: &RelativePath,
        below: &str,
        depth: usize,
        visit: &mut dyn FnMut(&Found<'_>, &mut Self) -> Go,
    ) -> Go {
        let Ok((names, more)) = names(directory) else {
            self.skipped += 1;
            return Go::On;
        };
        self.truncated |= more;
        for name in names {
            if self.time_is_up() {
                return Go::Enough;
            }
            if let Go::Enough = self.entry(directory, &name, path, below, depth, visit) {
                return Go::Enough;
            }
        }
        Go::On
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        name: &CStr,
        path: &RelativePath,
        below: &str,
        depth: usize,
        visit: &mut dyn FnMut(&Found<'_>, &mut Self) -> Go,
    ) -> Go {
        let spelled = name.to_str().ok();
        let child = spelled.and_then(|name| Some((path.child(name)?, join(below, name))));
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let (Some((path, below)), Ok(stat)) = (child, stat) else {
            self.skipped += 1;
            return Go::On;
        };
        let kind = kind(&stat);
        if kind != FileKind::Directory {
            let workspace = self.workspace;
            let found = Found { workspace, directory, name, kind, path: &path, below: &below };
            return visit(&found, self);
        }
        let inside = open_directory(directory.as_fd(), OsStr::from_bytes(name.to_bytes()));
        match inside {
            Ok(inside) if depth < MAX_DEPTH => {
                self.directory(&inside, &path, &below, depth + 1, visit)
            }
            _ => {
                self.skipped += 1;
                Go::On
            }
        }
    }

    /// Says so in `truncated`, too.
    pub(super) fn time_is_up(&mut self) -> bool {
        let up = Instant::now() > self.until;
        self.truncated |= up;
        up
    }
}

fn join(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

impl Workspace {
    pub(crate) fn glob(
        &self,
        start: &RelativePath,
        pattern: &Pattern,
        until: Instant,
    ) -> Result<GlobReply, Refusal> {
        let mut paths = Vec::new();
        let mut walk = Walk::new(self, until);
        walk.below(start, &mut |found, walk| {
            if !pattern.matches(found.below) || !found.is_file() {
                return Go::On;
            }
            if paths.len() == MAX_GLOB_MATCHES {
                walk.truncated = true;
                return Go::Enough;
            }
            paths.push(found.path.as_str().to_owned());
            Go::On
        })?;
        paths.sort_unstable();
        Ok(GlobReply { paths, truncated: walk.truncated, skipped: walk.skipped })
    }

    /// Whether a path is a regular file rather than a directory to search.
    pub(super) fn is_file(&self, path: &RelativePath) -> Result<bool, Refusal> {
        let Some((parent, name)) = self.parent(path).ok().filter(|_| !path.is_root()) else {
            return Ok(false);
        };
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(require_regular(&stat).is_ok())
    }
}
