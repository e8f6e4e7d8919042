//! The conversation as the database has it: the only thing that decisions are made on.

use agent::render::{self, MessageContext};
use agent::{Message, ToolCode};
use domain::StoredPart;
use store::conversation::{self, Envelope, Role, StoredMessage};
use store::{Error, Lease, Pool};

/// A session's log, read at one moment.
#[derive(Debug)]
pub(crate) struct Log {
    messages: Vec<Message>,
    /// Which of them belong to the task at hand.
    of_task: Vec<bool>,
    /// What clients sent, in their order.
    parts: Vec<StoredPart>,
}

impl Log {
    pub(crate) async fn read(pool: &Pool, lease: &Lease) -> Result<Self, Error> {
        let stored = conversation::thread(pool, lease.scope(), lease.session()).await?;
        let mut log = Self { messages: Vec::new(), of_task: Vec::new(), parts: Vec::new() };
        for mut message in stored {
            log.of_task.push(message.task == lease.task());
            log.messages.push(understand(&message)?);
            log.parts.append(&mut message.parts);
        }
        Ok(log)
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages of the task at hand alone.
    pub(crate) fn of_task(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().zip(&self.of_task).filter_map(|(message, own)| own.then_some(message))
    }

    /// The Part of this id, which a client of this session sent.
    pub(crate) fn part(&self, id: &str) -> Option<&StoredPart> {
        self.parts.iter().find(|part| part.part_id == id)
    }

    /// Whether the calls of the last answer were more than the run may make.
    pub(crate) fn is_over_tool_limit(&self) -> bool {
        let results = self.messages.iter().rev().take_while(|m| m.role() == agent::Role::Tool);
        let code = |message: &Message| match &message.body {
            agent::Body::Tool { code, .. } => code.clone(),
            _ => None,
        };
        results.filter_map(code).any(|code| code == ToolCode::ToolCallLimit.as_str())
    }
}

fn understand(stored: &StoredMessage) -> Result<Message, Error> {
    match stored.role {
        Role::User => {
            let envelope = Envelope::parse(&stored.body)?;
            let context = MessageContext {
                extensions: envelope.extensions,
                metadata: envelope.metadata,
                reference_task_ids: envelope.reference_task_ids,
                accepted_output_modes: envelope.accepted_output_modes,
            };
            let message = Message::user(stored.id, render::content(&stored.parts, context));
            Ok(message.with_client_id(stored.client_message_id.clone()))
        }
        Role::Assistant | Role::Tool => Message::from_json(&stored.body)
            .map_err(|source| Error::corrupt("messages", "body", source)),
    }
}
