//! V2: version 0.3 in front of the same operations. What is sent and expected here is what its SDKs
//! send and read.

mod roundtrip;
mod streams;

use super::*;
use crate::types::{Artifact, Base64, Content, JsonObject, JsonText, Timestamp};

fn old(mut request: Request<Bytes>) -> Request<Bytes> {
    request.headers_mut().remove("a2a-version");
    request
}

fn old_rpc(method: &str, params: &str) -> Request<Bytes> {
    old(rpc(method, params))
}

fn old_rest(method: Method, path: &str, body: &str) -> Request<Bytes> {
    old(request(method, path, body))
}

/// What the agent was asked, without who asked it.
async fn asked(request: Request<Bytes>) -> String {
    let agent = agent();
    let reply = ask(&agent, request).await;
    let asked = agent.asked.lock().unwrap();
    asked.first().unwrap_or_else(|| panic!("{reply:?}")).clone()
}

/// As the Python SDK of 0.3 sends it.
const MESSAGE: &str = r#"{"configuration":{"acceptedOutputModes":["a/b"],"blocking":true,"historyLength":3,
    "pushNotificationConfig":{"id":"h","url":"https://e.com","token":"t","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}},
    "message":{"extensions":["urn:x"],"kind":"message","messageId":"m","metadata":{"kind":1,"state":9007199254740993},
    "parts":[{"kind":"text","text":""},{"data":{"kind":"text","n":1.0,"n":2},"kind":"data","metadata":{"a":1}},
    {"file":{"bytes":"dGNr","mimeType":"text/plain","name":"o.txt"},"kind":"file"},
    {"file":{"uri":"https://e.com/x"},"kind":"file"}],"role":"user","referenceTaskIds":["r"]},"metadata":{"m":1}}"#;

/// The same as JSON of the protobuf.
const PROTO_MESSAGE: &str = r#"{"configuration":{"acceptedOutputModes":["a/b"],"blocking":true,"historyLength":3,
    "pushNotification":{"id":"h","url":"https://e.com","token":"t","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}},
    "message":{"extensions":["urn:x"],"messageId":"m","metadata":{"kind":1,"state":9007199254740993},
    "content":[{"text":""},{"data":{"data":{"kind":"text","n":1.0,"n":2}},"metadata":{"a":1}},
    {"file":{"fileWithBytes":"dGNr","mimeType":"text/plain","name":"o.txt"}},
    {"file":{"fileWithUri":"https://e.com/x"}}],"role":"ROLE_USER","reference_task_ids":["r"]},"metadata":{"m":1}}"#;

/// What 1.0 says in its place.
const NEW_MESSAGE: &str = r#"{"configuration":{"acceptedOutputModes":["a/b"],"historyLength":3,
    "taskPushNotificationConfig":{"id":"h","url":"https://e.com","token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}},
    "message":{"extensions":["urn:x"],"messageId":"m","metadata":{"kind":1,"state":9007199254740993},
    "parts":[{"text":""},{"data":{"kind":"text","n":1.0,"n":2},"metadata":{"a":1}},
    {"raw":"dGNr","mediaType":"text/plain","filename":"o.txt"},{"url":"https://e.com/x"}],
    "role":"ROLE_USER","referenceTaskIds":["r"]},"metadata":{"m":1}}"#;

/// A request of 1.0, and those of 0.3 that mean the same.
type Translated = (Request<Bytes>, Vec<Request<Bytes>>);

