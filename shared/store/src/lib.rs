//! All SQL: one set of statements for PostgreSQL and SQLite, in modules by noun.
//!
//! **A change is guarded in its own `where` clause and the row count is checked; nothing is read
//! first and written later on what was read, unless a lock spans both.** Rows are locked in one
//! order everywhere: runs, publications, tasks, sandbox leases, sandbox instances, sessions,
//! webhooks.
//!
//! A message that a transaction sends is a row of the outbox. [`outbox::Outgoing`] values come back
//! from every function that makes one, so that the caller can send them after the commit; what it
//! does not send, the sweeper does. Those that tell webhooks of an event come about wherever one is
//! appended, and wait in [`Pool::take_hints`].

pub mod admission;
pub mod calls;
pub mod conversation;
pub mod driver;
mod error;
pub mod events;
pub mod lease;
pub mod migrations;
pub mod outbox;
#[cfg(test)]
mod plans;
pub mod publications;
pub mod runs;
pub mod sandboxes;
pub mod steps;
pub mod sweeps;
pub mod tasks;
pub mod timings;
pub mod webhooks;

pub use driver::{Pool, Row, Tx, Value};
pub use error::Error;
pub use lease::Lease;
pub use outbox::Outgoing;
