//! A model that needs no key (decisions.md §7): it reads the numbers in a request and really
//! computes, writes and publishes a CSV and a report through the agent's tools.
//!
//! **It keeps nothing between calls.** What it does next follows from the conversation since the
//! client last spoke, so that any process takes a run over at any point. Nothing in it knows a
//! particular request: another list of numbers gives other files.
//!
//! What it needs of the sandbox: `sh`, a POSIX `awk` and, only where `write_file` fails, `cat`. Its
//! commands use paths relative to the workspace.

mod figures;
mod numbers;
mod plan;
mod report;
mod tokens;

use std::time::Duration;

use agent::StopReason;
use async_trait::async_trait;

use crate::paced::{Timed, paced, pieces};
use crate::{
    CallContext, ModelError, ModelEvent, ModelProfile, ModelProvider, ModelRequest, ModelStream,
};

/// Characters of one piece of text, and of one piece of arguments.
const TEXT_PIECE: usize = 12;
const ARGS_PIECE: usize = 256;

/// The demo model. Each of its calls takes as long as it is told to, as a real one would.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoModel {
    latency: Duration,
}

impl DemoModel {
    /// `latency` is the time of one whole call, over which its pieces are spread evenly. Zero answers
    /// at once.
    pub const fn new(latency: Duration) -> Self {
        Self { latency }
    }
}

#[async_trait]
impl ModelProvider for DemoModel {
    async fn stream(
        &self,
        request: ModelRequest,
        _context: CallContext,
    ) -> Result<ModelStream, ModelError> {
        let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
        let turn = plan::next(&request.messages, offered);
        let events = events(turn);
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX).max(1);
        let step = |n: u32| self.latency.saturating_mul(n) / count;
        let timed = (1..).zip(events).map(|(n, event)| -> Timed { (step(n), Ok(event)) });
        Ok(paced(timed.collect()))
    }

    fn profile(&self, _model: &str) -> ModelProfile {
        ModelProfile::default()
    }
}

/// It reports no usage, since it uses no tokens.
fn events(turn: plan::Turn) -> Vec<ModelEvent> {
    let mut events = vec![ModelEvent::Start { request: None }];
    let texts = pieces(&turn.text, TEXT_PIECE).into_iter();
    events.extend(texts.map(|text| ModelEvent::TextDelta { index: 0, text }));
    let stop = if turn.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    for (index, (name, args)) in (1..).zip(turn.calls) {
        events.push(ModelEvent::ToolCallStart { index, id: None, name: name.to_owned() });
        let fragments = pieces(&args.to_string(), ARGS_PIECE).into_iter();
        events.extend(fragments.map(|fragment| ModelEvent::ToolArgsDelta { index, fragment }));
        events.push(ModelEvent::BlockStop { index });
    }
    events.push(ModelEvent::Stop(stop));
    events
}

#[cfg(test)]
mod tests;
