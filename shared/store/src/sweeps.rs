//! What nobody is at, in any scope: found, and taken further row by row.
//!
//! **What a search finds is a hint; each row is looked at again under its own lock, in a transaction
//! of its own, and passed over when somebody else holds it.** So everything here may be repeated, and
//! done by two sweepers at the same moment.

mod publications;
mod retention;
mod runs;
mod webhooks;

pub use publications::{Waiting, ask_again, waiting};
pub use retention::{forget_dead_letters, forget_webhooks};
pub use runs::{Crash, RunRef, after_crash, crashed, due, overdue, remind, time_out};
pub use webhooks::{SilentWebhook, remind_webhook, silent_webhooks};