fn about_tasks() -> Vec<Translated> {
    vec![
        (
            rpc("SendMessage", NEW_MESSAGE),
            vec![
                old_rpc("message/send", MESSAGE),
                old_rest(Method::POST, "/v1/message:send", PROTO_MESSAGE),
                // Objects that say their kind are understood over HTTP as well.
                old_rest(Method::POST, "/v1/message:send", MESSAGE),
            ],
        ),
        (
            rpc("SendStreamingMessage", NEW_MESSAGE),
            vec![
                old_rpc("message/stream", MESSAGE),
                old_rest(Method::POST, "/v1/message:stream", PROTO_MESSAGE),
            ],
        ),
        (
            rpc("GetTask", r#"{"id":"x","historyLength":1}"#),
            vec![
                old_rpc("tasks/get", r#"{"id":"x","historyLength":1}"#),
                old_rest(Method::GET, "/v1/tasks/x?historyLength=1", ""),
            ],
        ),
        (
            rpc("GetTask", r#"{"id":"x"}"#),
            vec![
                old_rpc("tasks/get", r#"{"id":"x","historyLength":0}"#),
                old_rest(Method::GET, "/v1/tasks/x?historyLength=0", ""),
            ],
        ),
        (
            rpc("CancelTask", r#"{"id":"x"}"#),
            vec![
                old_rpc("tasks/cancel", r#"{"id":"x"}"#),
                old_rest(Method::POST, "/v1/tasks/x:cancel", r#"{"name":"tasks/x"}"#),
                old_rest(Method::POST, "/v1/tasks/x%3Acancel", ""),
            ],
        ),
        (
            rpc("SubscribeToTask", r#"{"id":"x"}"#),
            vec![
                old_rpc("tasks/resubscribe", r#"{"id":"x"}"#),
                old_rest(Method::GET, "/v1/tasks/x:subscribe", ""),
                old_rest(Method::POST, "/v1/tasks/x:subscribe", ""),
            ],
        ),
    ]
}

fn about_webhooks_and_the_card() -> Vec<Translated> {
    let config = r#"{"id":"c","url":"https://e.com"}"#;
    vec![
        (
            rpc(
                "CreateTaskPushNotificationConfig",
                r#"{"taskId":"x","id":"c","url":"https://e.com"}"#,
            ),
            vec![
                old_rpc(
                    "tasks/pushNotificationConfig/set",
                    &format!(r#"{{"taskId":"x","pushNotificationConfig":{config}}}"#),
                ),
                // As the Python SDK and as the JavaScript SDK have it.
                old_rest(
                    Method::POST,
                    "/v1/tasks/x/pushNotificationConfigs",
                    &format!(
                        r#"{{"parent":"tasks/x","configId":"c","config":{{"name":"n","pushNotificationConfig":{config}}}}}"#
                    ),
                ),
                old_rest(
                    Method::POST,
                    "/v1/tasks/x/pushNotificationConfigs",
                    &format!(r#"{{"name":"n","pushNotificationConfig":{config}}}"#),
                ),
            ],
        ),
        (
            rpc("GetTaskPushNotificationConfig", r#"{"taskId":"x","id":"c"}"#),
            vec![
                old_rpc(
                    "tasks/pushNotificationConfig/get",
                    r#"{"id":"x","pushNotificationConfigId":"c"}"#,
                ),
                old_rest(Method::GET, "/v1/tasks/x/pushNotificationConfigs/c", ""),
            ],
        ),
        (
            rpc("ListTaskPushNotificationConfigs", r#"{"taskId":"x"}"#),
            vec![
                old_rpc("tasks/pushNotificationConfig/list", r#"{"id":"x"}"#),
                old_rest(Method::GET, "/v1/tasks/x/pushNotificationConfigs", ""),
                // Any one of them.
                old_rpc("tasks/pushNotificationConfig/get", r#"{"id":"x"}"#),
            ],
        ),
        (
            rpc("DeleteTaskPushNotificationConfig", r#"{"taskId":"x","id":"c"}"#),
            vec![
                old_rpc(
                    "tasks/pushNotificationConfig/delete",
                    r#"{"id":"x","pushNotificationConfigId":"c"}"#,
                ),
                old_rest(Method::DELETE, "/v1/tasks/x/pushNotificationConfigs/c", ""),
            ],
        ),
        (
            rpc("GetExtendedAgentCard", "{}"),
            vec![
                old(request(
                    Method::POST,
                    "/",
                    r#"{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}"#,
                )),
                old_rest(Method::GET, "/v1/card", ""),
            ],
        ),
    ]
}

/// BIND-EQUIV-001: each operation, over either binding of 0.3, is that of 1.0.
#[tokio::test]
async fn each_operation_of_0_3_asks_the_agent_for_what_that_of_1_0_does() {
    for (new, olds) in about_tasks().into_iter().chain(about_webhooks_and_the_card()) {
        let expected = asked(new).await;
        for old in olds {
            assert_eq!(asked(old.clone()).await, expected, "{old:?}");
        }
    }
}

/// As the Python SDK does it: over HTTP `false` is not sent, so absence is false there.
#[tokio::test]
async fn a_message_waits_unless_it_says_otherwise_and_over_http_if_it_says_so() {
    let message = r#""message":{"messageId":"m","role":"user","parts":[{"text":"t"}]}"#;
    for (configuration, rpc_waits, rest_waits) in [
        ("", true, false),
        (r#""configuration":{},"#, true, false),
        (r#""configuration":{"blocking":true},"#, true, true),
        (r#""configuration":{"blocking":false},"#, false, false),
    ] {
        let params = format!("{{{configuration}{message}}}");
        let waits = |asked: String| asked.contains("return_immediately: false");
        assert_eq!(waits(asked(old_rpc("message/send", &params)).await), rpc_waits);
        let rest = old_rest(Method::POST, "/v1/message:send", &params);
        assert_eq!(waits(asked(rest).await), rest_waits, "{params}");
    }
}

/// P3 in the shape of 0.3: the id that its server gives.
#[tokio::test]
async fn a_webhook_without_an_id_has_that_of_its_task() {
    let params = r#"{"taskId":"x","pushNotificationConfig":{"url":"https://e.com"}}"#;
    let asked = asked(old_rpc("tasks/pushNotificationConfig/set", params)).await;
    assert!(asked.contains(r#"id: Some("x"), task_id: Some("x")"#), "{asked}");
}

fn full_task() -> Task {
    let data = |json: &str| Part::new(Content::Data(JsonText::new(json.to_owned()).unwrap()));
    let mut task = task("t");
    task.history.truncate(1);
    task.history[0].parts.push(data(r#"{"kind":"text","state":1.0}"#));
    task.history[0].reference_task_ids = vec!["r".to_owned()];
    task.status = TaskStatus {
        state: TaskState::Canceled,
        message: Some(Message { role: Role::Agent, ..task.history[0].clone() }),
        timestamp: Some(Timestamp::from_micros(1_790_000_000_123_456)),
    };
    task.artifacts = vec![Artifact {
        artifact_id: "a".to_owned(),
        name: Some("n".to_owned()),
        description: None,
        parts: vec![
            Part {
                filename: Some("f".to_owned()),
                media_type: Some("x/y".to_owned()),
                metadata: Some(JsonObject::new(r#"{"k":1}"#.to_owned()).unwrap()),
                ..Part::new(Content::Raw(Base64::encode(b"tck")))
            },
            Part::new(Content::Url("https://e.com".to_owned())),
            data("[1]"),
        ],
        metadata: None,
        extensions: vec!["urn:x".to_owned()],
    }];
    task
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn a_task_says_its_kind_over_json_rpc_and_is_that_of_the_protobuf_over_http() {
    use super::super::v03::{Dialect, Old};
    let task = full_task();
    insta::assert_snapshot!(written(&Old(&task, Dialect::JsonRpc)), @r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"canceled","message":{"kind":"message","messageId":"one","role":"agent","parts":[{"kind":"text","text":"one"},{"kind":"data","data":{"kind":"text","state":1.0}}],"referenceTaskIds":["r"]},"timestamp":"2026-09-21T14:13:20.123Z"},"artifacts":[{"artifactId":"a","name":"n","parts":[{"kind":"file","file":{"bytes":"dGNr","name":"f","mimeType":"x/y"},"metadata":{"k":1}},{"kind":"file","file":{"uri":"https://e.com"}},{"kind":"data","data":{"value":[1]}}],"extensions":["urn:x"]}],"history":[{"kind":"message","messageId":"one","role":"user","parts":[{"kind":"text","text":"one"},{"kind":"data","data":{"kind":"text","state":1.0}}],"referenceTaskIds":["r"]}]}"#);
    insta::assert_snapshot!(written(&Old(&task, Dialect::Rest)), @r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED","message":{"messageId":"one","role":"ROLE_AGENT","content":[{"text":"one"},{"data":{"data":{"kind":"text","state":1.0}}}]},"timestamp":"2026-09-21T14:13:20.123Z"},"artifacts":[{"artifactId":"a","name":"n","parts":[{"file":{"fileWithBytes":"dGNr","name":"f","mimeType":"x/y"},"metadata":{"k":1}},{"file":{"fileWithUri":"https://e.com"}},{"data":{"data":{"value":[1]}}}],"extensions":["urn:x"]}],"history":[{"messageId":"one","role":"ROLE_USER","content":[{"text":"one"},{"data":{"data":{"kind":"text","state":1.0}}}]}]}"#);
}

#[test]
fn every_state_has_the_word_that_0_3_has_for_it() {
    use super::super::v03::{Dialect, Old};
    for state in TaskState::ALL {
        let status = TaskStatus { state: *state, message: None, timestamp: None };
        let word = state.as_str().replace('_', "-");
        assert_eq!(written(&Old(&status, Dialect::JsonRpc)), format!(r#"{{"state":"{word}"}}"#));
        let word = state.as_str().to_uppercase().replace("CANCELED", "CANCELLED");
        let word = format!(r#"{{"state":"TASK_STATE_{word}"}}"#);
        assert_eq!(written(&Old(&status, Dialect::Rest)), word);
    }
}

#[tokio::test]
async fn answers_have_the_envelope_of_their_binding() {
    let send =
        r#"{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"t"}]}}"#;
    let reply = ask(&agent(), old_rpc("message/send", send)).await;
    assert_eq!(reply.json()["result"]["kind"], "task");
    assert_eq!(reply.header("content-type"), "application/json");
    let reply = ask(&agent(), old_rest(Method::POST, "/v1/message:send", send)).await;
    assert_eq!(reply.json()["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(reply.header("content-type"), "application/json");
    let reply = ask(&agent(), old_rest(Method::GET, "/v1/tasks/x", "")).await;
    assert_eq!(reply.json()["history"][0]["content"][0]["text"], "one");
    for (method, params, result) in [
        (
            "tasks/pushNotificationConfig/get",
            r#"{"id":"x","pushNotificationConfigId":"c"}"#,
            r#"{"taskId":"x","pushNotificationConfig":{"id":"c","url":"https://example.com/hook"}}"#,
        ),
        ("tasks/pushNotificationConfig/list", r#"{"id":"x"}"#, "[]"),
        (
            "tasks/pushNotificationConfig/delete",
            r#"{"id":"x","pushNotificationConfigId":"c"}"#,
            "null",
        ),
    ] {
        let reply = ask(&agent(), old_rpc(method, params)).await;
        assert_eq!(reply.text, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    }
    for (method, path, result) in [
        (
            Method::GET,
            "/v1/tasks/x/pushNotificationConfigs/c",
            r#"{"name":"tasks/x/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":"https://example.com/hook"}}"#,
        ),
        (
            Method::GET,
            "/v1/tasks/x/pushNotificationConfigs",
            r#"{"configs":[],"nextPageToken":""}"#,
        ),
        (Method::DELETE, "/v1/tasks/x/pushNotificationConfigs/c", "{}"),
    ] {
        assert_eq!(ask(&agent(), old_rest(method, path, "")).await.text, result);
    }
    // There is none of which any could be given.
    let reply = ask(&agent(), old_rpc("tasks/pushNotificationConfig/get", r#"{"id":"x"}"#)).await;
    assert_eq!(reply.error().0, -32001);
}

/// E1 to E3 as clients of 0.3 read them.
#[tokio::test]
async fn errors_keep_their_numbers_and_a_method_that_streams_fails_in_a_stream() {
    for cause in Cause::ALL {
        let agent = || Arc::new(Agent::failing(A2aError::new(cause)));
        let code = i64::from(cause.code());
        let rpc = ask(&agent(), old_rpc("tasks/get", r#"{"id":"x"}"#)).await;
        assert_eq!((rpc.error().0, rpc.status), (code, cause.json_rpc_status()));
        let rest = ask(&agent(), old_rest(Method::GET, "/v1/tasks/x", "")).await;
        assert_eq!(rest.status, cause.http_status());
        assert_eq!(rest.header("content-type"), "application/json");
        assert_eq!(rest.json(), rpc.json()["error"], "{cause:?}");
        let stream = ask(&agent(), old_rpc("tasks/resubscribe", r#"{"id":"x"}"#)).await;
        if cause.json_rpc_status() == StatusCode::OK {
            assert_eq!(stream.header("content-type"), "text/event-stream");
            assert_eq!(stream.text, format!("data: {}\n\n", rpc.text));
        } else {
            assert_eq!((stream.status, stream.json()), (rpc.status, rpc.json()));
        }
        let stream = ask(&agent(), old_rest(Method::GET, "/v1/tasks/x:subscribe", "")).await;
        assert_eq!((stream.status, stream.json()), (rest.status, rest.json()));
    }
    let reply = ask(&agent(), old_rpc("message/stream", "{}")).await;
    assert!(reply.text.starts_with("data: {") && reply.text.contains("-32602"), "{reply:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_names_of_0_3() {
    let part = |part: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"user","parts":[{{"text":"t"}},{part}]}}}}"#
        )
    };
    let one = "a Part holds exactly one of text, file and data";
    for (params, field, description) in [
        ("{}".to_owned(), "message", "is required"),
        (part("{}"), "message.parts[1]", one),
        (part(r#"{"kind":"text"}"#), "message.parts[1]", one),
        (part(r#"{"text":"a","data":{}}"#), "message.parts[1]", one),
        (part(r#"{"file":{}}"#), "message.parts[1]", "a file has exactly one of bytes and uri"),
        (part(r#"{"file":{"bytes":"*"}}"#), "message.parts[1].file.bytes", "expected base64"),
        (part(r#"{"data":[]}"#), "message.parts[1].data", "expected an object"),
        (
            MESSAGE.replace(r#""role":"user""#, r#""role":"agent""#),
            "message.role",
            "is ROLE_USER in a client's message",
        ),
        (
            MESSAGE.replace(r#""historyLength":3"#, r#""historyLength":-1"#),
            "configuration.historyLength",
            "is not negative",
        ),
        (
            MESSAGE.replace(r#""schemes":["Bearer","Basic"]"#, r#""schemes":[]"#),
            "configuration.pushNotificationConfig.authentication.schemes[0]",
            "is required",
        ),
        (
            MESSAGE.replace(r#""token":"t""#, r#""token":"t\r\nX: y""#),
            "configuration.pushNotificationConfig.token",
            "holds more than printable ASCII",
        ),
    ] {
        let reply = ask(&agent(), old_rpc("message/send", &params)).await;
        let expected = serde_json::json!([{"field": field, "description": description}]);
        assert_eq!((reply.error().0, reply.violations()), (-32602, expected), "{params}");
    }
    let rest = r#"{"message":{"content":[]}}"#;
    let reply = ask(&agent(), old_rest(Method::POST, "/v1/message:send", rest)).await;
    let violations = reply.json()["data"][1]["fieldViolations"].clone();
    let fields: Vec<_> = violations.as_array().unwrap().iter().map(|v| &v["field"]).collect();
    assert_eq!(fields, ["message.messageId", "message.role", "message.content"]);
    for (method, params) in [
        ("tasks/get", "{}"),
        ("tasks/cancel", r#"{"id":""}"#),
        ("tasks/pushNotificationConfig/set", r#"{"taskId":"x"}"#),
        ("tasks/pushNotificationConfig/delete", r#"{"id":"x"}"#),
    ] {
        assert_eq!(ask(&agent(), old_rpc(method, params)).await.error().0, -32602, "{method}");
    }
}

#[tokio::test]
async fn what_0_3_does_not_have_is_not_there() {
    for (method, path) in [
        (Method::GET, "/v1/tasks"),
        (Method::GET, "/v1/extendedAgentCard"),
        (Method::GET, "/v1/nothing"),
        (Method::GET, "/v1"),
    ] {
        let reply = ask(&agent(), old_rest(method, path, "")).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["code"]), (404, &(-32601).into()));
    }
    let reply = ask(&agent(), old_rest(Method::PUT, "/v1/tasks/x", "")).await;
    assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, "GET"));
    assert_eq!(ask(&agent(), old_rpc("tasks/list", "{}")).await.error().0, -32601);
}
