//! Sweeps on both engines. Rows are aged, nobody sleeps.

mod failures;
mod outbox;
mod publications;
mod retention;
mod runs;
mod sandboxes;
mod twins;
mod world;
