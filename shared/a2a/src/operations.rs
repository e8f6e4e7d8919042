//! The operations of the protocol, free of any binding.
//!
//! One implementation answers both bindings, so they cannot differ in what they do. **What an
//! operation knows of its caller is in its [`Operations::Context`] and nowhere else**; this crate
//! passes it through and never looks inside.

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::error::A2aError;
use crate::types::{
    CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendResult, StreamResponse,
    SubscribeToTaskRequest, Task,
};

/// What the service can do.
///
/// A task that does not exist and a task that belongs to someone else are both
/// [`A2aError::task_not_found`].
#[async_trait]
pub trait Operations: Send + Sync + 'static {
    /// Who asks, as trusted ingress has established it.
    type Context: Send + Sync + 'static;

    /// Admits the message and answers with its task: at once if the client wants that
    /// (`configuration.return_immediately`), else when the task is over or needs the client. It may
    /// take as long as it needs; the binding keeps the connection alive.
    async fn send_message(
        &self,
        context: &Self::Context,
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError>;

    /// Admits the message and streams what happens: the task first, or exactly one message.
    ///
    /// `last_event` is the client's `Last-Event-ID`: what it has seen already, where it repeats a
    /// request whose stream broke.
    async fn send_streaming_message(
        &self,
        context: &Self::Context,
        request: SendMessageRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError>;

    /// The task as it is now. The binding cuts the history to what was asked for.
    async fn get_task(
        &self,
        context: &Self::Context,
        request: GetTaskRequest,
    ) -> Result<Task, A2aError>;

    /// Ends the task, and answers with it. A second cancel answers with the canceled task.
    async fn cancel_task(
        &self,
        context: &Self::Context,
        request: CancelTaskRequest,
    ) -> Result<Task, A2aError>;

    /// The task as it is now, then what happens to it, until it is over. With `last_event`, only
    /// what came after that.
    async fn subscribe_to_task(
        &self,
        context: &Self::Context,
        request: SubscribeToTaskRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError>;
}

/// What a subscriber sees, in order. It ends when there is nothing more to come; an error is the
/// last thing in it. Dropping it ends the subscription and nothing else.
pub type EventStream = BoxStream<'static, Result<StreamEvent, A2aError>>;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its place in the log, from which a client resumes. `None` where resuming makes no sense.
    pub id: Option<i64>,
    pub response: StreamResponse,
}

/// The eleven operations of A2A 1.0 by name: what both bindings route to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard,
}

impl Operation {
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// The JSON-RPC method.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}
