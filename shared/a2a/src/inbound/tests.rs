use super::*;
use crate::types::{Place, SendMessageRequest};

fn message(parts: &str) -> Message {
    message_with(parts, "")
}

fn message_with(parts: &str, more: &str) -> Message {
    let json = format!(
        r#"{{"message":{{"messageId":"message-1","role":"ROLE_USER","parts":[{parts}]{more}}}}}"#
    );
    SendMessageRequest::read(&json, Place::default()).unwrap().message
}

const LIMITS: Limits = Limits {
    max_parts: 4,
    max_message_bytes: 100,
    max_text_part_bytes: 10,
    max_data_part_bytes: 11,
    max_raw_part_bytes: 12,
};

fn refused(message: &Message) -> Vec<(String, String)> {
    let error = admit(message, &LIMITS, &A2aSettings::default()).unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidParams);
    let violations = error.violations().iter();
    violations.map(|v| (v.field.clone(), v.description.clone().into_owned())).collect()
}

fn admitted(message: &Message) -> Admitted<'_> {
    admit(message, &LIMITS, &A2aSettings::default()).unwrap()
}

/// Publication scenario 13: every limit is inclusive.
#[test]
fn a_part_may_be_as_large_as_its_limit_and_no_larger() {
    let raw = |bytes: usize| crate::types::Base64::encode(&vec![0; bytes]).into_string();
    for (part, larger, field, limit) in [
        (
            format!(r#"{{"text":"{}"}}"#, "é".repeat(5)),
            format!(r#"{{"text":"{}x"}}"#, "é".repeat(5)),
            "text",
            10,
        ),
        (r#"{"data":[1, 2,3333]}"#.to_owned(), r#"{"data":[1, 2,33333]}"#.to_owned(), "data", 11),
        (format!(r#"{{"raw":"{}"}}"#, raw(12)), format!(r#"{{"raw":"{}"}}"#, raw(13)), "raw", 12),
    ] {
        admitted(&message(&part));
        let two = format!(r#"{{"text":"ok"}},{larger}"#);
        let expected = (format!("message.parts[1].{field}"), format!("has at most {limit} bytes"));
        assert_eq!(refused(&message(&two)), [expected]);
    }
}

#[test]
fn a_message_has_so_many_parts_and_no_more() {
    let parts = |n| vec![r#"{"text":""}"#; n].join(",");
    admitted(&message(&parts(4)));
    let expected = ("message.parts".to_owned(), "has at most 4 Parts".to_owned());
    assert_eq!(refused(&message(&parts(5))), [expected]);
}

/// A url Part has no limit of its own and counts to the whole, as all that is said about Parts and
/// message does.
#[test]
fn the_whole_message_has_a_limit() {
    let at_limit = format!(r#"{{"url":"{}"}}"#, "u".repeat(96));
    // Two bytes for each empty envelope.
    admitted(&message(&at_limit));
    let expected = [("message".to_owned(), "has at most 100 bytes".to_owned())];
    assert_eq!(refused(&message(&format!(r#"{{"url":"{}"}}"#, "u".repeat(97)))), expected);
    for more in
        [r#","metadata":{"k":1}"#, r#","extensions":["urn:x"]"#, r#","referenceTaskIds":["r"]"#]
    {
        assert_eq!(refused(&message_with(&at_limit, more)), expected, "{more}");
    }
    let named = at_limit.replacen('{', r#"{"filename":"f","#, 1);
    assert_eq!(refused(&message(&named)), expected);
}

#[test]
fn the_default_limits_fit_into_one_invocation() {
    let limits = Limits::default();
    assert_eq!(limits.max_parts, 64);
    let base64 = |bytes: usize| bytes.div_ceil(3) * 4;
    assert!(base64(limits.max_raw_part_bytes) < 6_000_000);
    assert!(base64(limits.max_message_bytes) < 6_000_000);
}

#[test]
fn what_cannot_be_stored_or_read_again_is_refused() {
    for (parts, field) in [
        (r#"{"text":"a\u0000b"}"#.to_owned(), "message.parts[0].text"),
        (r#"{"url":"a\u0000b"}"#.to_owned(), "message.parts[0].url"),
        (r#"{"text":"","filename":"\u0000"}"#.to_owned(), "message.parts[0].filename"),
        (r#"{"text":"","mediaType":"\u0000"}"#.to_owned(), "message.parts[0].mediaType"),
        (r#"{"data":1e999}"#.to_owned(), "message.parts[0].data"),
        (r#"{"data":"\ud800"}"#.to_owned(), "message.parts[0].data"),
        (r#"{"text":"","metadata":{"a":1e999}}"#.to_owned(), "message.parts[0].metadata"),
    ] {
        assert_eq!(refused(&message(&parts))[0].0, field, "{parts}");
    }
    // Free JSON stays escaped text, so U+0000 in it never becomes a character.
    admitted(&message(r#"{"data":"\u0000"}"#));
    let nested = |depth| format!(r#"{{"data":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let limits = Limits::default();
    let admit = |message: &Message| admit(message, &limits, &A2aSettings::default()).is_ok();
    assert!(admit(&message(&nested(127))));
    assert!(!admit(&message(&nested(128))));
    assert!(!admit(&message(&nested(500_000))));
}

#[test]
fn an_id_is_short_enough_for_an_index() {
    let id = |bytes: usize| "i".repeat(bytes);
    for (field, json) in [("message.contextId", "contextId"), ("message.taskId", "taskId")] {
        admitted(&message_with(r#"{"text":""}"#, &format!(r#","{json}":"{}""#, id(256))));
        let long = message_with(r#"{"text":""}"#, &format!(r#","{json}":"{}""#, id(257)));
        assert_eq!(refused(&long)[0].0, field);
        let nul = message_with(r#"{"text":""}"#, &format!(r#","{json}":"\u0000""#));
        assert_eq!(refused(&nul)[0].0, field);
    }
    let mut long = message(r#"{"text":""}"#);
    long.message_id = id(257);
    assert_eq!(refused(&long)[0].0, "message.messageId");
}

fn modes(policy: InputModesPolicy, modes: &[&str]) -> A2aSettings {
    A2aSettings {
        input_modes_policy: policy,
        default_input_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
        ..A2aSettings::default()
    }
}

/// O6, publication scenario 14.
#[test]
fn an_agent_that_enforces_its_modes_refuses_others() {
    let settings =
        modes(InputModesPolicy::Enforce, &["text/plain", "Image/*", "application/json; v=1"]);
    for (media_type, taken) in [
        ("text/plain", true),
        ("Text/Plain; charset=utf-8", true),
        ("image/png", true),
        ("application/json", true),
        ("application/x-unsupported", false),
        ("text/*", false),
        ("text", false),
        ("imagex/png", false),
    ] {
        for content in [r#""text":"""#, r#""raw":"""#, r#""url":"u""#, r#""data":1"#] {
            let part = format!(r#"{{{content},"mediaType":"{media_type}"}}"#);
            let message = message(&part);
            let result = admit(&message, &LIMITS, &settings);
            let cause = result.err().map(|error| error.cause());
            assert_eq!(cause, (!taken).then_some(Cause::ContentTypeNotSupported), "{part}");
        }
    }
    assert!(admit(&message(r#"{"text":""}"#), &LIMITS, &settings).is_ok());
    let any = modes(InputModesPolicy::Enforce, &["*/*"]);
    assert!(admit(&message(r#"{"text":"","mediaType":"a/b"}"#), &LIMITS, &any).is_ok());
}

#[test]
fn a_refusal_says_which_parts_and_what_is_taken_instead() {
    let settings = modes(InputModesPolicy::Enforce, &["text/plain", "image/*"]);
    let parts = r#"{"text":""},{"text":"","mediaType":"a/b"},{"text":"","mediaType":"c/d"}"#;
    let error = admit(&message(parts), &LIMITS, &settings).err().unwrap();
    let found: Vec<_> =
        error.violations().iter().map(|v| (v.field.as_str(), v.description.as_ref())).collect();
    let taken = "is one of text/plain, image/*";
    assert_eq!(
        found,
        [("message.parts[1].mediaType", taken), ("message.parts[2].mediaType", taken)]
    );
}

/// O6: what only a skill takes is taken.
#[test]
fn the_modes_of_a_skill_widen_what_is_taken() {
    let mut settings = modes(InputModesPolicy::Enforce, &["text/plain"]);
    let skill =
        r#"{"id":"s","name":"s","description":"s","tags":["s"],"input_modes":["image/png"]}"#;
    settings.skills = vec![serde_json::from_str(skill).unwrap()];
    let part = |media_type| message(&format!(r#"{{"raw":"","mediaType":"{media_type}"}}"#));
    assert!(admit(&part("image/png"), &LIMITS, &settings).is_ok());
    assert!(admit(&part("text/plain"), &LIMITS, &settings).is_ok());
    assert!(admit(&part("image/gif"), &LIMITS, &settings).is_err());
}

/// Seed 001.
#[test]
fn an_agent_that_retains_takes_any_media_type() {
    let settings = modes(InputModesPolicy::Retain, &["text/plain"]);
    let message = message(r#"{"raw":"","mediaType":"application/x-unsupported"}"#);
    let admitted = admit(&message, &LIMITS, &settings).unwrap();
    let parts = admitted.parts();
    assert_eq!(parts[0].media_type.as_deref(), Some("application/x-unsupported"));
}

/// Publication scenarios 10, 11, 16.
#[test]
fn parts_are_stored_in_order_and_as_they_were_sent() {
    let message = message(
        r#"{"text":"t","filename":"../../n.txt"},{"data":{ "n":3.0,"n":3 },"metadata":{"account":"other"}},
           {"raw":"-_8"},{"url":"https://example.com/r.pdf","mediaType":"application/pdf"}"#,
    );
    let parts = admit(&message, &Limits::default(), &A2aSettings::default()).unwrap().parts();
    let stored = |kind, value: &str| NewPart {
        kind,
        value: value.to_owned(),
        media_type: None,
        filename: None,
        metadata: None,
    };
    assert_eq!(
        parts,
        [
            NewPart { filename: Some("../../n.txt".to_owned()), ..stored(PartKind::Text, "t") },
            NewPart {
                metadata: Some(r#"{"account":"other"}"#.to_owned()),
                ..stored(PartKind::Data, r#"{ "n":3.0,"n":3 }"#)
            },
            stored(PartKind::Raw, "+/8="),
            NewPart {
                media_type: Some("application/pdf".to_owned()),
                ..stored(PartKind::Url, "https://example.com/r.pdf")
            },
        ]
    );
}

#[test]
fn a_fingerprint_tells_contents_apart_and_not_spellings_of_the_protocol() {
    let print = |message: &Message| admitted(message).fingerprint();
    let one = print(&message(r#"{"text":"t","mediaType":"a/b"}"#));
    assert_eq!(one.len(), 64);
    assert_eq!(one, print(&message(r#"{"media_type":"a/b","text":"t","new":1,"url":null}"#)));
    for other in [
        r#"{"text":"u","mediaType":"a/b"}"#,
        r#"{"url":"t","mediaType":"a/b"}"#,
        r#"{"text":"t"}"#,
        r#"{"text":"t","mediaType":"a/b"},{"text":""}"#,
    ] {
        assert_ne!(one, print(&message(other)), "{other}");
    }
    for more in [r#","contextId":"c""#, r#","metadata":{}"#, r#","extensions":["urn:x"]"#] {
        assert_ne!(one, print(&message_with(r#"{"text":"t","mediaType":"a/b"}"#, more)), "{more}");
    }
    // Free JSON counts in the client's own spelling.
    let spelled = |json: &str| print(&message(&format!(r#"{{"data":{json}}}"#)));
    assert_ne!(spelled("3"), spelled("3.0"));
    assert_ne!(spelled("[1,2]"), spelled("[1, 2]"));
}
