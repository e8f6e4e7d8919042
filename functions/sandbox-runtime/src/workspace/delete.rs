//! Removing a file, a link as such, or a directory with all below it.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, statat, unlinkat};
use rustix::io::Errno;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::FileKind;
use sandbox_protocol::path::RelativePath;

use super::{Workspace, kind, open_directory};
use crate::admission::Permit;
use crate::refusal::Refusal;

const TOO_DEEP: Refusal = Refusal(ErrorCode::LimitExceeded, "the directory is nested too deeply");
const TOO_LONG: Refusal =
    Refusal(ErrorCode::Timeout, "there is more than could be removed in time");
/// One descriptor is held for each.
const MAX_DEPTH: usize = 256;

impl Workspace {
    /// Every single removal asks the permit. What was removed when the time was up stays so.
    pub(crate) fn delete(
        &self,
        path: &RelativePath,
        permit: &Permit,
        until: Instant,
    ) -> Result<u64, Refusal> {
        let (parent, name) = self.parent(path)?;
        let mut removal = Removal { permit, until, removed: 0 };
        removal.entry(&parent, name.as_ref(), 0)?;
        Ok(removal.removed)
    }
}

struct Removal<'a> {
    permit: &'a Permit,
    until: Instant,
    removed: u64,
}

impl Removal<'_> {
    fn entry(&mut self, parent: impl AsFd, name: &OsStr, depth: usize) -> Result<(), Refusal> {
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kind(&stat) != FileKind::Directory {
            return self.unlink(parent, name, AtFlags::empty());
        }
        if depth == MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        let directory = open_directory(&parent, name)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                match self.entry(&directory, name, depth + 1) {
                    // A command was faster.
                    Err(Refusal(ErrorCode::NotFound, _)) => {}
                    other => other?,
                }
            }
        }
        self.unlink(parent, name, AtFlags::REMOVEDIR)
    }

    fn unlink(&mut self, parent: impl AsFd, name: &OsStr, flags: AtFlags) -> Result<(), Refusal> {
        if Instant::now() > self.until {
            return Err(TOO_LONG);
        }
        match self.permit.commit(|| unlinkat(parent, name, flags))? {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
