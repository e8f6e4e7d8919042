//! Reading a file whole: as it was at one moment, and no larger than said.

use std::fs::File;
use std::io::Read as _;

use rustix::fs::{Stat, fstat};
use sandbox_protocol::ErrorCode;
use sandbox_protocol::path::RelativePath;

use super::{NOT_A_FILE, Workspace, modified_ns, size, version};
use crate::refusal::Refusal;

const TOO_LARGE: Refusal = Refusal(ErrorCode::TooLarge, "the file is larger than allowed");
const CHANGED: Refusal = Refusal(ErrorCode::ChangedDuringRead, "the file changed while read");

/// A file's bytes, and which file they were of.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) bytes: Vec<u8>,
    pub(crate) modified_ns: i128,
    pub(crate) inode: u64,
}

impl Workspace {
    /// For publication: no link of either kind, so that the bytes are those of a file that lies
    /// here and nowhere else.
    pub(crate) fn read_bounded(&self, path: &RelativePath, max: u64) -> Result<Snapshot, Refusal> {
        let (file, stat) = self.open_file(path)?;
        if stat.st_nlink != 1 {
            return Err(NOT_A_FILE);
        }
        let bytes = read_whole(file, &stat, max)?;
        Ok(Snapshot { bytes, modified_ns: modified_ns(&stat), inode: stat.st_ino })
    }

    /// Without following links; hard links are fine.
    pub(crate) fn read_all(&self, path: &RelativePath, max: u64) -> Result<Vec<u8>, Refusal> {
        let (file, stat) = self.open_file(path)?;
        read_whole(file, &stat, max)
    }
}

/// Reads at most `max` bytes and refuses a file that has more, also if it grows meanwhile.
pub(super) fn read_whole(mut file: File, before: &Stat, max: u64) -> Result<Vec<u8>, Refusal> {
    if size(before) > max {
        return Err(TOO_LARGE);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size(before)).unwrap_or_default());
    (&mut file).take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(TOO_LARGE);
    }
    let after = fstat(&file)?;
    if version(before) != version(&after) || bytes.len() as u64 != size(&after) {
        return Err(CHANGED);
    }
    Ok(bytes)
}
