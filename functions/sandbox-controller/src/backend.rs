//! Where sandboxes come from.

use std::time::Duration;

use sandbox_protocol::client;
use store::sandboxes::{Instance, Wish};

use crate::process::Process;

/// The kinds of sandboxes that this controller can launch: one is chosen at the start, and nothing
/// falls back to another one.
#[derive(Debug)]
pub enum Backend {
    /// A server process on this machine.
    Process(Process),
}

/// Why there is no sandbox, although one was wanted.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The instance is another runner's.
    #[error("launch the sandbox of another runner")]
    NotOurs,
    /// It was ended meanwhile, and is never started again.
    #[error("launch a sandbox that was ended")]
    Ended,
    #[error("make the folders of the sandbox")]
    Folder(#[source] std::io::Error),
    #[error("start the sandbox's server")]
    Spawn(#[source] std::io::Error),
    #[error("the sandbox's server ended before it was ready: {0}")]
    Exited(String),
    #[error("the sandbox's server did not listen within {0:?}")]
    Silent(Duration),
    #[error("bootstrap the sandbox's server")]
    Bootstrap(#[source] client::Error),
}

impl LaunchError {
    /// The word that is stored, and that a run is told.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotOurs => "not_ours",
            Self::Ended => "ended",
            Self::Folder(_) => "no_folder",
            Self::Spawn(_) => "not_started",
            Self::Exited(_) => "exited",
            Self::Silent(_) => "silent",
            Self::Bootstrap(_) => "not_bootstrapped",
        }
    }
}

/// What is known of an instance's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Alive,
    /// Proven: it runs no more, and nobody will start it.
    Gone,
    /// It may run, or be started at any moment.
    Unsure,
}

/// What became of an attempt to end an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Proven: it runs no more, and will not be started again.
    Confirmed,
    /// Not yet, or it is another runner's, which lives.
    Pending,
}

impl Backend {
    /// What this controller would launch.
    pub fn wish(&self) -> Wish<'_> {
        match self {
            Self::Process(process) => Wish {
                backend: Process::NAME,
                config_digest: process.config_digest(),
                runner: Some(process.runner()),
            },
        }
    }

    /// Starts the instance's server, tells it whose it is, and returns its endpoint. Repeated, it
    /// goes on with the same server and never starts a second one.
    pub async fn launch(&self, instance: &Instance) -> Result<String, LaunchError> {
        match self {
            Self::Process(process) => process.launch(instance).await,
        }
    }

    /// Whether the instance runs.
    pub async fn fate(&self, instance: &Instance) -> Fate {
        match self {
            Self::Process(process) => process.fate(instance).await,
        }
    }

    /// Ends the instance, whether or not it was ever started. May be repeated.
    pub async fn terminate(&self, instance: &Instance) -> End {
        match self {
            Self::Process(process) => process.terminate(instance).await,
        }
    }
}
