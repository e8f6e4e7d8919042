//! Killed anywhere: whatever dies, and whenever, there is one task, one outcome, each publication once,
//! and nothing is left hanging (issue "from message to deliverable", 3).
//!
//! Here are connections that break around each commit, and whole processes that are killed. Handlers
//! that die at each of their awaits are in the tests of each function.

mod commits;
mod processes;
