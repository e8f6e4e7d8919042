//! Messages that wake somebody: the port to the queues.
//!
//! **A message is a hint; the database row is the truth.** It may be lost, come twice, late and out of
//! order, and nothing breaks.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use messages::Queue;

use crate::Cause;

/// The longest delay that the queues keep. Longer waits are the sweeper's.
pub const MAX_DELAY: Duration = Duration::from_mins(15);

/// The queues.
#[async_trait]
pub trait Queues: Send + Sync + fmt::Debug {
    /// Sends `body` to `queue`, to be delivered at least once and not before `delay` is over. A
    /// longer delay than [`MAX_DELAY`] is cut to it: the receiver looks at the row and waits on.
    ///
    /// After an error the message may have been sent all the same.
    async fn send(&self, queue: Queue, body: String, delay: Duration) -> Result<(), Error>;
}

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Our role may not send. Another attempt will not help; a person should look.
    #[error("send to the {queue} queue: denied")]
    Denied {
        queue: Queue,
        #[source]
        cause: Cause,
    },
    /// No answer, or "not now". Worth another try; the message may have been sent.
    #[error("send to the {queue} queue: unavailable")]
    Unavailable {
        queue: Queue,
        #[source]
        cause: Cause,
    },
    /// The queue does not take the message: no such queue, a wrong setting, a fault of ours. Another
    /// attempt will not help.
    #[error("send to the {queue} queue: refused")]
    Refused {
        queue: Queue,
        #[source]
        cause: Cause,
    },
}

impl Error {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::Denied { .. } | Self::Refused { .. } => false,
        }
    }
}
