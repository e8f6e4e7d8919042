//! Where an instance keeps its things.

use std::io;
use std::path::PathBuf;

/// The folders of one instance.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) workspace: PathBuf,
    pub(super) folder: PathBuf,
}

impl Place {
    pub(super) fn make(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.workspace)?;
        std::fs::create_dir_all(self.exchange())?;
        std::fs::create_dir_all(self.tmp())
    }

    /// The part that the server writes to.
    pub(super) fn exchange(&self) -> PathBuf {
        self.folder.join("exchange")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub(super) fn ready_file(&self) -> PathBuf {
        self.exchange().join("ready.json")
    }

    pub(super) fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The last line of the server's log, which names no command, path or secret.
    pub(super) fn last_words(&self) -> String {
        let log = std::fs::read(self.log_file()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        log.lines()
            .next_back()
            .map_or_else(|| "it said nothing".to_owned(), |line| line.chars().take(300).collect())
    }
}
