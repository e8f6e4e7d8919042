use proptest::prelude::*;

use super::*;
use crate::conversation::Block;
use crate::tools::ReadPath;

fn request(offset: i64, limit: i64) -> ReadFile {
    ReadFile { path: ReadPath::parse("a").unwrap(), offset, limit }
}

/// Reads as a sandbox does.
fn page(file: &str, request: &ReadFile) -> Page {
    if request.take() == 0 {
        return Page::NotRequested;
    }
    if file.trim().is_empty() {
        return Page::Empty;
    }
    let lines: Vec<_> = file.lines().collect();
    let total = lines.len() as u64;
    if request.skip() >= total {
        return Page::Beyond { total_lines: total };
    }
    let end = (request.skip() + request.take()).min(total);
    let range = usize::try_from(request.skip()).unwrap()..usize::try_from(end).unwrap();
    Page::Lines {
        content: lines[range].join("\n"),
        first_line: request.skip() + 1,
        total_lines: Some(total),
        more: end < total,
        cut: false,
    }
}

fn read(file: &str, offset: i64, limit: i64) -> ToolResult {
    let request = request(offset, limit);
    render(&request, &page(file, &request))
}

fn text(result: &ToolResult) -> &str {
    let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
    text
}

fn file(lines: usize) -> String {
    let lines: Vec<_> = (1..=lines).map(|n| format!("line {n}")).collect();
    lines.join("\n") + "\n"
}

#[test]
fn t07_a_long_file_is_read_page_by_page() {
    let first = read(&file(250), 0, 100);
    let shown = text(&first);
    assert!(shown.starts_with("  1  line 1\n  2  line 2\n"), "{shown}");
    assert!(shown.contains("\n100  line 100\n\n"));
    assert!(shown.ends_with("[Lines 1 to 100 of 250; 150 more. Go on with offset=100.]"));
    let last = read(&file(250), 200, 100);
    assert!(text(&last).starts_with("201  line 201\n"));
    assert!(text(&last).ends_with("250  line 250"), "no notice at the end");
}

#[test]
fn t08_a_very_long_line_is_wrapped_and_counts_once() {
    let line = format!("{}\nnext", "é".repeat(12_000));
    let result = read(&line, 0, 1);
    let rows: Vec<_> = text(&result).lines().collect();
    assert_eq!(rows[0], format!("  1  {}", "é".repeat(5000)));
    assert_eq!(rows[1], format!("1.1  {}", "é".repeat(5000)));
    assert_eq!(rows[2], format!("1.2  {}", "é".repeat(2000)));
    assert_eq!(rows.last(), Some(&"[Lines 1 to 1 of 2; 1 more. Go on with offset=1.]"));
}

#[test]
fn t09_a_page_that_is_too_long_is_cut_at_a_whole_line() {
    let file = vec!["x".repeat(2000); 100].join("\n");
    let result = read(&file, 0, 100);
    let shown = text(&result);
    assert!(shown.chars().count() < RESULT_CHARS);
    let last = shown.lines().filter(|line| line.ends_with('x')).count();
    assert!(last >= 35, "the room is used: {last}");
    assert!(shown.ends_with(&format!(
        "[Lines 1 to {last} of 100; {} more. Go on with offset={last}.]",
        100 - last
    )));
    assert!(shown.contains("[Cut because the result would be too long.]"));
}

#[test]
fn t10_nothing_asked_for_and_nothing_there_are_told_apart() {
    let unread = read("x", 0, 0);
    let empty = read(" \n", 0, 100);
    assert!(unread.is_ok() && empty.is_ok());
    assert!(text(&unread).contains("not inspected"));
    assert!(text(&empty).contains("is empty"));
    let negative = read("x", 0, -1);
    assert_eq!(text(&negative), text(&unread));
}

#[test]
fn t11_an_offset_outside_the_file_is_said() {
    let clamped = read(&file(2), -5, 100);
    assert!(text(&clamped).starts_with("1  line 1\n2  line 2"));
    assert!(text(&clamped).ends_with("[The offset was below zero; read from line 1.]"));
    let beyond = read(&file(2), 2, 100);
    assert_eq!(beyond.code, Some(ToolCode::OffsetOutOfRange));
    assert!(text(&beyond).contains("2 lines"));
}

#[test]
fn one_line_that_alone_is_too_long_is_cut_and_offers_no_way_on() {
    let result = read(&format!("{}\nnext", "x".repeat(100_000)), 0, 2);
    let shown = text(&result);
    assert!(shown.chars().count() < RESULT_CHARS);
    assert!(shown.contains("too long to be shown") && !shown.contains("offset="));
}

#[test]
fn a_line_that_the_sandbox_cut_is_said_to_be_cut() {
    let page = Page::Lines {
        content: "xx".into(),
        first_line: 3,
        total_lines: None,
        more: true,
        cut: true,
    };
    let result = render(&request(2, 1), &page);
    assert!(text(&result).starts_with("3  xx\n\n[Line 3 is too long"), "{result:?}");
    assert!(!text(&result).contains("offset="));
}

#[test]
fn a_file_of_unknown_length_shows_only_the_way_on() {
    let page = Page::Lines {
        content: "a".into(),
        first_line: 7,
        total_lines: None,
        more: true,
        cut: false,
    };
    let result = render(&request(6, 1), &page);
    assert_eq!(text(&result), "7  a\n\n[Lines 7 to 7; more follow. Go on with offset=7.]");
}

#[test]
fn blank_lines_in_the_middle_of_a_file_are_lines() {
    let result = read("a\n\n\nb\n", 1, 2);
    assert_eq!(text(&result), "2  \n3  \n\n[Lines 2 to 3 of 4; 1 more. Go on with offset=3.]");
}

proptest! {
    /// Follows the offsets through a file and finds every line, in order, once.
    #[test]
    fn following_the_offsets_shows_every_line(
        lengths in proptest::collection::vec(0usize..30_000, 1..30),
        limit in 1i64..12,
    ) {
        let lines: Vec<_> = lengths.iter().map(|n| format!("y{}", "x".repeat(*n))).collect();
        let file = lines.join("\n");
        let (mut offset, mut seen) = (0, 0);
        loop {
            let result = read(&file, offset, limit);
            let shown = text(&result);
            prop_assert!(shown.chars().count() < RESULT_CHARS);
            seen += shown.lines().filter(|line| line.contains("  y")).count();
            let Some((_, next)) = shown.rsplit_once("offset=") else { break };
            offset = next.trim_end_matches(".]").parse().unwrap();
            prop_assert_eq!(usize::try_from(offset).unwrap(), seen);
        }
        prop_assert_eq!(seen, lines.len());
    }
}
