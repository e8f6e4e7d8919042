//! The operations of A2A on the durable record.
//!
//! **Nothing is executed here.** A message is admitted in one transaction; what follows is read from
//! the event log, whoever writes it.

mod extended_card;
mod list;
mod modes;
mod reply;
mod webhooks;

use std::sync::Arc;

use a2a::card::AgentCard;
use a2a::project::Identity;
use a2a::types::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, PushConfigRequest,
    SendMessageRequest, SendResult, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig,
};
use a2a::{A2aError, Cause, EventStream, Operations, StreamEvent, inbound};
use async_trait::async_trait;
use cloud::queues::Queues;
use domain::{AgentKey, EventBody, Ids, TaskId};
use futures_util::StreamExt as _;
use futures_util::stream;
use store::Outgoing;
use store::admission::{Admission, Admitted, admit};
use store::conversation::Envelope;
use store::events;
use store::tasks::{self, Canceled, TaskView, Want};
use store::webhooks::NewWebhook;
use view::Viewer;

use crate::caller::Caller;
use crate::tail::Tail;
pub use webhooks::{NoKeys, Webhooks};

/// What the ingress needs to admit and to read.
#[derive(Debug, Clone)]
pub struct Desk {
    pub viewer: Viewer,
    pub queues: Arc<dyn Queues>,
    pub ids: Arc<Ids>,
    pub limits: inbound::Limits,
    /// Whether a messageId that comes again means the same request.
    pub idempotent: bool,
    pub webhooks: Webhooks,
}

/// A task to answer with, and where its log stood when the request was taken.
struct Taken {
    task: TaskId,
    /// Just before the first event of the request's own run; `None` for a request that was taken
    /// before.
    after: Option<i64>,
    /// Brings a worker to the request's run; see [`Desk::wake`].
    wake: Option<Outgoing>,
}

impl Desk {
    /// Makes the request durable. Its worker comes once it is [woken](Self::wake), or a little later
    /// by itself.
    async fn admit(
        &self,
        caller: &Caller,
        agent: &AgentKey,
        request: &SendMessageRequest,
    ) -> Result<Taken, A2aError> {
        let SendMessageRequest { message, configuration, .. } = request;
        let accepted = &configuration.accepted_output_modes;
        let definition = &caller.agent.definition;
        let admitted = inbound::admit(message, &self.limits, &definition.a2a)?;
        let task = match &message.task_id {
            Some(id) => Some(id.parse().map_err(|_| A2aError::task_not_found())?),
            None => None,
        };
        let webhook =
            self.inline_webhook(configuration.task_push_notification_config.as_deref())?;
        let request = Admission {
            scope: &caller.scope,
            agent,
            message_id: &message.message_id,
            context_id: message.context_id.as_deref(),
            task,
            envelope: Envelope {
                v: Envelope::VERSION,
                metadata: message.metadata.as_ref().map(|json| json.as_str().to_owned()),
                extensions: message.extensions.clone(),
                reference_task_ids: message.reference_task_ids.clone(),
                accepted_output_modes: modes::narrowed(&definition.a2a, accepted),
            },
            parts: &admitted.parts(),
            fingerprint: &admitted.fingerprint(),
            idempotent: self.idempotent,
            manifest: &caller.agent.manifest,
            manifest_digest: &caller.agent.manifest_digest,
            timeout: std::time::Duration::from_secs(definition.limits.timeout_seconds.into()),
            webhook: webhook.as_ref().map(|webhook| NewWebhook {
                config_id: webhook.id(),
                protocol: caller.protocol,
                seal: webhook,
                most: self.webhooks.most,
            }),
        };
        let pool = &self.viewer.pool;
        match admit(pool, &self.ids, &request).await.map_err(|error| caller.failed(&error))? {
            Admitted::New(taken) => {
                Ok(Taken { task: taken.task, after: Some(taken.after), wake: Some(taken.outgoing) })
            }
            Admitted::TooManyWebhooks => {
                Err(webhooks::too_many(webhooks::INLINE, self.webhooks.most))
            }
            Admitted::Existing(task) => Ok(Taken { task, after: None, wake: None }),
            Admitted::MessageIdReused => {
                Err(A2aError::invalid("message.messageId", "was used for another message"))
            }
            Admitted::Busy if task.is_some() => Err(A2aError::invalid(
                "message.taskId",
                "the task, or its context, is busy with an earlier message",
            )),
            Admitted::Busy => Err(A2aError::invalid(
                "message.contextId",
                "the context is busy with an earlier message",
            )),
            Admitted::UnknownTask => Err(A2aError::task_not_found()),
            Admitted::ContextMismatch => {
                Err(A2aError::invalid("message.contextId", "is not the context of the task"))
            }
            Admitted::Ended(_) => {
                Err(A2aError::because(Cause::UnsupportedOperation, "the task has ended"))
            }
        }
    }

