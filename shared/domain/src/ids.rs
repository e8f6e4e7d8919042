//! Server-made ids. Each prints with a prefix (`run_…`), so that a log line is readable alone, and
//! travels as the bare UUID.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not one of our ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct InvalidId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        /// Reads the bare UUID in lower-case hyphenated form, with or without the prefix. Other
        /// spellings of the same UUID are refused: one id, one name.
        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let bare = text.strip_prefix(concat!($prefix, "_")).unwrap_or(text);
                let uuid = Uuid::try_parse(bare).map_err(|_| InvalidId)?;
                if uuid.to_string() == bare { Ok(Self(uuid)) } else { Err(InvalidId) }
            }
        }
    };
}

id!(
    /// A conversation: the A2A context, seen from inside.
    SessionId,
    "session"
);
id!(
    /// Requested work: the A2A task.
    TaskId,
    "task"
);
id!(
    /// One execution attempt of a task.
    RunId,
    "run"
);
id!(
    /// One message of a session's log; not the client's `messageId`.
    MessageId,
    "msg"
);
id!(
    /// One publication of one file, made once per (run, tool call).
    PublicationId,
    "pub"
);
id!(
    /// One allocation of a sandbox.
    InstanceId,
    "sbx"
);
id!(
    /// Where updates of one task are posted to: the A2A push notification configuration, seen from
    /// inside.
    WebhookId,
    "hook"
);
id!(
    /// One queue message that waits to be sent.
    OutboxId,
    "out"
);

/// A tool call's id: unique within its run, chosen by the model provider or by us.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An artifact's id as the client sees it: unique within its task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactId(pub String);

impl ArtifactId {
    /// The artifact that holds the task's text answer.
    pub fn response(task: TaskId) -> Self {
        Self(format!("task-{}-response", task.as_uuid()))
    }
}

impl From<PublicationId> for ArtifactId {
    /// A published file's artifact carries the publication's id.
    fn from(publication: PublicationId) -> Self {
        Self(publication.as_uuid().to_string())
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where minted ids come from: time-ordered and random in production, a fixed sequence in tests.
#[derive(Debug)]
pub struct Ids(Source);

#[derive(Debug)]
enum Source {
    Random,
    Seeded(Mutex<(u64, u64)>),
}

impl Ids {
    pub const fn random() -> Self {
        Self(Source::Random)
    }

    /// The same seed gives the same ids in the same order.
    pub const fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Mutex::new((seed, 0))))
    }

    pub fn uuid(&self) -> Uuid {
        match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place that mints ids")]
            Source::Random => Uuid::now_v7(),
            Source::Seeded(state) => {
                let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                state.1 += 1;
                let name = format!("{}/{}", state.0, state.1);
                Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
            }
        }
    }

    pub fn session(&self) -> SessionId {
        SessionId(self.uuid())
    }

    pub fn task(&self) -> TaskId {
        TaskId(self.uuid())
    }

    pub fn run(&self) -> RunId {
        RunId(self.uuid())
    }

    pub fn message(&self) -> MessageId {
        MessageId(self.uuid())
    }

    pub fn publication(&self) -> PublicationId {
        PublicationId(self.uuid())
    }

    pub fn instance(&self) -> InstanceId {
        InstanceId(self.uuid())
    }

    pub fn webhook(&self) -> WebhookId {
        WebhookId(self.uuid())
    }

    pub fn outbox(&self) -> OutboxId {
        OutboxId(self.uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_prints_with_its_prefix_and_reads_back_with_and_without() {
        let run = Ids::seeded(1).run();
        assert!(run.to_string().starts_with("run_"));
        assert_eq!(run.to_string().parse(), Ok(run));
        assert_eq!(run.as_uuid().to_string().parse(), Ok(run));
    }

    #[test]
    fn another_spelling_of_the_same_id_is_refused() {
        let run = Ids::seeded(1).run();
        let upper = run.as_uuid().to_string().to_uppercase();
        assert_eq!(upper.parse::<RunId>(), Err(InvalidId));
        assert_eq!(run.as_uuid().simple().to_string().parse::<RunId>(), Err(InvalidId));
        assert_eq!("task_x".parse::<RunId>(), Err(InvalidId));
    }
}
