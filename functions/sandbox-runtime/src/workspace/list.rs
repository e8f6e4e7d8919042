//! What stands in a directory, and what something is.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, statat};
use sandbox_protocol::files::{Entry, FileKind, LsReply, StatReply, StatRequest};
use sandbox_protocol::limits::{MAX_EDITED_FILE, MAX_ENTRIES};
use sandbox_protocol::path::RelativePath;
use sha2::{Digest as _, Sha256};

use super::{Workspace, is_draft, kind, modified_ms, open_regular, size};
use crate::refusal::Refusal;

/// Names of one directory that are looked at, at most.
const MAX_NAMES: usize = 200_000;

/// The names in a directory, sorted, without those of drafts; and whether there are more.
pub(super) fn names(directory: impl AsFd) -> Result<(Vec<CString>, bool), Refusal> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || is_draft(name) {
            continue;
        }
        if names.len() == MAX_NAMES {
            return Ok((names, true));
        }
        names.push(entry.file_name().to_owned());
    }
    names.sort_unstable();
    Ok((names, false))
}

impl Workspace {
    pub(crate) fn list(&self, path: &RelativePath) -> Result<LsReply, Refusal> {
        let directory = self.open_directory_following(path)?;
        let (names, mut truncated) = names(&directory)?;
        let (mut entries, mut skipped) = (Vec::new(), 0);
        for name in names {
            let child = name.to_str().ok().and_then(|name| path.child(name));
            let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW);
            let (Some(child), Ok(stat)) = (child, stat) else {
                skipped += 1;
                continue;
            };
            if entries.len() == MAX_ENTRIES {
                truncated = true;
                break;
            }
            let kind = kind(&stat);
            let is_dir = match kind {
                FileKind::Directory => true,
                FileKind::Symlink => self.open_directory_following(&child).is_ok(),
                FileKind::File | FileKind::Other => false,
            };
            let path = child.as_str().to_owned();
            let modified_at = modified_ms(&stat);
            entries.push(Entry { path, kind, is_dir, size: size(&stat), modified_at });
        }
        Ok(LsReply { entries, truncated, skipped })
    }

    pub(crate) fn stat(
        &self,
        path: &RelativePath,
        request: &StatRequest,
    ) -> Result<StatReply, Refusal> {
        let resolved = if request.follow {
            self.resolve(path)?
        } else {
            std::path::PathBuf::from(path.as_str())
        };
        let parent = self.walk(resolved.parent().unwrap_or("".as_ref()))?;
        let name = resolved.file_name().unwrap_or(".".as_ref());
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = kind(&stat);
        let digest = request.sha256 && kind == FileKind::File && size(&stat) <= MAX_EDITED_FILE;
        let (sha256, stat) = if digest {
            let (file, stat) = open_regular(&parent, name)?;
            (sha256(file)?, stat)
        } else {
            (None, stat)
        };
        Ok(StatReply {
            path: path.as_str().to_owned(),
            kind,
            size: size(&stat),
            modified_at: modified_ms(&stat),
            mode: stat.st_mode & 0o7777,
            sha256,
        })
    }

    /// The digest of what stands there, for a change that depends on it.
    pub(crate) fn digest(&self, path: &RelativePath) -> Result<Option<String>, Refusal> {
        let (file, _) = self.open_file(path)?;
        sha256(file)
    }
}

/// `None`: the file grew beyond what is hashed.
fn sha256(file: File) -> Result<Option<String>, Refusal> {
    let mut digest = Sha256::new();
    let mut file = BufReader::new(file.take(MAX_EDITED_FILE + 1));
    let mut read = 0;
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            return Ok((read <= MAX_EDITED_FILE).then(|| hex::encode(digest.finalize())));
        }
        digest.update(piece);
        read += piece.len() as u64;
        let used = piece.len();
        file.consume(used);
    }
}
