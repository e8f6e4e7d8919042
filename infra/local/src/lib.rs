//! The local wiring: the handlers of all functions in one process, on in-process queues, a database
//! file, an S3 endpoint over a folder, and sandbox servers as child processes.
//!
//! `infra/aws` is the other wiring of the same handlers. This one is a library too, so that the
//! system tests use what a person runs.

pub mod bench;
pub mod cli;
pub mod client;
pub mod conformance;
pub mod demo;
pub mod environment;
pub mod front;
pub mod functions;
pub mod hint;
pub mod invoke;
pub mod options;
pub mod queues;
pub mod s3;
pub mod screen;
pub mod system;

pub use options::{Keys, Options};
pub use system::System;
