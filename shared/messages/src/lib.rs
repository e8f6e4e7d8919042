//! One module per queue: who sends, who receives, the versioned body.
//!
//! **A message is a hint; the database row is the truth.** It may come twice, late and out of order.
//!
//! An unreadable body is never acknowledged: SQS carries it to the dead-letter queue. A body of a
//! newer version is unreadable, so senders are updated after receivers.

pub mod notifications;
pub mod publications;
pub mod runs;
pub mod sandboxes;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The queues, by the name that rows of the outbox carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    Runs,
    Sandboxes,
    Publications,
    Notifications,
}

impl Queue {
    pub const ALL: [Self; 4] =
        [Self::Runs, Self::Sandboxes, Self::Publications, Self::Notifications];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Sandboxes => "sandboxes",
            Self::Publications => "publications",
            Self::Notifications => "notifications",
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A queue's name that this version does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown queue")]
pub struct UnknownQueue;

impl FromStr for Queue {
    type Err = UnknownQueue;

    fn from_str(word: &str) -> Result<Self, UnknownQueue> {
        Self::ALL.into_iter().find(|q| q.as_str() == word).ok_or(UnknownQueue)
    }
}

/// A body that this version cannot read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("the body is not a message of this queue")]
    Json(#[source] serde_json::Error),
    #[error("the body has version {0}, which is unknown here")]
    Version(u32),
}

/// What every queue's body can do.
pub trait Message: Sized + Serialize + for<'de> Deserialize<'de> {
    const QUEUE: Queue;
    const VERSION: u32;

    fn version(&self) -> u32;

    /// The body as it travels.
    fn body(&self) -> String {
        // Plain structs of strings and ids: there is no map key or number that JSON cannot hold.
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("messages serialise"))
    }

    fn parse(body: &str) -> Result<Self, Unreadable> {
        let message: Self = serde_json::from_str(body).map_err(Unreadable::Json)?;
        if message.version() == Self::VERSION {
            Ok(message)
        } else {
            Err(Unreadable::Version(message.version()))
        }
    }
}
