//! `cog-sandboxd`: the server inside the sandbox. It runs the commands and touches the files that
//! the agent asks for, next to code that nobody trusts.
//!
//! **Nothing changes without the bearer, the current generation and a live lease; no change goes
//! through a symbolic link; and no command outlives the server.**
//!
//! Two ports: *control*, for those who hold the bearer, and *hooks*, for the machine's host. The
//! wire contract is in `shared/sandbox-protocol`. The process model and the settings are in this
//! crate's README.

pub mod clock;
pub mod config;
pub mod server;
pub mod supervisor;

mod admission;
mod execs;
mod fence;
mod hooks;
mod identity;
mod log;
mod process;
mod refusal;
mod routes;
mod sandbox;
mod text;
mod tree;
mod workers;
mod workspace;
