//! Commands: a journal of who was started, and a task for each that runs.
//!
//! **An id starts at most one process, ever**: it stays in the journal when the command is over,
//! when its output was dropped for want of room, and when it was acknowledged.

mod capture;
mod journal;
mod plan;
mod run;
mod window;

pub(crate) use journal::{Journal, Limits, Record, Reserved, Stopping};
pub(crate) use plan::{Base, Plan};
pub(crate) use run::{Launch, start};
