//! Model providers behind one trait (agent-loop.md §25).
//!
//! **One call is one attempt**: no provider retries in secret, falls back to another, or keeps
//! anything between calls that its answer depends on. Dropping the stream cancels the call.
//!
//! Here live the two providers that need no network: [`demo`] and [`scripted`].

mod assembler;
pub mod demo;
mod error;
mod event;

mod paced;
mod providers;
mod recorder;
pub mod scripted;

pub use agent::retry::ErrorClass;
pub use assembler::{Assembler, collect};
pub use demo::DemoModel;
pub use error::ModelError;
pub use event::ModelEvent;
pub use providers::{ModelProfile, ModelProvider, ModelStream, Providers, UnknownProvider};
pub use recorder::Recorder;
pub use scripted::ScriptedModel;

use std::time::Duration;

use agent::{Message, ToolSpec};
use domain::RunId;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The provider's own name for the model; for `scripted` the scenario's name.
    pub model: String,
    /// The system prompt, in pieces.
    pub system: Vec<String>,
    /// As [`agent::history::for_model`] arranges them.
    pub messages: Vec<Message>,
    /// In the order in which the model is told of them.
    pub tools: Vec<ToolSpec>,
}

/// The circumstances of a call, which are no part of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallContext {
    /// Goes into provider logs; says nothing of the scope.
    pub run: RunId,
    pub step: u32,
    /// From 1; a repetition of the same step counts on.
    pub attempt: u32,
    /// How long the whole call may take. The caller enforces it; a provider may pass it on.
    pub timeout: Duration,
}
