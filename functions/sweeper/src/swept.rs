//! What a sweep did: counted, and logged in one line that metrics are made of.

use lambda_kit::chain;

/// One part of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Outbox,
    Crashes,
    Deadlines,
    WakeUps,
    Sandboxes,
    Publications,
    Webhooks,
    Retention,
}

impl Part {
    /// In the order in which they are done.
    pub const ALL: [Self; 8] = [
        Self::Outbox,
        Self::Crashes,
        Self::Deadlines,
        Self::WakeUps,
        Self::Sandboxes,
        Self::Publications,
        Self::Webhooks,
        Self::Retention,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Outbox => "outbox",
            Self::Crashes => "crashes",
            Self::Deadlines => "deadlines",
            Self::WakeUps => "wake-ups",
            Self::Sandboxes => "sandboxes",
            Self::Publications => "publications",
            Self::Webhooks => "webhooks",
            Self::Retention => "retention",
        }
    }
}

/// How many rows a sweep took further.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Messages that their senders had left.
    pub messages_sent: usize,
    /// Messages that still wait, because the queue did not take them.
    pub messages_unsent: usize,
    /// Runs that were taken from a dead worker and woken.
    pub runs_revived: usize,
    /// Runs that crashed too often.
    pub runs_poisoned: usize,
    pub runs_timed_out: usize,
    /// Runs that were due and had not come.
    pub runs_woken: usize,
    /// Sandboxes whose controller was asked to release them or to go on.
    pub sandboxes_asked: usize,
    pub publications_asked: usize,
    pub publications_failed: usize,
    /// Webhooks whose notifier was asked to go on.
    pub webhooks_asked: usize,
    /// Webhooks whose tasks ended long ago.
    pub webhooks_forgotten: usize,
    /// Updates that were given up long ago.
    pub dead_letters_forgotten: usize,
    /// Rows that could not be taken further this time.
    pub rows_failed: usize,
    /// Parts that did not get to their end.
    pub failed: Vec<Part>,
}

impl Swept {
    pub(crate) fn log(&self) {
        let Self {
            messages_sent,
            messages_unsent,
            runs_revived,
            runs_poisoned,
            runs_timed_out,
            runs_woken,
            sandboxes_asked,
            publications_asked,
            publications_failed,
            webhooks_asked,
            webhooks_forgotten,
            dead_letters_forgotten,
            rows_failed,
            failed,
        } = self;
        tracing::info!(
            messages_sent,
            messages_unsent,
            runs_revived,
            runs_poisoned,
            runs_timed_out,
            runs_woken,
            sandboxes_asked,
            publications_asked,
            publications_failed,
            webhooks_asked,
            webhooks_forgotten,
            dead_letters_forgotten,
            rows_failed,
            parts_failed = failed.len(),
            "swept"
        );
    }
}

/// Notes that a part did not get to its end.
pub(crate) fn failed(part: Part, error: &store::Error) {
    let name = part.as_str();
    if error.is_retryable() {
        tracing::warn!(part = name, "{name}: {}", chain(error));
    } else {
        tracing::error!(part = name, "{name}: {}", chain(error));
    }
}

pub(crate) fn names(parts: &[Part]) -> String {
    parts.iter().map(|part| part.as_str()).collect::<Vec<_>>().join(", ")
}