    /// Wakes the worker of a request that was admitted.
    async fn wake(&self, taken: &mut Taken) {
        if let Some(outgoing) = taken.wake.take() {
            let pool = &self.viewer.pool;
            let outgoing = std::iter::once(outgoing).chain(pool.take_hints());
            dispatch::send_all(pool, &*self.queues, outgoing).await;
        }
    }

    /// The task, with the last messages of its history, as many as wanted.
    async fn view(
        &self,
        caller: &Caller,
        agent: &AgentKey,
        task: TaskId,
        history: Option<u32>,
    ) -> Result<TaskView, A2aError> {
        let want = Want { history, artifacts: true };
        tasks::view(&self.viewer.pool, &caller.digest, agent, task, want)
            .await
            .map_err(|error| caller.failed(&error))?
            .ok_or_else(A2aError::task_not_found)
    }

    /// The task as its client sees it.
    async fn show(&self, caller: &Caller, view: TaskView) -> Result<Task, A2aError> {
        let agent = &caller.agent.definition.name;
        let task = self.viewer.task(caller.reader(), agent, view).await;
        task.map_err(|error| caller.failed(&error))
    }

    /// Waits until the task has ended or wants something of its client, or until there is no time
    /// left to wait.
    async fn settled(
        &self,
        caller: &Caller,
        agent: &AgentKey,
        taken: &Taken,
    ) -> Result<(), A2aError> {
        let after = if let Some(after) = taken.after {
            after
        } else {
            let view = self.view(caller, agent, taken.task, Some(0)).await?;
            if view.task.state.is_terminal() || view.task.state.is_interrupted() {
                return Ok(());
            }
            view.position
        };
        let mut tail = self.tail(caller, taken.task, after);
        while let Some(event) = tail.next().await.map_err(|error| caller.failed(&error))? {
            if matches!(event.body, EventBody::Status { state, .. } if state.is_interrupted()) {
                break;
            }
        }
        Ok(())
    }

    fn tail(&self, caller: &Caller, task: TaskId, after: i64) -> Tail {
        Tail::new(self.viewer.pool.clone(), caller.digest.clone(), task, after, caller.until)
    }

    /// Whether something of the task came after the event `last`. Its log is one of a whole context,
    /// so the position alone does not tell.
    async fn unread(&self, caller: &Caller, view: &TaskView, last: i64) -> Result<bool, A2aError> {
        if last >= view.position {
            return Ok(false);
        }
        let next = events::after(&self.viewer.pool, &caller.digest, view.task.id, last, 1).await;
        Ok(!next.map_err(|error| caller.failed(&error))?.is_empty())
    }

    /// The task as it is now, then what happens to it; with `last_event`, only what came after that.
    async fn follow(
        &self,
        caller: &Caller,
        view: TaskView,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        let identity = Identity { task: view.task.id, context_id: view.task.context_id.clone() };
        let position = view.position;
        let ended = view.task.state.is_terminal();
        // Who has seen the end of a task gets the task: there is nothing to go on with.
        let last_event = match last_event {
            Some(last) if ended && !self.unread(caller, &view, last).await? => None,
            other => other,
        };
        let first = if last_event.is_some() {
            None
        } else {
            let task = self.show(caller, view).await?;
            Some(Ok(StreamEvent { id: Some(position), response: StreamResponse::Task(task) }))
        };
        if ended && last_event.is_none() {
            return Ok(stream::iter(first).boxed());
        }
        // An id that this log never gave must not hide what is still to come.
        let after = last_event.map_or(position, |last| last.min(position));
        let tail = self.tail(caller, identity.task, after);
        let tail = if ended { tail.of_ended() } else { tail };
        let state = (tail, self.viewer.clone(), caller.clone(), identity);
        let rest = stream::unfold(Some(state), async |state| {
            let (mut tail, viewer, caller, identity) = state?;
            loop {
                let event = match tail.next().await {
                    Ok(Some(event)) => event,
                    Ok(None) => return None,
                    Err(error) => return Some((Err(caller.failed(&error)), None)),
                };
                match viewer.event(caller.reader(), &identity, &event).await {
                    Ok(Some(response)) => {
                        let event = StreamEvent { id: Some(event.sequence), response };
                        return Some((Ok(event), Some((tail, viewer, caller, identity))));
                    }
                    Ok(None) => {}
                    Err(error) => return Some((Err(caller.failed(&error)), None)),
                }
            }
        });
        Ok(stream::iter(first).chain(rest).boxed())
    }
}

