//! B1 to B5 and E1 to E4: what each binding looks like on the wire.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::client::{
    Binding, NO_TASK, Raw, everywhere, kind, list, members, message, over, with,
};

#[tokio::test]
async fn b1_an_id_comes_back_as_it_was_sent() {
    over(Binding::JsonRpc, async |client| {
        let client = client.of("echo");
        let unknown = format!(r#""method":"GetTask","params":{{"id":"{NO_TASK}"}}"#);
        for id in [r#""a\u0062""#, "0", "-7", "12345678901234567890", "1.50", "null", r#""""#] {
            let answer = client.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},{unknown}}}"#)).await;
            assert!(answer.text.contains(&format!(r#""id":{id},"#)), "{id}: {}", answer.text);
            assert_eq!(answer.reason(), "TASK_NOT_FOUND", "{id}");
        }
        let silent = client.post(&format!(r#"{{"jsonrpc":"2.0",{unknown}}}"#)).await;
        assert_eq!(silent.json()["id"], Value::Null, "none counts as null");
        for id in ["{}", "[1]", "true"] {
            let answer = client.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},{unknown}}}"#)).await;
            assert_eq!(answer.reason(), "INVALID_REQUEST", "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn b1_what_is_no_json_rpc_request_is_told_what_it_is() {
    over(Binding::JsonRpc, async |client| {
        let client = client.of("echo");
        for (body, reason) in [
            ("", "PARSE_ERROR"),
            ("{", "PARSE_ERROR"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":}}"#, "PARSE_ERROR"),
            ("[]", "INVALID_REQUEST"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, "INVALID_REQUEST"),
            ("1", "INVALID_REQUEST"),
            ("{}", "INVALID_REQUEST"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, "INVALID_REQUEST"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "INVALID_REQUEST"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "INVALID_REQUEST"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"getTask"}"#, "METHOD_NOT_FOUND"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#, "METHOD_NOT_FOUND"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, "INVALID_PARAMS"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, "INVALID_PARAMS"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":"x"}"#, "INVALID_PARAMS"),
        ] {
            let answer = client.post(body).await;
            assert_eq!(answer.reason(), reason, "{body}");
            let known = reason != "PARSE_ERROR" && body.contains(r#""id":1"#);
            let id = if known && !body.starts_with('[') { json!(1) } else { Value::Null };
            assert_eq!(answer.json()["id"], id, "{body}");
        }
    })
    .await;
}

/// The exact address of the interface, and the same with a slash: both without a redirect, which
/// would lose the body in some clients.
#[tokio::test]
async fn b1_the_endpoint_is_there_with_and_without_a_slash() {
    over(Binding::JsonRpc, async |client| {
        let client = client.of("echo");
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": NO_TASK}});
        for slash in ["", "/"] {
            let answer = client.rest("POST", slash, &body.to_string()).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.reason(), "TASK_NOT_FOUND");
            let answer = client.rest("GET", slash, "").await;
            assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
            assert_eq!(answer.json()["error"]["data"][0]["reason"], "METHOD_NOT_ALLOWED");
        }
    })
    .await;
}

/// §2.3, 12: the type of the body is looked at before the body.
#[tokio::test]
async fn b1_b2_a_body_of_another_type_is_refused_whatever_is_in_it() {
    over(Binding::JsonRpc, async |client| {
        let client = client.of("echo");
        let call =
            json!({"jsonrpc": "2.0", "id": 5, "method": "GetTask", "params": {"id": NO_TASK}});
        for kind in ["text/plain", "application/xml", "application/jsonp", "multipart/form-data"] {
            let client = client.with("content-type", kind);
            let answer = client.rest("POST", "", &call.to_string()).await;
            assert_eq!(answer.reason(), "CONTENT_TYPE_NOT_SUPPORTED", "{kind}");
            assert_eq!(answer.json()["id"], 5, "{kind}");
            let answer = client.rest("POST", "", "not even JSON").await;
            assert_eq!(answer.reason(), "CONTENT_TYPE_NOT_SUPPORTED", "{kind}");
            let answer = client.rest("POST", "/message:send", "not even JSON").await;
            assert_eq!(answer.reason(), "CONTENT_TYPE_NOT_SUPPORTED", "{kind}");
        }
        for kind in ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
        {
            let client = client.with("content-type", kind);
            let answer = client.rest("POST", "", &call.to_string()).await;
            assert_eq!(answer.reason(), "TASK_NOT_FOUND", "{kind}");
            let sent = json!({"message": message("any")}).to_string();
            assert_eq!(client.rest("POST", "/message:send", &sent).await.status, 200, "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn b2_unknown_paths_and_wrong_verbs_get_errors_in_the_format_of_the_binding() {
    over(Binding::HttpJson, async |client| {
        let client = client.of("echo");
        for path in ["/nothing", "/tasks/a/b", "/message:fly", "/tasks/a/b/c/d/e"] {
            let answer = client.rest("GET", path, "").await;
            assert_eq!((answer.status, &*answer.reason()), (404, "METHOD_NOT_FOUND"), "{path}");
        }
        for (method, path, allowed) in [
            ("GET", "/message:send", "POST"),
            ("PUT", "/message:stream", "POST"),
            ("POST", "/tasks", "GET"),
            ("DELETE", "/tasks/a", "GET"),
            ("GET", "/tasks/a:cancel", "POST"),
            ("DELETE", "/tasks/a:subscribe", "GET, POST"),
            ("DELETE", "/tasks/a/pushNotificationConfigs", "GET, POST"),
            ("POST", "/tasks/a/pushNotificationConfigs/b", "GET, DELETE"),
            ("POST", "/extendedAgentCard", "GET"),
        ] {
            let answer = client.rest(method, path, "").await;
            let told = (answer.status, answer.header("allow"));
            assert_eq!(told, (405, allowed), "{method} {path}");
            assert_eq!(answer.reason(), "METHOD_NOT_ALLOWED", "{method} {path}");
        }
    })
    .await;
}

/// The paths end with or without a slash, the colon may be escaped, and subscribe takes GET as the
/// proto has it and POST as the text has it (§2.3, 4).
#[tokio::test]
async fn b2_every_spelling_of_a_path_leads_to_its_operation() {
    over(Binding::HttpJson, async |client| {
        let client = client.of("counter");
        for (method, path) in [
            ("POST", ":cancel"),
            ("POST", ":cancel/"),
            ("POST", "%3Acancel"),
            ("POST", "%3acancel"),
            ("GET", ":subscribe"),
            ("POST", ":subscribe"),
            ("GET", "%3Asubscribe"),
            ("GET", ""),
            ("GET", "/"),
        ] {
            let answer = client.rest(method, &format!("/tasks/{NO_TASK}{path}"), "").await;
            assert_eq!(answer.reason(), "TASK_NOT_FOUND", "{method} {path}");
        }
        let begun = client.submit(&message("go on")).await;
        let path = format!("/tasks/{}%3Acancel", begun["id"].as_str().unwrap());
        // No body, and a type all the same.
        let canceled =
            client.with("content-type", "application/json").rest("POST", &path, "").await;
        assert_eq!(canceled.status, 200, "{canceled:?}");
        assert_eq!(canceled.json()["status"]["state"], "TASK_STATE_CANCELED");
    })
    .await;
}

#[tokio::test]
async fn b3_a_query_that_cannot_be_read_is_refused_by_the_name_of_its_parameter() {
    over(Binding::HttpJson, async |client| {
        let client = client.of("echo");
        for (query, field) in [
            ("pageSize=0", "pageSize"),
            ("pageSize=101", "pageSize"),
            ("pageSize=-1", "pageSize"),
            ("pageSize=ten", "pageSize"),
            ("pageSize=1.5", "pageSize"),
            ("pageToken=no%20token", "pageToken"),
            ("historyLength=-1", "historyLength"),
            ("historyLength=x", "historyLength"),
            ("status=FOO", "status"),
            ("status=completed", "status"),
            ("includeArtifacts=maybe", "includeArtifacts"),
            ("statusTimestampAfter=yesterday", "statusTimestampAfter"),
            ("statusTimestampAfter=2026-13-01T00:00:00Z", "statusTimestampAfter"),
        ] {
            let answer = client.rest("GET", &format!("/tasks?{query}"), "").await;
            assert_eq!(answer.reason(), "INVALID_PARAMS", "{query}");
            assert!(answer.text.contains(&format!(r#""field":"{field}""#)), "{query}: {answer:?}");
        }
        for query in [
            "pageSize=7&includeArtifacts=true&historyLength=2",
            "page_size=7&include_artifacts=false",
            "status=TASK_STATE_COMPLETED&statusTimestampAfter=2026-01-01T00%3A00%3A00.000Z",
            "statusTimestampAfter=2026-01-01T00:00:00Z&unknown=x",
        ] {
            let answer = client.rest("GET", &format!("/tasks?{query}"), "").await;
            assert_eq!(answer.status, 200, "{query}: {answer:?}");
        }
    })
    .await;
}

/// §2.3, 11: camelCase, names of enumerations, timestamps in UTC with milliseconds.
#[tokio::test]
async fn b4_what_goes_out_is_in_the_one_form_of_the_protocol() {
    everywhere(async |client| {
        let task = client.of("echo").send(&message("m")).await;
        let time = task["status"]["timestamp"].as_str().unwrap();
        let shape: String =
            time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{time}");
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(task["history"][0]["role"], "ROLE_USER");
        assert!(!task.to_string().contains("null"), "what is not there is left out: {task}");
        names_are_in_camel_case(&task);
    })
    .await;
}

fn names_are_in_camel_case(value: &Value) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                assert!(!name.contains('_'), "{name}");
                // What a client or an agent put there is its own.
                if name != "data" && name != "metadata" {
                    names_are_in_camel_case(value);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(names_are_in_camel_case),
        _ => {}
    }
}

/// §2.3, 3: the names of the proto are read as well, and unknown ones are nobody's business.
#[tokio::test]
async fn b4_what_comes_in_may_have_any_form_that_protojson_allows() {
    everywhere(async |client| {
        let client = client.of("echo");
        let bytes = [0xfb, 0xff, 0xfe, 0x00, 0x3e];
        let known =
            with(message("m"), "context_id", format!("context-{}", message("c")["messageId"]));
        let raw = |text: String| json!({"raw": text, "media_type": "application/x-any"});
        let parts = json!([
            {"text": "one", "mediaType": null, "surprise": [1]},
            raw(BASE64_STANDARD.encode(bytes)),
            raw(BASE64_URL_SAFE_NO_PAD.encode(bytes)),
            {"data": {"snake_case": 1, "big": 9_007_199_254_740_993_u64, "none": null}},
            {"data": null},
        ]);
        let message = with(with(known, "parts", parts), "unknown_field", json!({"a": [1]}));
        let params = json!({
            "message": message,
            "configuration": {"history_length": 1, "return_immediately": false, "later": 1},
        });
        let task = client.ask("SendMessage", &params).await.unwrap()["task"].clone();
        assert_eq!(list(&task["history"]).len(), 1);
        let whole = client.task(&task["id"]).await;
        assert_eq!(whole["contextId"], message["context_id"]);
        let parts = list(&whole["history"][0]["parts"]);
        assert_eq!(parts[0], json!({"text": "one"}));
        for part in &parts[1..3] {
            let encoded = BASE64_STANDARD.encode(bytes);
            assert_eq!(part, &json!({"raw": encoded, "mediaType": "application/x-any"}));
        }
        assert_eq!(parts[3]["data"], message["parts"][3]["data"], "numbers stay as sent");
        assert_eq!(members(&parts[4]), ["data"], "null is content");
    })
    .await;
}

#[tokio::test]
async fn b5_a_task_made_over_one_binding_is_the_same_over_the_other() {
    everywhere(async |client| {
        let client = client.of("echo");
        let other = match client.binding {
            Binding::JsonRpc => client.over(Binding::HttpJson),
            Binding::HttpJson => client.over(Binding::JsonRpc),
        };
        let message = message("m");
        let task = client.send(&message).await;
        assert_eq!(other.task(&task["id"]).await, client.task(&task["id"]).await);
        assert_eq!(other.send(&message).await["id"], task["id"], "and so is its message");
        let mine = client.tasks(&json!({})).await;
        assert_eq!(other.tasks(&json!({})).await, mine);
        assert_eq!(list(&mine["tasks"])[0]["id"], task["id"]);
    })
    .await;
}

/// E1 to E3 are held by the client in every other test; here, that violations name their fields.
#[tokio::test]
async fn e3_every_wrong_field_is_named() {
    everywhere(async |client| {
        let client = client.of("echo");
        let params = json!({
            "message": {"role": "ROLE_AGENT", "parts": []},
            "configuration": {"historyLength": -1},
        });
        let refusal = client.refused("SendMessage", &params).await;
        assert_eq!(refusal.reason, "INVALID_PARAMS");
        for field in ["message.messageId", "message.role", "configuration.historyLength"] {
            assert!(refusal.fields.iter().any(|named| named == field), "{field}: {refusal:?}");
        }
    })
    .await;
}

/// E4: a client chooses its exception by the reason, so even answers that no operation gave have one.
#[tokio::test]
async fn e4_an_agent_that_is_not_there_has_an_error_with_a_reason_too() {
    everywhere(async |client| {
        for agent in ["nobody", "hidden"] {
            let client = client.of(agent);
            let answer: Raw = match client.binding {
                Binding::JsonRpc => client.call("GetTask", &json!({"id": NO_TASK})).await,
                Binding::HttpJson => client.rest("GET", &format!("/tasks/{NO_TASK}"), "").await,
            };
            assert_eq!(answer.status, 404, "{agent}: {answer:?}");
            assert!(answer.json().is_object(), "{agent}");
        }
    })
    .await;
}

/// §2.3, 15: a stream that cannot begin is an ordinary error.
#[tokio::test]
async fn s5_a_stream_that_cannot_begin_is_an_ordinary_error() {
    everywhere(async |client| {
        let client = client.of("echo");
        let refused = client.refused("SubscribeToTask", &json!({"id": NO_TASK})).await;
        assert_eq!(refused.reason, "TASK_NOT_FOUND");
        let refused = client.refused("SendStreamingMessage", &json!({"message": {}})).await;
        assert_eq!(refused.reason, "INVALID_PARAMS");
        let events = client.stream(&message("m")).await;
        assert_eq!(kind(&events[0]), "task");
    })
    .await;
}
