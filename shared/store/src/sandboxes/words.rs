//! The states of an allocation, and the name of a workspace.

use std::fmt;
use std::str::FromStr;

use domain::{ScopeDigest, SessionId};
use sha2::{Digest as _, Sha256};

use crate::{Error, Row};

/// A stored word that this version does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownWord;

/// Where an allocation stands. All but the last two are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    /// Meant to be launched; nothing was called yet.
    Reserved,
    /// The backend was called, or is about to be.
    Launching,
    /// It runs; its server does not answer yet.
    Initializing,
    Ready,
    /// It is to end, and may still run.
    Releasing,
    /// It is proven to have ended.
    Terminated,
    /// It is proven that nothing runs.
    FailedLaunch,
}

impl InstanceState {
    pub const ALL: [Self; 7] = [
        Self::Reserved,
        Self::Launching,
        Self::Initializing,
        Self::Ready,
        Self::Releasing,
        Self::Terminated,
        Self::FailedLaunch,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Launching => "launching",
            Self::Initializing => "initializing",
            Self::Ready => "ready",
            Self::Releasing => "releasing",
            Self::Terminated => "terminated",
            Self::FailedLaunch => "failed_launch",
        }
    }

    pub const fn is_live(self) -> bool {
        !matches!(self, Self::Terminated | Self::FailedLaunch)
    }
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InstanceState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|known| known.as_str() == word).ok_or(UnknownWord)
    }
}

pub(super) fn read_state(row: &Row) -> Result<InstanceState, Error> {
    let state: String = row.get("state")?;
    state.parse().map_err(|source| Error::corrupt("sandbox_instances", "state", source))
}

/// The name of a workspace: 64 hexadecimal digits, safe as a folder's name, and telling nothing of
/// whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceKey(String);

impl WorkspaceKey {
    /// One conversation of one agent in one exact scope has one workspace.
    pub fn of(scope: &ScopeDigest, session: SessionId, agent: &str) -> Self {
        // Two parts of fixed length and a rest: no two triples give the same text.
        let text = format!("ws1{}{}{agent}", scope.as_str(), session.as_uuid());
        Self(hex::encode(Sha256::digest(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorkspaceKey {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() == 64 && text.bytes().all(hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(UnknownWord)
        }
    }
}
