//! Finding lines that hold a text, literally.

use std::fs::File;
use std::io::Read as _;
use std::time::Instant;

use sandbox_protocol::glob::Pattern;
use sandbox_protocol::limits::{MAX_MATCHED_LINE, MAX_SEARCHED_FILE};
use sandbox_protocol::path::RelativePath;
use sandbox_protocol::search::{GrepMatch, GrepReply};

use super::Workspace;
use super::page::{SNIFF, is_text};
use super::walk::{Go, Walk};
use crate::refusal::Refusal;
use crate::text::text;

/// What is looked for, and how much of it is wanted.
#[derive(Debug)]
pub(crate) struct Grep {
    pub(crate) pattern: String,
    pub(crate) files: Option<Pattern>,
    pub(crate) max: usize,
}

enum Searched {
    Done,
    Unreadable,
    Enough,
}

impl Workspace {
    pub(crate) fn grep(
        &self,
        start: &RelativePath,
        grep: &Grep,
        until: Instant,
    ) -> Result<GrepReply, Refusal> {
        let mut matches = Vec::new();
        if self.is_file(start)? {
            let (file, _) = self.open_file(start)?;
            let searched = grep.search(file, start, &mut matches);
            let truncated = matches!(searched, Searched::Enough);
            let skipped = u64::from(matches!(searched, Searched::Unreadable));
            return Ok(GrepReply { matches, truncated, skipped });
        }
        let mut walk = Walk::new(self, until);
        walk.below(start, &mut |found, walk| {
            let wanted = grep.files.as_ref().is_none_or(|files| files.matches(found.below));
            if !wanted || !found.is_file() {
                return Go::On;
            }
            let Ok(file) = found.open() else {
                walk.skipped += 1;
                return Go::On;
            };
            match grep.search(file, found.path, &mut matches) {
                Searched::Done => Go::On,
                Searched::Unreadable => {
                    walk.skipped += 1;
                    Go::On
                }
                Searched::Enough => {
                    walk.truncated = true;
                    Go::Enough
                }
            }
        })?;
        matches.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Ok(GrepReply { matches, truncated: walk.truncated, skipped: walk.skipped })
    }
}

impl Grep {
    /// Looks through one file. `Enough`: one more line matches than is wanted.
    fn search(&self, file: File, path: &RelativePath, matches: &mut Vec<GrepMatch>) -> Searched {
        let mut bytes = Vec::new();
        match file.take(MAX_SEARCHED_FILE + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 <= MAX_SEARCHED_FILE => {}
            _ => return Searched::Unreadable,
        }
        if !is_text(bytes.get(..SNIFF).unwrap_or(&bytes)) {
            return Searched::Done;
        }
        let content = String::from_utf8_lossy(&bytes);
        if !content.contains(&self.pattern) {
            return Searched::Done;
        }
        for (number, line) in lines(&content) {
            if !line.contains(&self.pattern) {
                continue;
            }
            if matches.len() == self.max {
                return Searched::Enough;
            }
            let cut = line.char_indices().nth(MAX_MATCHED_LINE).map_or(line.len(), |(at, _)| at);
            let text = text(line.get(..cut).unwrap_or_default().as_bytes());
            matches.push(GrepMatch { path: path.as_str().to_owned(), line: number, text });
        }
        Searched::Done
    }
}

/// Numbered lines; they end with LF, CRLF or CR, as they do when a page is read.
fn lines(content: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut rest = Some(content);
    let lines = std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\n', '\r']) else {
            rest = None;
            return Some(text);
        };
        let (line, after) = text.split_at_checked(end)?;
        rest = after.strip_prefix("\r\n").or_else(|| after.get(1..));
        Some(line)
    });
    (1..).zip(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_as_they_are_when_a_page_is_read() {
        let found: Vec<_> = lines("a\r\nb\rc\n\nd").collect();
        assert_eq!(found, [(1, "a"), (2, "b"), (3, "c"), (4, ""), (5, "d")]);
    }
}
