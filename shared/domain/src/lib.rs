//! The words that every part of the system shares: ids, scope, states, events, limits, the agent
//! definition, the clock.
//!
//! **No I/O, no async, and no clock or randomness but through [`Clock`] and [`Ids`].**

pub mod agent_definition;
pub mod event;
pub mod ids;
pub mod limits;
pub mod part;
pub mod scope;
pub mod state;
pub mod time;

pub use agent_definition::{AgentDefinition, AgentKey, AgentName, Tenant};
pub use event::{About, ArtifactContent, ArtifactUpdate, Event, EventBody};
pub use ids::{
    ArtifactId, CallId, Ids, InstanceId, MessageId, OutboxId, PublicationId, RunId, SessionId,
    TaskId, WebhookId,
};
pub use part::{NewPart, PartKind, StoredPart};
pub use scope::{Scope, ScopeDigest, ScopeError};
pub use state::{FailureCode, ProtocolVersion, PublicationFailure, RunState, TaskState};
pub use time::{Clock, SystemClock, Timestamp};
