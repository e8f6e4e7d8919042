//! Every rule of ProtoJSON where an existing codec goes wrong, as a table.

use crate::error::{A2aError, Cause};
use crate::types::*;

const PLACE: fn() -> Place = Place::default;

fn send(params: &str) -> Result<SendMessageRequest, A2aError> {
    SendMessageRequest::read(params, PLACE())
}

/// A request with this JSON for one Part.
fn part(json: &str) -> Result<Part, A2aError> {
    let params =
        format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{json}]}}}}"#);
    send(&params).map(|mut request| request.message.parts.remove(0))
}

fn violations(error: &A2aError) -> Vec<(&str, &str)> {
    assert_eq!(error.cause(), Cause::InvalidParams, "{error:?}");
    error.violations().iter().map(|v| (v.field.as_str(), v.description.as_ref())).collect()
}

const MINIMAL: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}]}}"#;

#[test]
fn names_are_read_in_camel_case_and_in_snake_case() {
    let camel = r#"{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER",
        "parts":[{"text":"t","mediaType":"text/plain"}],"referenceTaskIds":["r"]},
        "configuration":{"acceptedOutputModes":["a/b"],"historyLength":2,"returnImmediately":true}}"#;
    let snake = r#"{"message":{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_USER",
        "parts":[{"text":"t","media_type":"text/plain"}],"reference_task_ids":["r"]},
        "configuration":{"accepted_output_modes":["a/b"],"history_length":2,"return_immediately":true}}"#;
    let request = send(camel).unwrap();
    assert_eq!(request, send(snake).unwrap());
    assert_eq!(request.configuration.history_length, Some(2));
    assert!(request.configuration.return_immediately);
    assert_eq!(request.message.context_id.as_deref(), Some("c"));
}

