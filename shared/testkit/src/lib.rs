//! What tests of several crates share: both databases, a clock that the test sets, and futures that
//! are killed at a chosen await. Only ever a dev-dependency.

#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a helper of tests fails the test by a panic"
)]

pub mod clock;
pub mod databases;
pub mod futures;
pub mod objects;
pub mod postgres;
pub mod queues;
pub mod sandboxd;
pub mod seaweed;

pub use clock::TestClock;
pub use databases::{Database, on_both, on_both_databases};
pub use futures::{eventually, killed_after};
pub use objects::{FailingObjects, MemoryObjects};
pub use queues::MemoryQueues;
pub use sandboxd::{program, sandboxd};
pub use seaweed::Seaweed;
