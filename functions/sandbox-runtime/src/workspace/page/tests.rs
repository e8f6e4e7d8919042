use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn workspace(content: &[u8]) -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), content).unwrap();
    let workspace = Workspace::new(folder.path().to_owned());
    (folder, workspace)
}

fn read(content: &[u8], request: &ReadRequest) -> Result<ReadReply, Refusal> {
    let (_folder, workspace) = workspace(content);
    let path = RelativePath::parse("f").unwrap();
    workspace.read_page(&path, request, Instant::now() + Duration::from_mins(1))
}

fn page(content: &[u8], offset: u64, limit: u64) -> ReadReply {
    let request = ReadRequest { offset, limit: Some(limit), ..ReadRequest::default() };
    read(content, &request).unwrap()
}

#[test]
fn t07_pages_follow_each_other_and_say_how_much_there_is() {
    let content = (1..=250).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let first = page(content.as_bytes(), 0, 100);
    assert_eq!((first.start_line, first.end_line), (Some(1), Some(100)));
    assert_eq!((first.total_lines, first.next_offset), (Some(250), Some(100)));
    assert!(first.content.starts_with("line 1\n") && first.content.ends_with("\nline 100"));
    let last = page(content.as_bytes(), 200, 100);
    assert_eq!((last.start_line, last.end_line, last.next_offset), (Some(201), Some(250), None));
}

#[test]
fn t10_a_limit_of_zero_is_not_an_empty_file() {
    let unread = page(b"a\n", 0, 0);
    assert!(unread.no_lines_requested && unread.total_lines.is_none());
    let empty = page(b"", 0, 10);
    assert_eq!((empty.no_lines_requested, empty.total_lines), (false, Some(0)));
}

#[test]
fn t11_an_offset_beyond_the_end_comes_back_with_the_number_of_lines() {
    let beyond = page(b"a\nb\n", 7, 10);
    assert_eq!((beyond.start_line, beyond.total_lines), (None, Some(2)));
    let just = page(b"a\nb\n", 2, 10);
    assert_eq!((just.start_line, just.total_lines), (None, Some(2)));
}

#[test]
fn bytes_come_as_bytes_and_only_as_many_as_a_page_holds() {
    let all: Vec<u8> = (0..=255).collect();
    let reply = read(&all, &ReadRequest::default()).unwrap();
    assert_eq!(reply.encoding, Encoding::Base64);
    assert_eq!(STANDARD.decode(reply.content).unwrap(), all);
    let large = read(&vec![0; MAX_PAGE + 1], &ReadRequest::default());
    assert_eq!(large.unwrap_err().0, ErrorCode::TooLarge);
    let asked = read(b"text", &ReadRequest { binary: true, ..ReadRequest::default() }).unwrap();
    assert_eq!(asked.encoding, Encoding::Base64);
}

#[test]
fn a_character_on_the_edge_of_what_is_sniffed_does_not_make_a_text_binary() {
    let content = format!("{}é rest", "a".repeat(SNIFF - 1));
    assert_eq!(page(content.as_bytes(), 0, 1).encoding, Encoding::Utf8);
    assert!(!is_text(b"a\xc3"), "a file that ends so is no text");
}

#[test]
fn a_page_ends_before_a_line_that_does_not_fit() {
    let content = format!("{}\n{}\nend\n", "a".repeat(MAX_PAGE - 10), "b".repeat(20));
    let first = page(content.as_bytes(), 0, 10);
    assert_eq!((first.end_line, first.next_offset, first.total_lines), (Some(1), Some(1), Some(3)));
    let second = page(content.as_bytes(), 1, 10);
    assert_eq!((second.end_line, second.next_offset), (Some(3), None));
}

#[test]
fn a_line_longer_than_a_page_is_cut_and_passed() {
    let content = format!("{}\nnext\n", "é".repeat(MAX_PAGE));
    let first = page(content.as_bytes(), 0, 10);
    assert!(first.line_truncated && first.content.len() <= MAX_PAGE + 3);
    assert_eq!(first.next_offset, Some(1));
    assert_eq!(page(content.as_bytes(), 1, 10).content, "next");
}

#[test]
fn a_large_file_has_its_lines_counted_only_where_the_page_reaches_its_end() {
    let content = "x\n".repeat(600_000);
    assert_eq!(page(content.as_bytes(), 0, 10).total_lines, None);
    assert_eq!(page(content.as_bytes(), 599_999, 10).total_lines, Some(600_000));
}

proptest! {
    #[test]
    fn pages_hold_what_they_promise(text in "[aé\r\n]{0,30}", offset in 0_u64..8, limit in 1_u64..6) {
        let reply = page(text.as_bytes(), offset, limit);
        let equal = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines: Vec<&str> = equal.lines().collect();
        let total = lines.len() as u64;
        prop_assert_eq!(reply.total_lines, Some(total));
        let from = offset.min(total);
        let to = (offset + limit).min(total);
        let expected = lines[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()].join("\n");
        prop_assert_eq!(reply.content, expected);
        let range = (from < to).then_some((from + 1, to));
        prop_assert_eq!(reply.start_line.zip(reply.end_line), range);
        prop_assert_eq!(reply.next_offset, (from < to && to < total).then_some(to));
    }
}
