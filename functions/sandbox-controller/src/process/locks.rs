//! Files that somebody holds locked for as long as it lives. The kernel frees a lock when the last
//! process ends that has the open file, however it ends.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Makes the file and takes its lock.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        loop {
            let file =
                File::options().create(true).truncate(false).read(true).write(true).open(path)?;
            file.lock()?;
            // Whoever tidies up may have removed the name between the two. Nobody would find this
            // lock then.
            if path.metadata().is_ok_and(|named| file.metadata().is_ok_and(|f| same(&f, &named))) {
                return Ok(Self(file));
            }
        }
    }

    /// Whether nobody holds it; `None` when there is no such file, or it cannot be told.
    pub(crate) fn is_free(path: &Path) -> Option<bool> {
        match File::open(path).ok()?.try_lock() {
            Ok(()) => Some(true),
            Err(TryLockError::WouldBlock) => Some(false),
            Err(TryLockError::Error(_)) => None,
        }
    }

    /// Hands the lock to a process that is about to start.
    pub(crate) fn into_stdio(self) -> Stdio {
        self.0.into()
    }
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_lock_lives_as_long_as_the_process_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(Lock::is_free(&path), None);
        let mut cat = Command::new("sleep");
        cat.arg("1000").stdin(Lock::take(&path).unwrap().into_stdio());
        let mut child = cat.spawn().unwrap();
        drop(cat);
        assert_eq!(Lock::is_free(&path), Some(false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Lock::is_free(&path), Some(true));
    }
}
