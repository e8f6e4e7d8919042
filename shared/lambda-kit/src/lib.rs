//! The manners of a function on Lambda: messages one by one, settings, logs, the time that is left.
//!
//! **Knows nothing of this system's domain**, and links no runtime: the same code runs on Lambda, in
//! the local runner and in tests.
//!
//! - [`sqs::for_each`] handles the messages of one SQS event and says which have failed.
//! - [`mod@env`] reads settings, and names all that are wrong at once.
//! - [`logging`] starts the log; [`chain()`] prints an error with its causes.
//! - [`deadline::Budget`] is the time that an invocation has left.

mod chain;
pub mod deadline;
pub mod env;
pub mod logging;
pub mod sqs;

pub use chain::{Chain, chain};
