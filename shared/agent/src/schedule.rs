//! Which calls of one answer may run at the same time (agent-loop.md §16).
//!
//! **The outcome is as if the calls had run one after the other in the model's order.** Calls that
//! touch the same path, one of them changing it, keep their order; a folder counts as all that lies
//! in it, and a command as all of the workspace, since nobody knows what it touches. All others run
//! together, up to a limit. So of a file and a script that reads it, written in one answer, the
//! file comes first.

use crate::tools::{ToolRequest, WorkspacePath};

/// How many calls of one answer run at the same time.
pub const MAX_PARALLEL: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// Not begun.
    Waiting,
    /// Begun, and without a result yet.
    Running,
    /// Has its result.
    Done,
}

/// The positions of the calls that may begin now. `calls` are all calls of one answer in its order,
/// those that cannot run counted as done.
pub fn startable(calls: &[(&ToolRequest, CallState)], max_parallel: usize) -> Vec<usize> {
    let running = calls.iter().filter(|(_, state)| *state == CallState::Running).count();
    let mut room = max_parallel.max(1).saturating_sub(running);
    let mut starting = Vec::new();
    for (position, (request, state)) in calls.iter().enumerate() {
        if room == 0 {
            break;
        }
        let before = calls.iter().take(position);
        let after = calls.iter().skip(position + 1);
        let held = before
            .clone()
            .any(|(other, s)| *s != CallState::Done && conflict(other, request))
            || after.clone().any(|(other, s)| *s == CallState::Running && conflict(other, request));
        if *state == CallState::Waiting && !held {
            starting.push(position);
            room -= 1;
        }
    }
    starting
}

/// What a call touches.
enum Touches<'a> {
    Nothing,
    Reads(&'a WorkspacePath),
    Writes(&'a WorkspacePath),
    /// A command: any path, in any way.
    All,
}

fn touches(request: &ToolRequest) -> Touches<'_> {
    if let ToolRequest::Execute(_) = request {
        return Touches::All;
    }
    let writes = request.writes_path().map(Touches::Writes);
    writes.or_else(|| request.reads_path().map(Touches::Reads)).unwrap_or(Touches::Nothing)
}

fn conflict(one: &ToolRequest, other: &ToolRequest) -> bool {
    match (touches(one), touches(other)) {
        (Touches::Nothing, _) | (_, Touches::Nothing) | (Touches::Reads(_), Touches::Reads(_)) => {
            false
        }
        (Touches::All, _) | (_, Touches::All) => true,
        (Touches::Writes(a), Touches::Writes(b) | Touches::Reads(b))
        | (Touches::Reads(a), Touches::Writes(b)) => a.overlaps(b),
    }
}

#[cfg(test)]
mod tests;
