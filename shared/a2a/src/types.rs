//! The protocol's objects, in the protocol's words (A2A 1.0, `a2a.proto`).
//!
//! **A task always carries its `contextId`, a Part always holds exactly one content, and free JSON
//! is the text that was sent.**

mod artifact;
mod list;
mod message;
mod part;
mod push;
mod request;
mod stream;
mod task;

pub use artifact::Artifact;
pub use list::{ListTasksRequest, ListTasksResponse};
pub use message::{Message, Role};
pub use part::{Content, Part};
pub use push::{
    AuthenticationInfo, ListPushConfigsRequest, ListPushConfigsResponse, MAX_SCHEME_BYTES,
    MAX_SECRET_BYTES, MAX_URL_BYTES, PushConfigRequest, TaskPushNotificationConfig,
};
pub use request::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, SendMessageConfiguration,
    SendMessageRequest, SubscribeToTaskRequest,
};
pub(crate) use request::{Place, Problems};
pub use stream::{SendResult, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
pub use task::{Task, TaskStatus};

pub use crate::codec::base64::{Base64, InvalidBase64};
pub use crate::codec::json::{InvalidJson, JsonObject, JsonText};
/// The states of a task are those of the domain; only their spelling is the protocol's.
pub use domain::{TaskState, Timestamp};

#[cfg(test)]
mod tests;
