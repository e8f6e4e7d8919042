//! What the requests of lists and webhooks may say.

use super::*;
use crate::error::{A2aError, Cause};

fn list(json: &str) -> Result<ListTasksRequest, A2aError> {
    ListTasksRequest::read(json, Place::default())
}

fn violations<T: std::fmt::Debug>(result: Result<T, A2aError>) -> Vec<(String, String)> {
    let error = result.unwrap_err();
    assert_eq!(error.cause(), Cause::InvalidParams);
    let violations = error.violations().iter();
    violations.map(|v| (v.field.clone(), v.description.clone().into_owned())).collect()
}

fn one(field: &str, description: &str) -> Vec<(String, String)> {
    vec![(field.to_owned(), description.to_owned())]
}

/// O8.
#[test]
fn a_list_without_filters_is_a_list_of_everything() {
    for nothing in [
        "{}",
        r#"{"status":"TASK_STATE_UNSPECIFIED"}"#,
        r#"{"status":0,"contextId":"","pageToken":"","tenant":""}"#,
        r#"{"status":null,"pageSize":null,"statusTimestampAfter":null,"includeArtifacts":null}"#,
        r#"{"include_artifacts":false,"new":1}"#,
    ] {
        assert_eq!(list(nothing), Ok(ListTasksRequest::default()), "{nothing}");
    }
}

#[test]
fn every_filter_is_read_in_every_spelling() {
    let expected = ListTasksRequest {
        tenant: Some("acme".to_owned()),
        context_id: Some("c".to_owned()),
        status: Some(TaskState::Working),
        page_size: Some(100),
        page_token: Some("p".to_owned()),
        history_length: Some(0),
        status_timestamp_after: Some(Timestamp::from_micros(1_790_000_000_123_456)),
        include_artifacts: true,
    };
    for json in [
        r#"{"tenant":"acme","contextId":"c","status":"TASK_STATE_WORKING","pageSize":100,"pageToken":"p",
            "historyLength":0,"statusTimestampAfter":"2026-09-21T14:13:20.123456Z","includeArtifacts":true}"#,
        r#"{"tenant":"acme","context_id":"c","status":2,"page_size":"100","page_token":"p",
            "history_length":0.0,"status_timestamp_after":"2026-09-21T16:13:20.123456789+02:00","include_artifacts":"true"}"#,
    ] {
        assert_eq!(list(json), Ok(expected.clone()));
    }
    let mut again = expected;
    again.status_timestamp_after = Some(Timestamp::from_micros(1_790_000_000_123_000));
    assert_eq!(list(&serde_json::to_string(&again).unwrap()), Ok(again));
}

