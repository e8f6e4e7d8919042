//! What a run may still use (agent-loop.md §19, §3.1 A).
//!
//! **Checked before a step begins, never in its middle.** Whether the deadline has passed is for
//! the database's clock to say; here it is a fact.

use domain::FailureCode;
use domain::agent_definition::RunLimits;
use domain::limits::{MAX_OUTPUT_ARTIFACTS, MAX_OUTPUT_BYTES};

use crate::tools::{ToolCode, ToolResult};

/// What the run has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub steps: u32,
    pub model_calls: u32,
    pub tool_calls: u32,
}

/// What has happened to the run from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outside {
    pub canceled: bool,
    pub past_deadline: bool,
}

/// Why no further step may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    Canceled,
    Failed(FailureCode),
}

/// Whether the model may be called.
pub fn before_model(limits: &RunLimits, spent: Spent, outside: Outside) -> Result<(), Halt> {
    before_step(limits, spent, outside)?;
    if spent.model_calls >= limits.max_model_calls {
        return Err(Halt::Failed(FailureCode::ModelCallLimit));
    }
    Ok(())
}

/// Whether a step of `calls` tool calls may begin. If they are too many, none of them runs: each is
/// answered with [`over_limit`], and the run ends.
pub fn before_tools(
    limits: &RunLimits,
    spent: Spent,
    outside: Outside,
    calls: u32,
) -> Result<(), Halt> {
    before_step(limits, spent, outside)?;
    if spent.tool_calls.saturating_add(calls) > limits.max_tool_calls {
        return Err(Halt::Failed(FailureCode::ToolCallLimit));
    }
    Ok(())
}

fn before_step(limits: &RunLimits, spent: Spent, outside: Outside) -> Result<(), Halt> {
    if outside.canceled {
        return Err(Halt::Canceled);
    }
    if outside.past_deadline {
        return Err(Halt::Failed(FailureCode::ExecutionTimeout));
    }
    if spent.steps >= limits.max_steps {
        return Err(Halt::Failed(FailureCode::StepLimit));
    }
    Ok(())
}

/// The result of a call that the run may not make any more.
pub fn over_limit() -> ToolResult {
    ToolResult::error(
        ToolCode::ToolCallLimit,
        "The run has made as many tool calls as it may. Nothing ran.",
    )
}

/// Whether a run that has put out `bytes` and `artifacts` may put out what these count.
pub fn output(bytes: u64, artifacts: u32) -> Result<(), FailureCode> {
    if bytes > MAX_OUTPUT_BYTES {
        return Err(FailureCode::OutputBytesExceeded);
    }
    if artifacts > MAX_OUTPUT_ARTIFACTS {
        return Err(FailureCode::OutputArtifactsExceeded);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RunLimits =
        RunLimits { max_steps: 5, max_model_calls: 3, max_tool_calls: 4, timeout_seconds: 60 };

    fn spent(steps: u32, model_calls: u32, tool_calls: u32) -> Spent {
        Spent { steps, model_calls, tool_calls }
    }

    #[test]
    fn each_limit_allows_its_number_and_no_more() {
        let inside = Outside::default();
        let model = |spent| before_model(&LIMITS, spent, inside);
        assert_eq!(model(spent(4, 2, 4)), Ok(()));
        assert_eq!(model(spent(5, 2, 0)), Err(Halt::Failed(FailureCode::StepLimit)));
        assert_eq!(model(spent(4, 3, 0)), Err(Halt::Failed(FailureCode::ModelCallLimit)));
        let tools = |spent, calls| before_tools(&LIMITS, spent, inside, calls);
        assert_eq!(tools(spent(4, 3, 3), 1), Ok(()));
        assert_eq!(tools(spent(4, 3, 3), 2), Err(Halt::Failed(FailureCode::ToolCallLimit)));
        assert_eq!(tools(spent(5, 0, 0), 1), Err(Halt::Failed(FailureCode::StepLimit)));
        let overflow = tools(spent(0, 0, 1), u32::MAX);
        assert_eq!(overflow, Err(Halt::Failed(FailureCode::ToolCallLimit)));
    }

    #[test]
    fn a_cancellation_comes_before_the_deadline_and_both_before_the_limits() {
        let all = spent(99, 99, 99);
        let outside = |canceled, past_deadline| Outside { canceled, past_deadline };
        let model = |outside| before_model(&LIMITS, all, outside).unwrap_err();
        assert_eq!(model(outside(true, true)), Halt::Canceled);
        assert_eq!(model(outside(false, true)), Halt::Failed(FailureCode::ExecutionTimeout));
        assert_eq!(before_tools(&LIMITS, all, outside(true, false), 1), Err(Halt::Canceled));
    }

    #[test]
    fn output_is_limited_inclusively() {
        assert_eq!(output(MAX_OUTPUT_BYTES, MAX_OUTPUT_ARTIFACTS), Ok(()));
        assert_eq!(output(MAX_OUTPUT_BYTES + 1, 0), Err(FailureCode::OutputBytesExceeded));
        let artifacts = output(0, MAX_OUTPUT_ARTIFACTS + 1);
        assert_eq!(artifacts, Err(FailureCode::OutputArtifactsExceeded));
    }
}
