mod chunks;

use proptest::prelude::*;

use super::*;

/// What a reader makes of a stream, by the rules of the HTML standard.
fn read(text: &str) -> Vec<(Option<String>, String, String)> {
    let (mut events, mut id, mut name, mut data) = (Vec::new(), None, String::new(), Vec::new());
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            _ if line.is_empty() && !data.is_empty() => {
                let data = std::mem::take(&mut data);
                events.push((id.clone(), std::mem::take(&mut name), data.join("\n")));
            }
            "id" => id = Some(value.to_owned()),
            "event" => name = value.to_owned(),
            "data" => data.push(value.to_owned()),
            _ => {}
        }
    }
    events
}

/// S6: where Python's `splitlines` ends a line.
const PYTHON_LINE_ENDS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

#[test]
fn an_event_is_its_id_and_one_line() {
    insta::assert_snapshot!(
        std::str::from_utf8(&frame(Some(7), None, br#"{"a":1}"#)).unwrap(),
        @r#"
    id: 7
    data: {"a":1}
    "#
    );
    assert_eq!(frame(None, Some("error"), b"{}"), "event: error\ndata: {}\n\n");
}

/// S6: a comment, and no empty line that some clients take for an event.
#[test]
fn a_ping_is_no_event() {
    assert_eq!(PING, ": ping\n");
    let text = [&PING[..], &frame(Some(1), None, b"{}"), &PING].concat();
    assert_eq!(read(std::str::from_utf8(&text).unwrap()).len(), 1);
}

#[test]
fn line_ends_between_tokens_and_separators_inside_strings_disappear() {
    let json = "{\r\n\"a\" :\n\"\u{2028}x\u{2029}\u{85}é€😀\"}";
    let framed = frame(None, None, json.as_bytes());
    let expected = "data: {  \"a\" : \"\\u2028x\\u2029\\u0085é€😀\"}\n\n";
    assert_eq!(std::str::from_utf8(&framed).unwrap(), expected);
}

fn hostile_text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\r".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n\r\n".to_owned()),
        Just("\ndata: {}\n\n".to_owned()),
        Just("\nid: 9\n".to_owned()),
        Just("event: error".to_owned()),
        Just("\u{2028}\u{2029}\u{85}".to_owned()),
        Just("👩‍👩‍👧😀".to_owned()),
        Just("\u{0}\u{b}\u{c}\u{1c}\u{7f}".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// S1, S6: whatever a text holds, it arrives as one event with one value.
    #[test]
    fn any_text_arrives_whole(text in hostile_text(), id in any::<Option<i64>>()) {
        // With the white space that a client may have put between its tokens.
        let json = format!("{{\n\r\"text\":\r\n{}\n}}", serde_json::Value::from(text.as_str()));
        let framed = frame(id, None, json.as_bytes());
        let framed = std::str::from_utf8(&framed).unwrap();
        let events = read(framed);
        prop_assert_eq!(events.len(), 1);
        prop_assert_eq!(&events[0].0, &id.map(|id| id.to_string()));
        let back: serde_json::Value = serde_json::from_str(&events[0].2).unwrap();
        prop_assert_eq!(back, serde_json::json!({ "text": text }));
        let lines = framed.trim_end_matches('\n').split(PYTHON_LINE_ENDS).count();
        prop_assert_eq!(lines, 1 + usize::from(id.is_some()));
    }
}
