use proptest::prelude::*;

use super::*;

fn request(old: &str, new: &str) -> EditRequest {
    EditRequest { old: old.to_owned(), new: new.to_owned(), ..EditRequest::default() }
}

fn check(text: &str, old: &str, new: &str, expected: &Change) {
    assert_eq!(&change(text, &request(old, new)).unwrap(), expected, "{text:?} {old:?}");
}

fn to(content: &str, occurrences: u64) -> Change {
    Change::To { content: content.to_owned(), occurrences }
}

#[test]
fn t04_a_text_that_stands_there_more_than_once_is_not_guessed_at() {
    check("a a a", "a", "b", &Change::Ambiguous { count: 3 });
    let all = EditRequest { replace_all: true, ..request("a", "b") };
    assert_eq!(change("a a a", &all).unwrap(), to("b b b", 3));
}

#[test]
fn t05_a_missing_last_newline_is_hinted_at_and_never_passed_over() {
    check("a", "a\n", "b\n", &Change::None { without_newline: Some(1) });
    check("a a", "a\n", "b\n", &Change::None { without_newline: Some(2) });
    check("a\nb", "a\nb\n", "c", &Change::None { without_newline: Some(1) });
    check("a\r\nb", "a\nb\n", "c", &Change::None { without_newline: Some(1) });
    check("a", "\n", "b", &Change::None { without_newline: None });
    check("ab", "a\n", "b", &Change::None { without_newline: None });
    check("a", "b", "c", &Change::None { without_newline: None });
}

#[test]
fn t06_a_file_keeps_its_line_ends() {
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", &to("x\r\ny\r\nc\r\n", 1));
    check("a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", &to("x\ny\n", 1));
    check("a\r\nb\r\n", "a", "x\ny", &to("x\r\ny\r\nb\r\n", 1));
    check("a\nb\r\n", "a", "x\ny", &to("x\ny\nb\r\n", 1));
    check("a\nb\n", "a\nb", "x", &to("x\n", 1));
}

#[test]
fn what_grows_beyond_the_limit_is_refused_before_it_is_made() {
    let all = EditRequest { replace_all: true, ..request("a", &"b".repeat(1024 * 1024)) };
    assert_eq!(change(&"a".repeat(17), &all), Err(TOO_LARGE));
}

proptest! {
    #[test]
    fn an_edit_that_is_undone_gives_the_file_back(
        before in "[a\n]{0,12}", old in "<[a\n]{0,3}>", after in "[a\n]{0,12}", crlf_file: bool,
    ) {
        let file = format!("{before}@{after}");
        let file = if crlf_file { file.replace('\n', "\r\n") } else { file };
        let Change::To { content, .. } = change(&file, &request("@", &old)).unwrap() else {
            panic!("it is there")
        };
        // A mixed file could have been made only from a file without any line break.
        if file.contains('\n') && crlf_file {
            prop_assert!(!content.replace("\r\n", "").contains('\n'));
        }
        if let Change::To { content, .. } = change(&content, &request(&old, "@")).unwrap() {
            prop_assert_eq!(content, file);
        }
    }
}