fn task_id(text: &str) -> Result<TaskId, A2aError> {
    text.parse().map_err(|_| A2aError::task_not_found())
}

#[async_trait]
impl Operations for Desk {
    type Context = Caller;

    async fn send_message(
        &self,
        caller: &Caller,
        request: SendMessageRequest,
    ) -> Result<SendResult, A2aError> {
        let agent = caller.key(request.tenant.as_deref())?;
        let mut taken = self.admit(caller, &agent, &request).await?;
        self.wake(&mut taken).await;
        if !request.configuration.return_immediately {
            self.settled(caller, &agent, &taken).await?;
        }
        let history = request.configuration.history_length;
        let view = self.view(caller, &agent, taken.task, history).await?;
        if let Some(message) = self.replied(caller, &view).await? {
            return Ok(SendResult::Message(message));
        }
        self.show(caller, view).await.map(SendResult::Task)
    }

    async fn send_streaming_message(
        &self,
        caller: &Caller,
        request: SendMessageRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        let agent = caller.key(request.tenant.as_deref())?;
        let mut taken = self.admit(caller, &agent, &request).await?;
        let history = request.configuration.history_length;
        // Before the worker comes, so that the stream shows all that it does.
        let view = self.view(caller, &agent, taken.task, history).await;
        self.wake(&mut taken).await;
        let view = view?;
        // Only a request that was taken before can have been seen in part.
        let last_event = last_event.filter(|_| taken.after.is_none());
        // Who names a task knows it, and who comes back was shown it.
        if request.message.task_id.is_none()
            && last_event.is_none()
            && let Some(message) = self.first_word(caller, &view).await?
        {
            return Ok(reply::alone(message));
        }
        self.follow(caller, view, last_event).await
    }

    async fn get_task(&self, caller: &Caller, request: GetTaskRequest) -> Result<Task, A2aError> {
        let agent = caller.key(request.tenant.as_deref())?;
        let history = request.history_length;
        let view = self.view(caller, &agent, task_id(&request.id)?, history).await?;
        self.show(caller, view).await
    }

    async fn list_tasks(
        &self,
        caller: &Caller,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        self.list(caller, request).await
    }

    async fn cancel_task(
        &self,
        caller: &Caller,
        request: CancelTaskRequest,
    ) -> Result<Task, A2aError> {
        let task = task_id(&request.id)?;
        let agent = caller.key(request.tenant.as_deref())?;
        let canceled = tasks::cancel(&self.viewer.pool, &caller.digest, &agent, task)
            .await
            .map_err(|error| caller.failed(&error))?;
        match canceled {
            Canceled::Yes => {
                dispatch::flush(&self.viewer.pool, &*self.queues).await;
                let view = self.view(caller, &agent, task, None).await?;
                self.show(caller, view).await
            }
            Canceled::No(_) => Err(A2aError::new(Cause::TaskNotCancelable)),
            Canceled::Unknown => Err(A2aError::task_not_found()),
        }
    }

    async fn subscribe_to_task(
        &self,
        caller: &Caller,
        request: SubscribeToTaskRequest,
        last_event: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        let agent = caller.key(request.tenant.as_deref())?;
        let view = self.view(caller, &agent, task_id(&request.id)?, None).await?;
        if view.task.state.is_terminal() {
            let unread = match last_event {
                Some(last) => self.unread(caller, &view, last).await?,
                None => false,
            };
            if !unread {
                return Err(A2aError::because(Cause::UnsupportedOperation, "the task has ended"));
            }
        }
        self.follow(caller, view, last_event).await
    }

    async fn create_push_config(
        &self,
        caller: &Caller,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.create_webhook(caller, config).await
    }

    async fn get_push_config(
        &self,
        caller: &Caller,
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        self.webhook(caller, request).await
    }

    async fn list_push_configs(
        &self,
        caller: &Caller,
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        self.webhooks(caller, request).await
    }

    async fn delete_push_config(
        &self,
        caller: &Caller,
        request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        self.delete_webhook(caller, request).await
    }

    async fn get_extended_agent_card(
        &self,
        caller: &Caller,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        self.extended_card(caller, &request)
    }
}
