//! The text of a `grep` result (agent-loop.md §4.7).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Grep, GrepMode, RESULT_CHARS, ToolError, ToolResult};

/// One line that holds the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Absolute.
    pub path: String,
    /// From 1.
    pub line: u64,
    pub text: String,
}

/// What the search brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    pub hits: Vec<Hit>,
    /// The search stopped at its time or at its number of hits, and more may exist.
    pub truncated: bool,
    /// Hits were found and withheld: then "no hit" is no reason to doubt the pattern.
    pub withheld: bool,
}

/// Prints the hits as the request wants them.
pub fn render(request: &Grep, found: &Hits) -> ToolResult {
    if found.hits.is_empty() && !found.truncated {
        let mut text = String::from("[No line holds this text.]");
        if !found.withheld && looks_like_regex(&request.pattern) {
            text.push_str(" The pattern is taken literally, not as a regular expression.");
        }
        return ToolResult::success(text);
    }
    let mut text = body(request.mode, &found.hits);
    if found.truncated {
        text.push_str("\n\n[The search stopped early; there may be more. Be more specific.]");
    }
    ToolResult::success(text)
}

/// Prints a search that broke off: what went wrong, then what had been found until then.
pub fn broken(request: &Grep, error: ToolError, partial: &Hits) -> ToolResult {
    let mut text = error.text;
    if !partial.hits.is_empty() {
        text.push_str("\n\nFound before that:\n");
        text.push_str(&body(request.mode, &partial.hits));
    }
    ToolResult::error(error.code, text)
}

fn body(mode: GrepMode, hits: &[Hit]) -> String {
    let mut files: BTreeMap<&str, Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        files.entry(&hit.path).or_default().push(hit);
    }
    let mut text = String::new();
    for (path, mut hits) in files {
        // Writing to a string cannot fail.
        let _ = match mode {
            GrepMode::Files => writeln!(text, "{path}"),
            GrepMode::Counts => writeln!(text, "{path}: {}", hits.len()),
            GrepMode::Lines => writeln!(text, "{path}:"),
        };
        if mode == GrepMode::Lines {
            hits.sort_by_key(|hit| hit.line);
            for hit in hits {
                let _ = writeln!(text, "  {}: {}", hit.line, hit.text);
            }
        }
    }
    let text = text.trim_end_matches('\n');
    match text.char_indices().nth(RESULT_CHARS) {
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept}\n\n[Cut because the result would be too long.]")
        }
        None => text.to_owned(),
    }
}

fn looks_like_regex(pattern: &str) -> bool {
    let escaped = |c: char| r".*+?()[]{}|^$dswbDSWB".contains(c);
    let escape =
        |(at, _)| pattern.get(at + 1..).and_then(|rest| rest.chars().next()).is_some_and(escaped);
    pattern.contains('|')
        || pattern.contains(".*")
        || pattern.contains(".+")
        || pattern.match_indices('\\').any(escape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Block;
    use crate::tools::{ToolCode, WorkspacePath};

    fn request(pattern: &str, mode: GrepMode) -> Grep {
        let path = WorkspacePath::root();
        Grep { pattern: pattern.into(), path, glob: None, mode, max_count: 1000 }
    }

    fn hits(hits: &[(&str, u64, &str)]) -> Hits {
        let hit = |(path, line, text): &(&str, u64, &str)| Hit {
            path: (*path).into(),
            line: *line,
            text: (*text).into(),
        };
        Hits { hits: hits.iter().map(hit).collect(), ..Hits::default() }
    }

    fn text(result: &ToolResult) -> &str {
        let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        text
    }

    #[test]
    fn each_mode_prints_what_it_is_named_after() {
        let found = hits(&[("/b", 2, "x2"), ("/b", 1, "x1"), ("/a", 9, "x9")]);
        let shown = |mode| text(&render(&request("x", mode), &found)).to_owned();
        assert_eq!(shown(GrepMode::Files), "/a\n/b");
        assert_eq!(shown(GrepMode::Counts), "/a: 1\n/b: 2");
        assert_eq!(shown(GrepMode::Lines), "/a:\n  9: x9\n/b:\n  1: x1\n  2: x2");
    }

    #[test]
    fn t14_a_pattern_that_looks_regular_gets_a_hint_only_if_nothing_was_found() {
        let shown = |pattern, withheld| {
            let found = Hits { withheld, ..Hits::default() };
            text(&render(&request(pattern, GrepMode::Files), &found)).contains("literally")
        };
        for pattern in ["foo|bar", "a.*b", "a.+b", r"\d", r"a\.b"] {
            assert!(shown(pattern, false), "{pattern}");
            assert!(!shown(pattern, true), "{pattern}");
        }
        for pattern in ["foo", "a.b", r"C:\x", "\\"] {
            assert!(!shown(pattern, false), "{pattern}");
        }
    }

    #[test]
    fn t15_only_a_search_that_stopped_early_says_so() {
        let mut found = hits(&[("/a", 1, "x")]);
        assert_eq!(text(&render(&request("x", GrepMode::Files), &found)), "/a");
        found.truncated = true;
        let result = render(&request("x", GrepMode::Files), &found);
        assert!(text(&result).contains("stopped early"));
        found.hits.clear();
        let result = render(&request("x", GrepMode::Files), &found);
        assert!(text(&result).contains("stopped early"), "not a clean no");
    }

    #[test]
    fn a_search_that_broke_off_shows_the_error_first() {
        let error = ToolError::new(ToolCode::Timeout, "The search took too long.");
        let result = broken(&request("x", GrepMode::Files), error, &hits(&[("/a", 1, "x")]));
        assert_eq!(result.code, Some(ToolCode::Timeout));
        assert_eq!(text(&result), "The search took too long.\n\nFound before that:\n/a");
    }

    #[test]
    fn a_body_that_is_too_long_is_cut_before_the_notes() {
        let long = "é".repeat(RESULT_CHARS);
        let mut found = hits(&[("/a", 1, &long)]);
        found.truncated = true;
        let result = render(&request("é", GrepMode::Lines), &found);
        let shown = text(&result);
        assert!(shown.contains("[Cut because") && shown.ends_with("Be more specific.]"));
        assert!(shown.chars().count() < RESULT_CHARS + 200);
    }
}
