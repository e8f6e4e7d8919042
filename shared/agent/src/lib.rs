//! The loop's decisions: what the model is shown, what its answer means, what comes next.
//!
//! **No I/O, no clock, no randomness, no async.** Everything here is a function of values that the
//! caller has read, so that a worker that takes a run over decides exactly as the one that died.

pub mod coalesce;
pub mod conversation;
pub mod dangling;
pub mod guards;
pub mod history;
pub mod ids;
pub mod render;
pub mod retry;
pub mod route;
pub mod schedule;
pub mod speech;
pub mod tools;
pub mod turn;
pub mod usage;

pub use conversation::{
    Block, Body, InvalidToolCall, Media, MediaKind, Message, Meta, Role, Source, ToolArtifact,
    ToolCall, ToolStatus,
};
pub use speech::LastWord;
pub use tools::{ToolCode, ToolError, ToolRequest, ToolResult, ToolSpec};
pub use turn::{AssistantTurn, CallArgs, StopReason, TurnCall};
pub use usage::Usage;
