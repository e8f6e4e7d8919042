//! The contract across the sandbox's wall: what is said to the server inside it, and how.
//!
//! **Nothing here reads a clock, a file or the environment; only [`client`] does I/O.** The wire
//! form, with examples, is in this crate's README.

pub mod bootstrap;
#[cfg(feature = "client")]
pub mod client;
pub mod compat;
pub mod error;
pub mod exec;
pub mod files;
pub mod glob;
pub mod headers;
pub mod health;
pub mod lease;
pub mod limits;
pub mod path;
pub mod search;
pub mod secret;

pub use error::{ErrorBody, ErrorCode};
pub use path::RelativePath;
pub use secret::{Secret, runtime_token};