#[test]
fn an_enum_is_read_by_name_and_by_number() {
    for role in [r#""ROLE_USER""#, "1"] {
        let request = send(&MINIMAL.replace(r#""ROLE_USER""#, role)).unwrap();
        assert_eq!(request.message.role, Role::User);
    }
    for role in [r#""user""#, r#""ROLE_ROBOT""#, "7", "true", "1.5"] {
        let error = send(&MINIMAL.replace(r#""ROLE_USER""#, role)).unwrap_err();
        let (field, description) = violations(&error)[0];
        assert_eq!((field, description), ("message.role", "expected ROLE_USER"), "{role}");
    }
    let states = (1..=8).map(|n| {
        let task = format!(r#"{{"id":"t","contextId":"c","status":{{"state":{n}}}}}"#);
        serde_json::from_str::<Task>(&task).unwrap().status.state.as_str()
    });
    assert_eq!(
        states.collect::<Vec<_>>(),
        [
            "submitted",
            "working",
            "completed",
            "failed",
            "canceled",
            "input_required",
            "rejected",
            "auth_required"
        ]
    );
}

#[test]
fn a_state_is_written_by_its_name() {
    for state in TaskState::ALL {
        let status = TaskStatus { state: *state, message: None, timestamp: None };
        let json = serde_json::to_string(&status).unwrap();
        let name = format!("TASK_STATE_{}", state.as_str().to_uppercase());
        assert_eq!(json, format!(r#"{{"state":"{name}"}}"#));
        assert_eq!(serde_json::from_str::<TaskStatus>(&json).unwrap(), status);
    }
}

#[test]
fn an_integer_is_read_from_a_number_and_from_a_string() {
    let read = |value: &str| {
        GetTaskRequest::read(&format!(r#"{{"id":"t","historyLength":{value}}}"#), PLACE())
            .map(|request| request.history_length)
    };
    for five in ["5", "5.0", "5e0", r#""5""#] {
        assert_eq!(read(five).unwrap(), Some(5), "{five}");
    }
    assert_eq!(read("0").unwrap(), Some(0));
    assert_eq!(read("null").unwrap(), None);
    for bad in ["5.5", r#""five""#, "2147483648", "1e300", "true", "[5]", r#""""#] {
        let error = read(bad).unwrap_err();
        assert_eq!(violations(&error), [("historyLength", "expected a 32-bit integer")], "{bad}");
    }
    assert_eq!(violations(&read("-1").unwrap_err()), [("historyLength", "is not negative")]);
}

#[test]
fn null_is_absence_for_every_optional_field() {
    let nulls = r#"{"message":{"messageId":"m","contextId":null,"taskId":null,"role":"ROLE_USER",
        "parts":[{"text":"t","mediaType":null,"filename":null,"metadata":null,"raw":null,"url":null}],
        "metadata":null,"extensions":null,"referenceTaskIds":null},
        "configuration":null,"metadata":null,"tenant":null}"#;
    assert_eq!(send(nulls).unwrap(), send(MINIMAL).unwrap());
    let nulls = r#"{"acceptedOutputModes":null,"historyLength":null,"returnImmediately":null}"#;
    let configured = MINIMAL.replacen('{', &format!(r#"{{"configuration":{nulls},"#), 1);
    assert_eq!(send(&configured).unwrap(), send(MINIMAL).unwrap());
    // An empty string is the default value, which proto3 does not tell from absence.
    let empty = MINIMAL.replace(r#""messageId""#, r#""contextId":"","messageId""#);
    assert_eq!(send(&empty).unwrap(), send(MINIMAL).unwrap());
}

#[test]
fn a_part_holds_exactly_one_content_and_null_is_data() {
    let null = Content::Data(JsonText::new("null".to_owned()).unwrap());
    assert_eq!(part(r#"{"data":null}"#).unwrap().content, null);
    assert_eq!(part(r#"{"text":""}"#).unwrap(), Part::text(""));
    // Beside another content null is an absent sibling, whatever the order.
    for siblings in [r#"{"data":null,"text":"t"}"#, r#"{"text":"t","data":null,"raw":null}"#] {
        assert_eq!(part(siblings).unwrap(), Part::text("t"), "{siblings}");
    }
    for bad in [
        "{}",
        r#"{"text":null}"#,
        r#"{"text":"a","url":"b"}"#,
        r#"{"data":1,"text":"a"}"#,
        r#"{"raw":"","data":{}}"#,
        r#"{"text":"a","text":"b"}"#,
        r#"{"mediaType":"text/plain"}"#,
    ] {
        let error = part(bad).unwrap_err();
        let description = "a Part holds exactly one of text, raw, url and data";
        assert_eq!(violations(&error), [("message.parts[0]", description)], "{bad}");
    }
    for bad in ["null", "[]", r#""text""#] {
        assert_eq!(part(bad).unwrap_err().violations()[0].field, "message.parts[0]", "{bad}");
    }
}

#[test]
fn free_json_stays_as_it_was_sent() {
    for json in [
        "3",
        "3.0",
        "1e2",
        "-0",
        "9007199254740993",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        r#"{"a":1,"a":2}"#,
        r#"{"b":1,"a":{"timestamp":"2026-01-01T00:00:00+00:00","message_id":null}}"#,
        r#""\u0000\u00e9\/é\ud83d\ude00😀""#,
        "{ \"spaced\" :\n[ 1 ,\t2 ] }",
        "true",
        r#""""#,
        "[]",
        "[null]",
    ] {
        let read = part(&format!(r#"{{"data": {json} }}"#)).unwrap();
        assert_eq!(read.content, Content::Data(JsonText::new(json.to_owned()).unwrap()));
        assert_eq!(serde_json::to_string(&read).unwrap(), format!(r#"{{"data":{json}}}"#));
    }
    let metadata = r#"{"int":3,"big":9007199254740993,"dup":1,"dup":2,"x":"\u0041"}"#;
    let params = MINIMAL.replacen('{', &format!(r#"{{"metadata":{metadata},"#), 1);
    assert_eq!(send(&params).unwrap().metadata.unwrap().as_str(), metadata);
}

#[test]
fn metadata_is_an_object() {
    for bad in ["[]", "5", r#""{}""#] {
        let error = part(&format!(r#"{{"text":"t","metadata":{bad}}}"#)).unwrap_err();
        assert_eq!(violations(&error), [("message.parts[0].metadata", "expected an object")]);
    }
}

#[test]
fn base64_is_read_in_both_alphabets_with_and_without_padding() {
    let read = |text: &str| match part(&format!(r#"{{"raw":"{text}"}}"#))?.content {
        Content::Raw(bytes) => Ok(bytes),
        other => panic!("{other:?}"),
    };
    for same in ["+/8=", "-_8=", "+/8", "-_8"] {
        let bytes = read(same).unwrap();
        assert_eq!((bytes.as_str(), bytes.decode()), ("+/8=", vec![0xfb, 0xff]), "{same}");
    }
    // Bits beyond the last byte mean nothing, and are not kept.
    assert_eq!(read("+/9=").unwrap().as_str(), "+/8=");
    for (text, length) in [("", 0), ("YQ==", 1), ("YWI=", 2), ("YWJj", 3), ("YWJjZA==", 4)] {
        let bytes = read(text).unwrap();
        assert_eq!((bytes.decoded_len(), bytes.decode().len()), (length, length), "{text}");
    }
    for bad in ["a", "a=b", "YQ===", "Y Q==", "*", "YQ==YQ=="] {
        let error = read(bad).unwrap_err();
        assert_eq!(violations(&error), [("message.parts[0].raw", "expected base64")], "{bad}");
    }
}

#[test]
fn unknown_fields_are_skipped_everywhere() {
    let params = r#"{"new":{"deep":[1]},"message":{"kind":"message","messageId":"m","role":"ROLE_USER",
        "parts":[{"kind":"text","text":"t","shiny":null}],"x":1},"configuration":{"blocking":true}}"#;
    assert_eq!(send(params).unwrap(), send(MINIMAL).unwrap());
}

#[test]
fn a_field_given_twice_is_refused_under_whichever_name() {
    for bad in [r#""messageId":"m","messageId":"n""#, r#""messageId":"m","message_id":"m""#] {
        let error = send(&MINIMAL.replace(r#""messageId":"m""#, bad)).unwrap_err();
        assert_eq!(error.violations()[0].description, "duplicate field `messageId`");
    }
    let error = part(r#"{"text":"t","mediaType":"a/b","media_type":"a/b"}"#).unwrap_err();
    assert_eq!(error.violations()[0].description, "a field is given twice");
}

#[test]
fn a_list_is_no_message() {
    for bad in ["[]", r#"["m"]"#, "5", r#""m""#] {
        let error = send(bad).unwrap_err();
        assert_eq!(violations(&error), [("", "expected an object")], "{bad}");
        let error = send(&format!(r#"{{"message":{bad}}}"#)).unwrap_err();
        assert_eq!(violations(&error), [("message", "expected an object")], "{bad}");
    }
}

/// O12.
#[test]
fn all_that_is_missing_is_said_at_once_with_its_path() {
    assert_eq!(violations(&send("{}").unwrap_err()), [("message", "is required")]);
    assert_eq!(
        violations(&send(r#"{"message":{},"configuration":{"historyLength":-1}}"#).unwrap_err()),
        [
            ("configuration.historyLength", "is not negative"),
            ("message.messageId", "is required"),
            ("message.role", "is required"),
            ("message.parts", "has at least one Part"),
        ]
    );
    let agent = MINIMAL.replace("ROLE_USER", "ROLE_AGENT");
    assert_eq!(
        violations(&send(&agent).unwrap_err()),
        [("message.role", "is ROLE_USER in a client's message")]
    );
    for empty in ["{}", r#"{"id":""}"#, r#"{"id":null}"#] {
        let required = [("id", "is required")];
        assert_eq!(violations(&GetTaskRequest::read(empty, PLACE()).unwrap_err()), required);
        assert_eq!(violations(&CancelTaskRequest::read(empty, PLACE()).unwrap_err()), required);
        assert_eq!(
            violations(&SubscribeToTaskRequest::read(empty, PLACE()).unwrap_err()),
            required
        );
    }
}

#[test]
fn an_error_does_not_repeat_what_the_client_sent() {
    let canary = "canary, expected at line 7";
    for bad in [
        format!(r#"{{"message":"{canary}"}}"#),
        MINIMAL.replace("ROLE_USER", canary),
        MINIMAL.replace(r#"[{"text":"t"}]"#, &format!(r#""{canary}""#)),
        format!(r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"raw":"{canary}"}}]}}}}"#),
        format!(r#"{{"configuration":{{"historyLength":"{canary}"}}}}"#),
    ] {
        let error = send(&bad).unwrap_err();
        assert!(!format!("{error:?}").contains("canary"), "{bad}: {error:?}");
    }
}

#[test]
fn half_a_surrogate_pair_in_a_text_is_a_violation_and_no_crash() {
    let error = part(r#"{"text":"\ud800"}"#).unwrap_err();
    assert_eq!(violations(&error), [("message.parts[0].text", "cannot be read")]);
}

#[test]
fn a_timestamp_is_read_with_any_offset_and_written_in_utc() {
    let read = |text: &str| {
        let task = format!(r#"{{"state":"TASK_STATE_WORKING","timestamp":"{text}"}}"#);
        serde_json::from_str::<TaskStatus>(&task)
    };
    for (text, written) in [
        ("2026-09-21T14:13:20.123Z", "2026-09-21T14:13:20.123Z"),
        ("2026-09-21T16:13:20+02:00", "2026-09-21T14:13:20.000Z"),
        ("2026-09-21T14:13:20.123456789Z", "2026-09-21T14:13:20.123Z"),
    ] {
        let json = serde_json::to_string(&read(text).unwrap()).unwrap();
        assert_eq!(json, format!(r#"{{"state":"TASK_STATE_WORKING","timestamp":"{written}"}}"#));
    }
    for bad in ["yesterday", "2026-09-21", "1790000000"] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_task_is_read_without_a_context_and_written_with_one() {
    let task: Task = serde_json::from_str(r#"{"id":"t","status":{"state":2}}"#).unwrap();
    let json = serde_json::to_string(&task).unwrap();
    assert_eq!(json, r#"{"id":"t","contextId":"","status":{"state":"TASK_STATE_WORKING"}}"#);
    assert!(serde_json::from_str::<Task>(r#"{"id":"t"}"#).is_err());
}

#[test]
fn a_union_has_exactly_one_member() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":2}}"#;
    let read = |json: String| serde_json::from_str::<StreamResponse>(&json);
    assert!(matches!(read(format!(r#"{{"task":{task}}}"#)), Ok(StreamResponse::Task(_))));
    assert!(read(format!(r#"{{"task":{task},"message":null}}"#)).is_ok());
    let update = r#"{"taskId":"t","contextId":"c","status":{"state":2}}"#;
    for name in ["statusUpdate", "status_update"] {
        assert!(read(format!(r#"{{"{name}":{update}}}"#)).is_ok());
    }
    assert!(read(format!(r#"{{"task":{task},"statusUpdate":{update}}}"#)).is_err());
    assert!(read("{}".to_owned()).is_err());
    assert!(serde_json::from_str::<SendResult>("{}").is_err());
}
