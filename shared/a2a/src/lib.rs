//! The A2A 1.0 protocol: its objects, its JSON, its operations, its two bindings, 0.3 in front of
//! them, and our domain seen through them.
//!
//! **The only crate that knows A2A; it does no I/O and knows no web framework.**
//!
//! - [`types`]: the protocol's objects, read tolerantly and written exactly (own ProtoJSON codec)
//! - [`operations`]: what a service can do, as one trait
//! - [`bindings`], [`sse`]: a request in, a response or a stream out, over plain `http` types
//! - [`error`]: the one error and its table
//! - [`card`], [`project`]: agents, tasks and events of the domain as clients see them
//! - [`inbound`]: what of a client's message is admitted, and as what it is stored

pub mod bindings;
pub mod card;
mod codec;
pub mod error;
pub mod inbound;
pub mod operations;
pub mod profile;
pub mod project;
pub mod sse;
pub mod types;

pub use bindings::{Body, extensions, serve};
pub use error::{A2aError, Cause};
pub use operations::{EventStream, Operations, StreamEvent};
pub use profile::Profile;
