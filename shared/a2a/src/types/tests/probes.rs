//! Each rule of ProtoJSON and of the protocol on which codecs of others differ, one row a rule. What
//! each rule means in full is in the tests of the codec; this is the list.

use super::*;

/// What is made of a message's one field, or that it is refused.
fn read(message: &str) -> Result<Message, crate::A2aError> {
    SendMessageRequest::read(message, Place::default()).map(|request| request.message)
}

/// A message with other fields in place of its own.
fn message(fields: &[(&str, &str)]) -> String {
    let usual =
        [("messageId", r#""m""#), ("role", r#""ROLE_USER""#), ("parts", r#"[{"text":"t"}]"#)];
    let kept = usual.iter().filter(|(name, _)| fields.iter().all(|(other, _)| other != name));
    let all: Vec<String> = kept
        .chain(fields)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name:?}:{value}"))
        .collect();
    format!(r#"{{"message":{{{}}}}}"#, all.join(","))
}

/// A message whose one Part is this.
fn part(json: &str) -> String {
    message(&[("parts", &format!("[{json}]"))])
}

#[test]
fn what_a_tolerant_reader_takes_is_taken() {
    let snake = [("messageId", ""), ("message_id", r#""m""#)];
    let rows = [
        ("names in snake_case", message(&snake)),
        ("context_id in snake_case", message(&[("context_id", r#""c""#)])),
        ("reference_task_ids in snake_case", message(&[("reference_task_ids", r#"["r"]"#)])),
        ("media_type in snake_case", part(r#"{"text":"t","media_type":"a/b"}"#)),
        ("an enum by number", message(&[("role", "1")])),
        ("contextId null", message(&[("contextId", "null")])),
        ("taskId null", message(&[("taskId", "null")])),
        ("metadata null", message(&[("metadata", "null")])),
        ("extensions null", message(&[("extensions", "null")])),
        ("referenceTaskIds null", message(&[("referenceTaskIds", "null")])),
        ("filename null", part(r#"{"text":"t","filename":null}"#)),
        ("mediaType null", part(r#"{"text":"t","mediaType":null}"#)),
        ("a Part's metadata null", part(r#"{"text":"t","metadata":null}"#)),
        (
            "a null sibling of the content",
            part(r#"{"text":"t","raw":null,"url":null,"data":null}"#),
        ),
        ("a null sibling before the content", part(r#"{"raw":null,"text":"t"}"#)),
        ("data that is null", part(r#"{"data":null}"#)),
        ("data that is a number", part(r#"{"data":1}"#)),
        ("data that is a list", part(r#"{"data":[]}"#)),
        ("an empty text", part(r#"{"text":""}"#)),
        ("no bytes", part(r#"{"raw":""}"#)),
        ("base64 for urls", part(r#"{"raw":"-_8="}"#)),
        ("base64 without padding", part(r#"{"raw":"+/8"}"#)),
        ("an empty metadata", message(&[("metadata", "{}")])),
        ("an unknown field", message(&[("new", r#"{"a":[1]}"#)])),
        ("an unknown field of a Part", part(r#"{"text":"t","kind":"text"}"#)),
        ("an empty contextId", message(&[("contextId", r#""""#)])),
    ];
    for (rule, json) in rows {
        assert!(read(&json).is_ok(), "{rule}: {json}: {:?}", read(&json));
    }
}

#[test]
fn what_a_careful_reader_refuses_is_refused_with_its_path() {
    let rows = [
        ("no message", "{}".to_owned(), "message"),
        ("a message that is null", r#"{"message":null}"#.to_owned(), "message"),
        ("a message that is a list", r#"{"message":[]}"#.to_owned(), "message"),
        ("no messageId", message(&[("messageId", "")]), "message.messageId"),
        ("an empty messageId", message(&[("messageId", r#""""#)]), "message.messageId"),
        ("a messageId that is null", message(&[("messageId", "null")]), "message.messageId"),
        ("a messageId that is a number", message(&[("messageId", "1")]), "message.messageId"),
        ("no role", message(&[("role", "")]), "message.role"),
        ("a role that is null", message(&[("role", "null")]), "message.role"),
        ("an unspecified role", message(&[("role", "0")]), "message.role"),
        ("an agent's role", message(&[("role", r#""ROLE_AGENT""#)]), "message.role"),
        ("a role of 0.3", message(&[("role", r#""user""#)]), "message.role"),
        ("an unknown role", message(&[("role", "3")]), "message.role"),
        ("no parts", message(&[("parts", "")]), "message.parts"),
        ("parts that are null", message(&[("parts", "null")]), "message.parts"),
        ("empty parts", message(&[("parts", "[]")]), "message.parts"),
        ("parts that are an object", message(&[("parts", "{}")]), "message.parts"),
        ("a Part that is null", part("null"), "message.parts[0]"),
        ("a Part without content", part("{}"), "message.parts[0]"),
        ("two contents", part(r#"{"text":"a","data":1}"#), "message.parts[0]"),
        ("bytes that are none", part(r#"{"raw":"a b"}"#), "message.parts[0].raw"),
        ("bytes that are a list", part(r#"{"raw":[1]}"#), "message.parts[0].raw"),
        ("a text that is a number", part(r#"{"text":1}"#), "message.parts[0].text"),
        ("metadata in a list", message(&[("metadata", "[]")]), "message.metadata"),
        ("metadata in a text", message(&[("metadata", r#""a""#)]), "message.metadata"),
        (
            "a Part's metadata in a list",
            part(r#"{"text":"","metadata":[]}"#),
            "message.parts[0].metadata",
        ),
        ("extensions in a text", message(&[("extensions", r#""a""#)]), "message.extensions"),
        (
            "an extension that is null",
            message(&[("extensions", "[null]")]),
            "message.extensions[0]",
        ),
        ("a name twice", message(&[("contextId", r#""a""#), ("context_id", r#""a""#)]), "message"),
    ];
    for (rule, json, field) in rows {
        let error = read(&json).unwrap_err();
        let fields: Vec<_> = error.violations().iter().map(|v| v.field.as_str()).collect();
        assert!(fields.iter().any(|found| found.starts_with(field)), "{rule}: {json}: {fields:?}");
    }
}

#[test]
fn numbers_truths_and_times_are_read_as_protojson_allows_them() {
    let configured = |configuration: &str| {
        let json = message(&[]).replacen('{', &format!(r#"{{"configuration":{configuration},"#), 1);
        SendMessageRequest::read(&json, Place::default()).map(|request| request.configuration)
    };
    for five in ["5", "5.0", "5e0", r#""5""#] {
        let json = format!(r#"{{"historyLength":{five}}}"#);
        assert_eq!(configured(&json).unwrap().history_length, Some(5), "{five}");
    }
    for bad in ["5.5", "2147483648", "-1", r#""""#, "true"] {
        assert!(configured(&format!(r#"{{"historyLength":{bad}}}"#)).is_err(), "{bad}");
    }
    for (truth, read) in [("true", true), (r#""true""#, true), ("false", false), ("null", false)] {
        let json = format!(r#"{{"returnImmediately":{truth}}}"#);
        assert_eq!(configured(&json).unwrap().return_immediately, read, "{truth}");
    }
    for bad in ["1", r#""yes""#, r#""True""#, "[]"] {
        assert!(configured(&format!(r#"{{"returnImmediately":{bad}}}"#)).is_err(), "{bad}");
    }
    let status = |time: &str| {
        let json = format!(r#"{{"state":"TASK_STATE_WORKING","timestamp":{time}}}"#);
        serde_json::from_str::<TaskStatus>(&json).map(|s| s.timestamp.map(|time| time.to_string()))
    };
    for (time, normalised) in [
        (r#""2026-09-21T14:13:20Z""#, Some("2026-09-21T14:13:20.000Z")),
        (r#""2026-09-21T14:13:20.5+00:00""#, Some("2026-09-21T14:13:20.500Z")),
        (r#""2026-09-21T09:13:20.123456789-05:00""#, Some("2026-09-21T14:13:20.123Z")),
        ("null", None),
    ] {
        assert_eq!(status(time).unwrap().as_deref(), normalised, "{time}");
    }
    for bad in [r#""now""#, "1790000000", r#""2026-09-21""#, r#""2026-02-30T00:00:00Z""#] {
        assert!(status(bad).is_err(), "{bad}");
    }
}

/// Neither the name of a key nor the size of a number gives anybody a right to touch it.
#[test]
fn free_json_comes_back_to_the_byte() {
    for json in [
        r#"{"timestamp":"2026-01-01T00:00:00+00:00"}"#,
        r#"{"message_id":1,"kind":"task","state":"working","final":true}"#,
        r#"{"n":3,"f":3.0,"big":9007199254740993,"huge":123456789012345678901234567890}"#,
        r#"{"twice":1,"twice":2}"#,
        r#"{ "spaced" : [ 1 ,2 ] , "escaped" : "\u00e9\/" }"#,
        "{}",
    ] {
        let data = read(&part(&format!(r#"{{"data":{json},"metadata":{json}}}"#))).unwrap();
        let metadata = read(&message(&[("metadata", json)])).unwrap();
        let written = serde_json::to_string(&data.parts[0]).unwrap();
        assert_eq!(written, format!(r#"{{"data":{json},"metadata":{json}}}"#));
        assert_eq!(metadata.metadata.unwrap().as_str(), json);
    }
}
