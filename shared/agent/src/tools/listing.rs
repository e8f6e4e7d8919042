//! The text of `ls` and `glob` results (agent-loop.md §4.1, §4.6).

use super::{RESULT_CHARS, ToolResult};

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Absolute.
    pub path: String,
    pub is_dir: bool,
}

/// Prints what is in a folder, sorted, folders with a `/` at their end.
pub fn folder(entries: &[Entry]) -> ToolResult {
    let print = |entry: &Entry| {
        let path = entry.path.trim_end_matches('/');
        if entry.is_dir { format!("{path}/") } else { path.to_owned() }
    };
    let paths = entries.iter().map(print).collect();
    ToolResult::success(list(paths, "[The folder is empty.]"))
}

/// Prints the files that a pattern found, sorted. `truncated`: the search stopped early.
pub fn matches(paths: Vec<String>, truncated: bool) -> ToolResult {
    let mut text = list(paths, "[No file matches.]");
    if truncated {
        text.push_str("\n\n[The search stopped early; there may be more. Be more specific.]");
    }
    ToolResult::success(text)
}

fn list(mut paths: Vec<String>, empty: &str) -> String {
    paths.sort();
    paths.dedup();
    let total: usize = paths.iter().map(|path| path.chars().count() + 1).sum();
    if paths.is_empty() {
        return empty.to_owned();
    }
    if total <= RESULT_CHARS {
        return paths.join("\n");
    }
    let (all, keep) = (paths.len(), paths.len() * RESULT_CHARS / total);
    paths.truncate(keep);
    let shown = paths.join("\n");
    // Long paths may gather at the front; the limit holds all the same.
    let shown: String = shown.chars().take(RESULT_CHARS).collect();
    format!("{shown}\n\n[Cut: {keep} of {all} are shown. Be more specific.]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Block;

    fn text(result: &ToolResult) -> &str {
        let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        text
    }

    #[test]
    fn a_folder_is_listed_in_order_with_its_folders_marked() {
        let entry = |path: &str, is_dir| Entry { path: path.into(), is_dir };
        let listed = folder(&[entry("/workspace/b", true), entry("/workspace/a", false)]);
        assert_eq!(text(&listed), "/workspace/a\n/workspace/b/");
        assert_eq!(text(&folder(&[])), "[The folder is empty.]");
    }

    #[test]
    fn a_search_says_that_it_found_nothing_or_stopped_early() {
        assert_eq!(text(&matches(vec![], false)), "[No file matches.]");
        let found = matches(vec!["/workspace/a".into()], true);
        assert!(text(&found).starts_with("/workspace/a\n\n[The search stopped early"));
    }

    #[test]
    fn a_list_that_is_too_long_is_cut_in_proportion() {
        let paths: Vec<_> = (0..10_000).map(|n| format!("/workspace/{n:020}")).collect();
        let result = matches(paths, false);
        let shown = text(&result);
        assert!(shown.chars().count() <= RESULT_CHARS + 100);
        assert!(shown.ends_with("[Cut: 2500 of 10000 are shown. Be more specific.]"), "{shown}");
    }
}
