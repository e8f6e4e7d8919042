//! The messages of one queue, and what may become of each.
//!
//! ```text
//! delayed ──time──▶ visible ──receive──▶ hidden ──done──▶ gone
//!                      ▲                   │
//!                      └──failed or time───┘   the receive after the last permitted one: dead
//! ```

use domain::Timestamp;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::Settings;

/// A message that waits or is worked on.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: Uuid,
    pub(super) body: String,
    pub(super) sent_at: Timestamp,
    pub(super) first_received_at: Option<Timestamp>,
    /// How often it was received; also names the receipt, so that an old one is recognised.
    pub(super) receives: u32,
    visible_at: Instant,
}

impl Message {
    /// What this receive is known by.
    pub(super) fn receipt(&self) -> Receipt {
        Receipt { id: self.id, receives: self.receives }
    }
}

/// One receive of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Receipt {
    pub(super) id: Uuid,
    pub(super) receives: u32,
}

/// A message that was received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub message_id: String,
    pub body: String,
    pub receives: u32,
}

/// How many messages a queue holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// May be received now.
    pub visible: usize,
    /// Not yet: new and delayed.
    pub delayed: usize,
    /// Received and hidden: worked on, or waiting to come again.
    pub hidden: usize,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// In the order in which they were sent.
    messages: Vec<Message>,
    pub(super) dead: Vec<DeadLetter>,
}

/// What a consumer finds.
#[derive(Debug)]
pub(super) enum Received {
    Messages(Vec<Message>),
    /// Nothing now; something at this time, if nothing else happens.
    Nothing {
        next: Option<Instant>,
    },
}

impl State {
    pub(super) fn add(&mut self, id: Uuid, body: String, sent_at: Timestamp, visible_at: Instant) {
        let message =
            Message { id, body, sent_at, first_received_at: None, receives: 0, visible_at };
        self.messages.push(message);
    }

    /// Takes the messages that have waited longest, and hides them. Those that have had all their
    /// receives die.
    pub(super) fn receive(
        &mut self,
        settings: Settings,
        wall: Timestamp,
        now: Instant,
    ) -> Received {
        let worn = |message: &mut Message| {
            message.visible_at <= now && message.receives >= settings.max_receives
        };
        self.dead.extend(self.messages.extract_if(.., worn).map(|message| DeadLetter {
            message_id: message.id.to_string(),
            body: message.body,
            receives: message.receives,
        }));
        let mut ready: Vec<&mut Message> =
            self.messages.iter_mut().filter(|message| message.visible_at <= now).collect();
        if ready.is_empty() {
            let next = self.messages.iter().map(|message| message.visible_at).min();
            return Received::Nothing { next };
        }
        ready.sort_by_key(|message| message.visible_at);
        let taken = ready.into_iter().take(settings.batch).map(|message| {
            message.receives += 1;
            message.visible_at = now + settings.visibility;
            message.first_received_at.get_or_insert(wall);
            message.clone()
        });
        Received::Messages(taken.collect())
    }

    /// Removes the message, unless it was received again since: then it is another one's.
    pub(super) fn done(&mut self, receipt: Receipt) {
        self.messages.retain(|message| message.receipt() != receipt);
    }

    /// Lets the message come again after `delay`, unless it was received again since.
    pub(super) fn failed(&mut self, receipt: Receipt, now: Instant, delay: Duration) {
        for message in &mut self.messages {
            if message.receipt() == receipt {
                message.visible_at = now + delay;
            }
        }
    }

    pub(super) fn depth(&self, now: Instant) -> Depth {
        let mut depth = Depth::default();
        for message in &self.messages {
            if message.visible_at <= now {
                depth.visible += 1;
            } else if message.receives == 0 {
                depth.delayed += 1;
            } else {
                depth.hidden += 1;
            }
        }
        depth
    }
}
