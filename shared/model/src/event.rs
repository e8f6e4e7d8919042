use agent::{StopReason, Usage};

/// One piece of a model's answer, in the order in which it was said.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    Start {
        /// The provider's own name for the call.
        request: Option<String>,
    },
    TextDelta {
        /// The content block that the piece belongs to.
        index: u32,
        text: String,
    },
    ToolCallStart {
        index: u32,
        id: Option<String>,
        name: String,
    },
    /// A piece of the arguments' JSON text.
    ToolArgsDelta {
        index: u32,
        fragment: String,
    },
    BlockStop {
        index: u32,
    },
    /// What was used so far: the last one counts.
    Usage(Usage),
    /// The answer is complete. An answer without it was cut off.
    Stop(StopReason),
}
