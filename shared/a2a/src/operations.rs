//! The operations of the protocol, free of any binding.
//!
//! One implementation answers both bindings, so they cannot differ in what they do. **What an
//! operation knows of its caller is in its [`Operations::Context`] and nowhere else**; this crate
//! passes it through and never looks inside.

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::card::AgentCard;
use crate::error::A2aError;
use crate::types::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, PushConfigRequest,
    SendMessageRequest, SendResult, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig,
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

    /// The caller's tasks, the newest status first, a page at a time. No task that is there from the
    /// first page to the last is lost or comes twice, whatever happens to it meanwhile. The binding
    /// does not cut histories: they come as they were asked for.
    async fn list_tasks(
        &self,
        context: &Self::Context,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError>;

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

    /// Keeps a webhook of a task, in any state of it. One with the same id is replaced. The answer
    /// has an id, and no secrets.
    async fn create_push_config(
        &self,
        context: &Self::Context,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError>;

    /// A webhook of a task, without its secrets. One that does not exist is a task that is not
    /// found, as with the reference server.
    async fn get_push_config(
        &self,
        context: &Self::Context,
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError>;

    /// The webhooks of a task, without their secrets.
    async fn list_push_configs(
        &self,
        context: &Self::Context,
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError>;

    /// Forgets a webhook. Forgetting one that is not there is no error; a task that is not there is.
    async fn delete_push_config(
        &self,
        context: &Self::Context,
        request: PushConfigRequest,
    ) -> Result<(), A2aError>;

    /// The card for callers who are known: [`crate::Cause::ExtendedAgentCardNotConfigured`] where
    /// the agent has none.
    async fn get_extended_agent_card(
        &self,
        context: &Self::Context,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError>;
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

    /// Whether its answer is a stream.
    pub const fn streams(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}