/// O8, B3, B4: nothing that cannot be read is ignored.
#[test]
fn a_filter_that_cannot_be_read_is_refused() {
    const STATE: &str = "expected a task state, such as TASK_STATE_WORKING";
    for status in [r#""WORKING""#, r#""working""#, r#""""#, "9", "-1", "true"] {
        let json = format!(r#"{{"status":{status}}}"#);
        assert_eq!(violations(list(&json)), one("status", STATE), "{status}");
    }
    for time in [
        "yesterday",
        "2026-09-21",
        "2026-09-21T14:13:20",
        "2026-09-21 14:13:20Z",
        "2026-09-21t14:13:20z",
        "2026-09-21T14:13Z",
        "2026-09-21T14:13:20.Z",
        "2026-09-21T14:13:20.1234567890Z",
        "2026-09-21T14:13:20+02",
        "2026-09-21T14:13:20+02:00[Europe/Berlin]",
        "2026-13-21T14:13:20Z",
        "+002026-09-21T14:13:20Z",
        "1790000000",
        "",
    ] {
        let json = format!(r#"{{"statusTimestampAfter":"{time}"}}"#);
        let expected = one("statusTimestampAfter", "expected an RFC 3339 timestamp");
        assert_eq!(violations(list(&json)), expected, "{time}");
    }
    for size in ["0", "101", "-1"] {
        let json = format!(r#"{{"pageSize":{size}}}"#);
        assert_eq!(violations(list(&json)), one("pageSize", "is between 1 and 100"), "{size}");
    }
    let expected = one("includeArtifacts", "expected true or false");
    assert_eq!(violations(list(r#"{"includeArtifacts":"yes"}"#)), expected);
    let both = violations(list(r#"{"pageSize":0,"historyLength":-1}"#));
    assert_eq!(both.len(), 2, "all at once");
}

fn create(json: &str) -> Result<TaskPushNotificationConfig, A2aError> {
    TaskPushNotificationConfig::read(json, Place::default())
}

/// P3.
#[test]
fn a_webhook_is_flat() {
    let json = r#"{"taskId":"t","id":"c","url":"https://example.com/h","token":"s","authentication":{"scheme":"Bearer","credentials":"x"}}"#;
    let config = create(json).unwrap();
    assert_eq!(serde_json::to_string(&config).unwrap().len(), json.len());
    assert_eq!(serde_json::from_str::<TaskPushNotificationConfig>(json).unwrap(), config);
    let redacted = config.redacted();
    assert_eq!(
        serde_json::to_string(&redacted).unwrap(),
        r#"{"id":"c","taskId":"t","url":"https://example.com/h","authentication":{"scheme":"Bearer"}}"#
    );
    assert_eq!(
        violations(create("{}")),
        [
            ("taskId".to_owned(), "is required".to_owned()),
            ("url".to_owned(), "is required".to_owned()),
        ]
    );
    let nested = r#"{"taskId":"t","config":{"url":"https://example.com"}}"#;
    assert_eq!(violations(create(nested)), one("url", "is required"));
}

/// P6: nothing that a client writes can end a header or be too long for one.
#[test]
fn a_webhook_holds_nothing_that_does_not_fit_into_a_header() {
    let config = |field: &str, value: &str| {
        let value = serde_json::Value::from(value);
        let inner = match field.strip_prefix("authentication.") {
            Some("scheme") => format!(r#""authentication":{{"scheme":{value}}}"#),
            Some(field) => format!(r#""authentication":{{"scheme":"Bearer","{field}":{value}}}"#),
            None => format!(r#""{field}":{value}"#),
        };
        let url = if field == "url" { "" } else { r#","url":"https://example.com""# };
        create(&format!(r#"{{"taskId":"t",{inner}{url}}}"#))
    };
    for field in ["token", "authentication.credentials"] {
        for bad in ["a\r\nX-Evil: 1", "a\nb", "\0", "a\tb", "\u{7f}", "é"] {
            let expected = one(field, "holds more than printable ASCII");
            assert_eq!(violations(config(field, bad)), expected, "{bad:?}");
        }
        assert!(config(field, "Aa9 ~!").is_ok());
        assert!(config(field, &"x".repeat(MAX_SECRET_BYTES)).is_ok());
        let long = config(field, &"x".repeat(MAX_SECRET_BYTES + 1));
        assert_eq!(violations(long), one(field, "has at most 4096 bytes"));
    }
    for bad in ["Bearer x", "Bearer\r\n", "a:b", "é", "\0"] {
        let expected = one("authentication.scheme", "is one word, as RFC 9110 has it");
        assert_eq!(violations(config("authentication.scheme", bad)), expected, "{bad:?}");
    }
    let long = config("authentication.scheme", &"x".repeat(65));
    assert_eq!(violations(long), one("authentication.scheme", "has at most 64 bytes"));
    assert_eq!(
        violations(config("authentication.scheme", "")),
        one("authentication.scheme", "is required")
    );
    for (field, limit) in [("url", MAX_URL_BYTES), ("id", 256)] {
        assert!(config(field, &"x".repeat(limit)).is_ok());
        let long = config(field, &"x".repeat(limit + 1));
        assert_eq!(violations(long), one(field, &format!("has at most {limit} bytes")));
        let control = config(field, "https://example.com/\r\n");
        assert_eq!(violations(control), one(field, "holds a control character"));
    }
}

#[test]
fn a_webhook_that_comes_with_a_message_is_held_to_the_same() {
    let json = r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"t"}]},"configuration":
        {"task_push_notification_config":{"token":"a\nb","authentication":{}}}}"#;
    let path = |field: &str| format!("configuration.taskPushNotificationConfig.{field}");
    assert_eq!(
        violations(SendMessageRequest::read(json, Place::default())),
        [
            (path("url"), "is required".to_owned()),
            (path("token"), "holds more than printable ASCII".to_owned()),
            (path("authentication.scheme"), "is required".to_owned()),
        ]
    );
}

/// P2: unlike a list of tasks, for which 0 is too few.
#[test]
fn a_page_of_webhooks_has_a_size_unless_it_is_0() {
    let read = |size: &str| {
        let json = format!(r#"{{"taskId":"t","page_size":{size}}}"#);
        ListPushConfigsRequest::read(&json, Place::default()).map(|request| request.page_size)
    };
    assert_eq!(read("0"), Ok(None));
    assert_eq!(read("100"), Ok(Some(100)));
    assert_eq!(violations(read("101")), one("pageSize", "is between 1 and 100"));
}

#[test]
fn answers_that_we_write_are_answers_that_we_read() {
    let tasks = ListTasksResponse {
        tasks: vec![task()],
        next_page_token: "p".to_owned(),
        page_size: 50,
        total_size: 51,
    };
    let json = serde_json::to_string(&tasks).unwrap();
    let back: ListTasksResponse = serde_json::from_str(&json).unwrap();
    assert_eq!((back.total_size, back.tasks.len()), (51, 1));
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    let empty = r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#;
    assert_eq!(
        serde_json::to_string(&serde_json::from_str::<ListTasksResponse>(empty).unwrap()).unwrap(),
        empty
    );
    let configs = r#"{"configs":[{"id":"c","taskId":"t","url":"u"}],"nextPageToken":""}"#;
    let back: ListPushConfigsResponse = serde_json::from_str(configs).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), configs);
}

#[test]
fn secrets_of_a_webhook_stay_out_of_debug_output() {
    let config = create(
        r#"{"taskId":"t","url":"https://u.example/canary","token":"canary","authentication":{"scheme":"S","credentials":"canary"}}"#,
    );
    assert!(!format!("{config:?}").contains("canary"));
}
