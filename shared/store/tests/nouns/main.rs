//! Every statement of the nouns, on PostgreSQL and on SQLite.

mod admission;
mod common;
mod events;
mod loop_log;
mod outbox;
mod publications;
mod runs;
mod sweeps;
mod tasks;
