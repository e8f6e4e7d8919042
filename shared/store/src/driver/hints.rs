//! Messages of committed transactions that wait for somebody to send them.
//!
//! **Only what is committed gets here.** What is lost here is in the outbox, and the sweeper sends it.

use std::sync::{Mutex, PoisonError};

use crate::outbox::Outgoing;

/// More than this many wait only where nobody takes them; the rest is the sweeper's.
const MOST: usize = 1000;

/// The messages, in the order of their commits.
#[derive(Debug, Default)]
pub(super) struct Hints(Mutex<Vec<Outgoing>>);

impl Hints {
    pub(super) fn add(&self, committed: Vec<Outgoing>) {
        if committed.is_empty() {
            return;
        }
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST.saturating_sub(waiting.len());
        waiting.extend(committed.into_iter().take(room));
    }

    pub(super) fn take(&self) -> Vec<Outgoing> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
