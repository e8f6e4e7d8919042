//! Writing a whole file: beside its target first, then in its place.
//!
//! **A target is never half written**: it is what it was, or all of the new content.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fchmod, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::{FileKind, WriteReply};
use sandbox_protocol::path::RelativePath;
use sha2::{Digest as _, Sha256};

use super::{DRAFT_PREFIX, IS_DIRECTORY, LINK, NOT_A_FILE, Workspace, kind, version};
use crate::refusal::Refusal;

const CHANGED: Refusal =
    Refusal(ErrorCode::ChangedDuringRead, "the file changed while it was worked on");

/// A new content that is not in its place yet. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Draft {
    parent: OwnedFd,
    name: String,
    beside: String,
    file: File,
    digest: Sha256,
    bytes: u64,
    landed: bool,
}

impl Draft {
    /// Begins one, with the directories above it. What stands at the target must be a regular file,
    /// or nothing.
    pub(crate) fn begin(workspace: &Workspace, path: &RelativePath) -> Result<Self, Refusal> {
        let (parent, name) = workspace.parent_made(path)?;
        let stands = standing(&parent, name)?;
        let beside = format!("{DRAFT_PREFIX}{}", hex::encode(random()?));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(openat(&parent, &*beside, flags, Mode::from_raw_mode(0o644))?);
        let draft = Self {
            parent,
            name: name.to_owned(),
            beside,
            file,
            digest: Sha256::new(),
            bytes: 0,
            landed: false,
        };
        if let Some(stat) = stands {
            // What could be executed still can be.
            fchmod(&draft.file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
        Ok(draft)
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.file.write_all(bytes)?;
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn sha256(&self) -> String {
        hex::encode(self.digest.clone().finalize())
    }

    /// Puts the content in its place. With `expected`, only where that version of the target still
    /// stands.
    pub(crate) fn land(
        mut self,
        path: &RelativePath,
        expected: Option<&Stat>,
    ) -> Result<WriteReply, Refusal> {
        let stands = standing(&self.parent, &self.name)?;
        if expected.is_some() && expected.map(version) != stands.as_ref().map(version) {
            return Err(CHANGED);
        }
        renameat(&self.parent, &*self.beside, &self.parent, &*self.name)?;
        self.landed = true;
        let path = path.as_str().to_owned();
        Ok(WriteReply { path, bytes: self.bytes, sha256: self.sha256() })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.landed {
            let _ = unlinkat(&self.parent, &*self.beside, AtFlags::empty());
        }
    }
}

/// What a rename would replace.
fn standing(parent: &OwnedFd, name: &str) -> Result<Option<Stat>, Refusal> {
    let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match kind(&stat) {
        FileKind::File => Ok(Some(stat)),
        FileKind::Directory => Err(IS_DIRECTORY),
        FileKind::Symlink => Err(LINK),
        FileKind::Other => Err(NOT_A_FILE),
    }
}

/// Straight from the kernel: nothing that a snapshot of the machine's memory could repeat.
pub(crate) fn random() -> Result<[u8; 16], Refusal> {
    let mut bytes = [0; 16];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled == bytes.len() { Ok(bytes) } else { Err(Errno::INTR.into()) }
}

/// Writes, reads and removes a file in the root.
pub(crate) fn probe(workspace: &Workspace) -> Result<(), Refusal> {
    let root = workspace.open_root()?;
    let name = format!("{DRAFT_PREFIX}{}", hex::encode(random()?));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(openat(&root, &*name, flags, Mode::from_raw_mode(0o600))?);
    let written = file.write_all(b"probe");
    let read = File::from(openat(&root, &*name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
    let read = std::io::read_to_string(read);
    unlinkat(&root, &*name, AtFlags::empty())?;
    written?;
    if read? == "probe" { Ok(()) } else { Err(Errno::IO.into()) }
}
