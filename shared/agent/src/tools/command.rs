//! The text of an `execute` result (agent-loop.md §4.8).
//!
//! **A command that ran is a success, whatever its exit code**: the model must react to it.

use std::fmt::Write as _;

use crate::conversation::ToolArtifact;

use super::{RESULT_CHARS, ToolResult};

/// The exit code of a command that was stopped at its time limit.
pub const TIMED_OUT: i32 = 124;

/// Lines and bytes of each end of an output that is too long to be shown.
const PREVIEW_LINES: usize = 5;
const PREVIEW_BYTES: usize = 2000;

/// A command that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Both streams, as they came.
    pub output: String,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    /// The sandbox dropped a part of the output.
    pub truncated: bool,
    /// How much the command wrote in all, where the sandbox counted.
    pub total_bytes: Option<u64>,
    /// Where the sandbox kept the whole output, if it did.
    pub saved_to: Option<String>,
}

/// Prints the output, then how the command ended, then what is missing.
pub fn render(command: &CommandOutput) -> ToolResult {
    let output = command.output.trim_end_matches('\n');
    let too_long = output.chars().count() > RESULT_CHARS;
    let mut text = if too_long { preview(output) } else { output.to_owned() };
    if !text.is_empty() {
        text.push('\n');
    }
    let code = command.exit_code.or(command.timed_out.then_some(TIMED_OUT));
    // Writing to a string cannot fail, here and below.
    let _ = match (code, command.timed_out) {
        (Some(code), true) => write!(text, "[exit code {code}: stopped at its time limit]"),
        (Some(0), false) => write!(text, "[exit code 0: succeeded]"),
        (Some(code), false) => write!(text, "[exit code {code}: failed]"),
        (None, _) => write!(text, "[ended without an exit code]"),
    };
    if too_long || command.truncated {
        text.push_str("\n[The output is not complete");
        if let Some(total) = command.total_bytes {
            let _ = write!(text, ": it had {total} bytes");
        }
        text.push('.');
        if let Some(path) = &command.saved_to {
            let _ = write!(text, " All that was kept of it is in {path}.");
        }
        text.push(']');
    }
    ToolResult::success(text).with(ToolArtifact::Command { exit_code: code })
}

/// The first and the last lines of a long output, each end bounded in bytes too.
pub fn preview(output: &str) -> String {
    let head: Vec<_> = output.lines().take(PREVIEW_LINES).collect();
    let mut tail: Vec<_> = output.lines().rev().take(PREVIEW_LINES).collect();
    tail.reverse();
    let (head, tail) = (head.join("\n"), tail.join("\n"));
    let head = head.get(..head.floor_char_boundary(PREVIEW_BYTES)).unwrap_or_default();
    let from = tail.ceil_char_boundary(tail.len().saturating_sub(PREVIEW_BYTES));
    let tail = tail.get(from..).unwrap_or_default();
    format!("{head}\n[…]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Block;

    fn check(command: &CommandOutput, expected: &str, exit_code: Option<i32>) {
        let result = render(command);
        let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        assert_eq!(text, expected);
        assert!(result.is_ok(), "a command that ran is a success");
        assert_eq!(result.artifact, Some(ToolArtifact::Command { exit_code }));
    }

    fn ended(output: &str, exit_code: i32) -> CommandOutput {
        CommandOutput {
            output: output.into(),
            exit_code: Some(exit_code),
            ..CommandOutput::default()
        }
    }

    #[test]
    fn t17_a_failed_command_is_a_result_that_shows_its_exit_code() {
        check(&ended("no\n", 3), "no\n[exit code 3: failed]", Some(3));
        check(&ended("yes\n", 0), "yes\n[exit code 0: succeeded]", Some(0));
        check(&ended("", 0), "[exit code 0: succeeded]", Some(0));
    }

    #[test]
    fn a_command_that_was_stopped_says_so_and_has_code_124() {
        let command = CommandOutput { timed_out: true, ..CommandOutput::default() };
        check(&command, "[exit code 124: stopped at its time limit]", Some(124));
        check(&CommandOutput::default(), "[ended without an exit code]", None);
    }

    #[test]
    fn t18_an_output_that_is_too_long_is_shown_by_its_ends() {
        let lines: Vec<_> = (1..=100_000).map(|n| format!("line {n}\n")).collect();
        let lines = lines.concat();
        let mut command = ended(&lines, 1);
        command.total_bytes = Some(lines.len() as u64);
        command.saved_to = Some("/workspace/x".into());
        let expected = "line 1\nline 2\nline 3\nline 4\nline 5\n[…]\nline 99996\nline 99997\n\
                        line 99998\nline 99999\nline 100000\n[exit code 1: failed]\n\
                        [The output is not complete: it had 1088895 bytes. All that was kept of it \
                        is in /workspace/x.]";
        check(&command, expected, Some(1));
    }

    #[test]
    fn a_long_line_is_cut_within_bytes_and_never_within_a_character() {
        let shown = preview(&"é".repeat(100_000));
        assert!(shown.len() <= 2 * PREVIEW_BYTES + 16);
        assert!(shown.starts_with('é') && shown.ends_with('é'));
    }
}
