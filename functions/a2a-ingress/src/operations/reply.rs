//! Direct replies: a message in place of a task (A2A §3.1.1, §3.1.2).
//!
//! **What was answered directly is answered so again**: the reply is an event of the task's log, and
//! its message is made of that alone. Who was shown the task first, or asks for it, finds the words
//! in its status.

use std::time::Duration;

use a2a::project::{self, Identity};
use a2a::types::Message;
use a2a::{A2aError, EventStream, StreamEvent};
use domain::agent_definition::ClientTool;
use domain::{EventBody, TaskState};
use futures_util::{StreamExt as _, stream};
use store::events;
use store::tasks::TaskView;
use tokio::time::{Instant, timeout_at};

use super::Desk;
use crate::caller::Caller;

/// How long a stream keeps its task back, where the agent may reply directly: a stream that has
/// shown a task can show no bare message any more. Long enough for a model that answers at once, and
/// so much shorter than the binding waits for a first event that no comment has to come before it.
const HOLD: Duration = Duration::from_millis(750);

impl Desk {
    /// The message with which the task was answered directly, if it was.
    pub(super) async fn replied(
        &self,
        caller: &Caller,
        view: &TaskView,
    ) -> Result<Option<Message>, A2aError> {
        let task = &view.task;
        // A reply leaves its words with the status too.
        if task.state != TaskState::Completed || task.status_message.is_none() {
            return Ok(None);
        }
        let event = events::reply(&self.viewer.pool, &caller.digest, task.id).await;
        let event = event.map_err(|error| caller.failed(&error))?;
        let identity = Identity { task: task.id, context_id: task.context_id.clone() };
        Ok(event.and_then(|event| project::reply(&identity, &event)))
    }

    /// Waits, where the agent may reply directly, until the log shows whether the run at hand does:
    /// its message then. `None` when it shows something else first, or nothing in time.
    pub(super) async fn first_word(
        &self,
        caller: &Caller,
        view: &TaskView,
    ) -> Result<Option<Message>, A2aError> {
        let task = &view.task;
        if task.state.is_terminal() {
            return self.replied(caller, view).await;
        }
        let tools = &caller.agent.definition.a2a.client_tools;
        let undecided = !task.state.is_interrupted() && view.artifacts.is_empty();
        if !undecided || !tools.contains(&ClientTool::ReplyDirectly) {
            return Ok(None);
        }
        let identity = Identity { task: task.id, context_id: task.context_id.clone() };
        let mut tail = self.tail(caller, task.id, view.position);
        let until = Instant::now() + HOLD;
        while let Ok(event) = timeout_at(until, tail.next()).await {
            let Some(event) = event.map_err(|error| caller.failed(&error))? else { break };
            match event.body {
                EventBody::Reply { .. } => return Ok(project::reply(&identity, &event)),
                EventBody::Artifact(_) => break,
                EventBody::Status { state, .. } if state.is_terminal() => break,
                EventBody::Status { state, .. } if state.is_interrupted() => break,
                EventBody::Status { .. }
                | EventBody::ToolCalled { .. }
                | EventBody::ToolFinished { .. } => {}
            }
        }
        Ok(None)
    }
}

/// A stream that is exactly one message. There is nothing to resume.
pub(super) fn alone(message: Message) -> EventStream {
    let response = a2a::types::StreamResponse::Message(message);
    stream::iter([Ok(StreamEvent { id: None, response })]).boxed()
}
