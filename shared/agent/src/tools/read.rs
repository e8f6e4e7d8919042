//! The text of a `read_file` result (agent-loop.md §4.2).
//!
//! **The next offset that is shown never skips a line that was not shown.**

use super::{RESULT_CHARS, ReadFile, ToolCode, ToolResult};

/// A source line longer than this goes on in further rows, which count as the same line.
const ROW_CHARS: usize = 5000;
/// Room that is kept for the notes when a page is cut.
const NOTE_ROOM: usize = 400;

/// What the sandbox read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// Lines `first_line` (from 1) and following.
    Lines {
        /// Joined by LF, without the last one's ending: an empty text is one blank line.
        content: String,
        first_line: u64,
        /// Unknown for a file too large to count.
        total_lines: Option<u64>,
        /// Lines follow that were not read.
        more: bool,
        /// It is one line, longer than the sandbox reads, and cut.
        cut: bool,
    },
    /// The file holds nothing, or nothing but white space.
    Empty,
    /// No lines were asked for.
    NotRequested,
    /// The offset lies at the end of the file or beyond it.
    Beyond { total_lines: u64 },
}

/// Prints what was read, numbered, with what the model must know to go on.
pub fn render(request: &ReadFile, page: &Page) -> ToolResult {
    let (content, first_line, total_lines, more, cut) = match page {
        Page::Lines { content, first_line, total_lines, more, cut } => {
            (content.as_str(), *first_line, *total_lines, *more, *cut)
        }
        Page::Empty => return ToolResult::success("[The file exists and is empty.]"),
        Page::NotRequested => {
            return ToolResult::success(
                "[No lines were asked for. The file was not inspected; it may hold anything.]",
            );
        }
        Page::Beyond { total_lines } => {
            return ToolResult::error(
                ToolCode::OffsetOutOfRange,
                format!("Offset {} is beyond the file's {total_lines} lines.", request.offset),
            );
        }
    };
    if first_line <= 1 && !more && content.trim().is_empty() {
        return render(request, &Page::Empty);
    }
    let lines = numbered(content, first_line);
    let last = |shown: usize| first_line + (shown as u64).saturating_sub(1);
    let clamp = request.offset < 0;

    let whole = lines.join("\n") + &notes(first_line, last(lines.len()), total_lines, more, clamp);
    if whole.chars().count() < RESULT_CHARS && !cut {
        return ToolResult::success(whole);
    }
    let shown = if cut { 0 } else { fitting(&lines) };
    if shown == 0 {
        let room = RESULT_CHARS - NOTE_ROOM;
        let cut: String =
            lines.first().into_iter().flat_map(|line| line.chars()).take(room).collect();
        return ToolResult::success(format!(
            "{cut}\n\n[Line {first_line} is too long to be shown whole and was cut here.]"
        ));
    }
    let rest = notes(first_line, last(shown), total_lines, true, clamp);
    let kept = lines.get(..shown).unwrap_or_default().join("\n");
    ToolResult::success(format!("{kept}\n\n[Cut because the result would be too long.]{rest}"))
}

/// The source lines, each as its rows with their numbers.
fn numbered(content: &str, first_line: u64) -> Vec<String> {
    let lines: Vec<Vec<String>> = content.split('\n').map(rows).collect();
    let marker = |line: u64, row: usize| match row {
        0 => line.to_string(),
        row => format!("{line}.{row}"),
    };
    let markers = (first_line..)
        .zip(&lines)
        .flat_map(|(n, rows)| (0..rows.len()).map(move |row| marker(n, row).len()));
    let width = markers.max().unwrap_or(0);
    let print = |(n, rows): (u64, Vec<String>)| {
        let rows = rows.into_iter().enumerate();
        let rows: Vec<_> =
            rows.map(|(row, text)| format!("{:>width$}  {text}", marker(n, row))).collect();
        rows.join("\n")
    };
    (first_line..).zip(lines).map(print).collect()
}

fn rows(line: &str) -> Vec<String> {
    let mut rows = vec![String::new()];
    for (position, c) in line.chars().enumerate() {
        if position > 0 && position % ROW_CHARS == 0 {
            rows.push(String::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push(c);
        }
    }
    rows
}

/// How many whole lines fit beside the notes.
fn fitting(lines: &[String]) -> usize {
    let mut used = 0;
    let fits = |line: &&String| {
        used += line.chars().count() + 1;
        used <= RESULT_CHARS - NOTE_ROOM
    };
    lines.iter().take_while(fits).count()
}

fn notes(first: u64, last: u64, total: Option<u64>, more: bool, clamped: bool) -> String {
    let mut notes = String::new();
    if clamped {
        notes.push_str("\n\n[The offset was below zero; read from line 1.]");
    }
    if more {
        let note = match total {
            Some(total) => {
                let left = total.saturating_sub(last);
                format!(
                    "\n\n[Lines {first} to {last} of {total}; {left} more. Go on with offset={last}.]"
                )
            }
            None => {
                format!("\n\n[Lines {first} to {last}; more follow. Go on with offset={last}.]")
            }
        };
        notes.push_str(&note);
    }
    notes
}

#[cfg(test)]
mod tests;
