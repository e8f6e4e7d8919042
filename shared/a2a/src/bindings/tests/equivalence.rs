//! B5: the same request over either binding means the same and fails the same.

use super::*;

/// A request for each operation over JSON-RPC, and its twin over HTTP+JSON.
fn twins() -> Vec<(Request<Bytes>, Request<Bytes>)> {
    let id = r#"{"id":"x"}"#;
    vec![
        (rpc("SendMessage", TEXT_MESSAGE), request(Method::POST, "/message:send", TEXT_MESSAGE)),
        (
            rpc("SendStreamingMessage", TEXT_MESSAGE),
            request(Method::POST, "/message:stream", TEXT_MESSAGE),
        ),
        (
            rpc("GetTask", r#"{"id":"x","historyLength":1}"#),
            request(Method::GET, "/tasks/x?historyLength=1", ""),
        ),
        (rpc("CancelTask", id), request(Method::POST, "/tasks/x:cancel", "")),
        (rpc("SubscribeToTask", id), request(Method::GET, "/tasks/x:subscribe", "")),
        (rpc("SubscribeToTask", id), request(Method::POST, "/tasks/x:subscribe", "{}")),
    ]
}

#[tokio::test]
async fn both_bindings_ask_the_same_of_the_agent() {
    for (rpc, rest) in twins() {
        let (one, other) = (agent(), agent());
        ask(&one, rpc).await;
        ask(&other, rest).await;
        let asked = one.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].starts_with("alice "));
        assert_eq!(*asked, *other.asked.lock().unwrap());
    }
}

#[tokio::test]
async fn both_bindings_give_the_same_answer() {
    for (rpc, rest) in twins() {
        let agents = || Arc::new(Agent::streaming(vec![Ok(event(1)), Ok(event(2))]));
        let (rpc, rest) = (ask(&agents(), rpc).await, ask(&agents(), rest).await);
        assert_eq!((rpc.status, rest.status), (StatusCode::OK, StatusCode::OK));
        if rpc.header("content-type") == "text/event-stream" {
            let wrapped = rest.text.replace("data: ", r#"data: {"jsonrpc":"2.0","id":1,"result":"#);
            assert_eq!(rpc.text, wrapped.replace("\n\n", "}\n\n"));
        } else {
            assert_eq!(rpc.json()["result"], rest.json());
        }
    }
}

/// E1, E2, E3: for every cause.
#[tokio::test]
async fn both_bindings_show_the_same_failure() {
    for cause in Cause::ALL {
        for (rpc, rest) in twins() {
            let agent = Arc::new(Agent::failing(A2aError::new(cause).with("k", "v")));
            let (rpc, rest) = (ask(&agent, rpc).await, ask(&agent, rest).await);
            assert_eq!((rpc.status, rest.status), (StatusCode::OK, cause.http_status()));
            assert_eq!(rpc.error(), (i64::from(cause.code()), cause.reason().to_owned()));
            let status = i64::from(cause.http_status().as_u16());
            assert_eq!(rest.error(), (status, cause.reason().to_owned()));
            let (rpc, rest) = (rpc.json(), rest.json());
            assert_eq!(rpc["error"]["data"], rest["error"]["details"]);
            assert_eq!(rpc["error"]["message"], rest["error"]["message"]);
            assert_eq!(rest["error"]["status"], cause.grpc_name());
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_parameters_is_said_the_same() {
    let bad = r#"{"message":{"parts":[]},"configuration":{"historyLength":-1}}"#;
    for (method, path) in
        [("SendMessage", "/message:send"), ("SendStreamingMessage", "/message:stream")]
    {
        let rpc = ask(&agent(), rpc(method, bad)).await;
        let rest = ask(&agent(), request(Method::POST, path, bad)).await;
        assert_eq!((rpc.error().0, rest.status), (-32602, StatusCode::BAD_REQUEST));
        assert_eq!(rpc.violations().as_array().unwrap().len(), 4);
        assert_eq!(rpc.violations(), rest.violations());
    }
}

/// P1, D7, publication scenario 9.
#[tokio::test]
async fn what_is_not_offered_says_so_over_both_bindings() {
    for (method, verb, path, code, reason) in [
        ("SendStreamingMessage", Method::POST, "/message:stream", -32004, "UNSUPPORTED_OPERATION"),
        ("SubscribeToTask", Method::GET, "/tasks/x:subscribe", -32004, "UNSUPPORTED_OPERATION"),
        (
            "GetExtendedAgentCard",
            Method::GET,
            "/extendedAgentCard",
            -32004,
            "UNSUPPORTED_OPERATION",
        ),
        (
            "CreateTaskPushNotificationConfig",
            Method::POST,
            "/tasks/x/pushNotificationConfigs",
            -32003,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
        (
            "GetTaskPushNotificationConfig",
            Method::GET,
            "/tasks/x/pushNotificationConfigs/y",
            -32003,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
        (
            "ListTaskPushNotificationConfigs",
            Method::GET,
            "/tasks/x/pushNotificationConfigs",
            -32003,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
        (
            "DeleteTaskPushNotificationConfig",
            Method::DELETE,
            "/tasks/x/pushNotificationConfigs/y",
            -32003,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
    ] {
        let nothing = Profile::default();
        let rpc = ask_offering(&nothing, &agent(), rpc(method, "{}")).await;
        assert_eq!(rpc.error(), (code, reason.to_owned()), "{method}");
        let rest = ask_offering(&nothing, &agent(), request(verb, path, "")).await;
        assert_eq!(rest.error(), (400, reason.to_owned()), "{path}");
    }
}

/// V1, V3.
#[tokio::test]
async fn a_version_is_taken_from_the_header_else_from_the_query() {
    for (header, query, spoken) in [
        (Some("1.0"), "", true),
        (Some("1.0.1"), "", true),
        (Some(" 1.0 "), "", true),
        (None, "A2A-Version=1.0", true),
        (None, "x=1&A2A-Version=1.0.7", true),
        (Some(""), "A2A-Version=1.0", true),
        (Some("1.0"), "A2A-Version=0.3", true),
        (None, "", false),
        (Some(""), "", false),
        (Some("0.3"), "", false),
        (Some("0.3"), "A2A-Version=1.0", false),
        (Some("1.1"), "", false),
        (Some("1"), "", false),
        (Some("2.0"), "", false),
        (Some("1.0.x"), "", false),
        (Some("1.0.0.0"), "", false),
        (Some("one"), "", false),
    ] {
        let versioned = |mut request: Request<Bytes>| {
            request.headers_mut().remove("a2a-version");
            if let Some(header) = header {
                request.headers_mut().insert("a2a-version", header.parse().unwrap());
            }
            let uri = format!("{}?{query}", request.uri().path());
            *request.uri_mut() = uri.parse().unwrap();
            request
        };
        let rpc = ask(&agent(), versioned(rpc("GetTask", r#"{"id":"x"}"#))).await;
        let rest = ask(&agent(), versioned(request(Method::GET, "/tasks/x", ""))).await;
        if spoken {
            assert_eq!(rpc.json()["result"]["id"], "x", "{header:?} {query}");
            assert_eq!(rest.json()["id"], "x", "{header:?} {query}");
        } else {
            let reason = "VERSION_NOT_SUPPORTED".to_owned();
            assert_eq!(rpc.error(), (-32009, reason.clone()), "{header:?} {query}");
            assert_eq!(rest.error(), (400, reason), "{header:?} {query}");
            let details = &rest.json()["error"]["details"][0];
            assert_eq!(details["metadata"]["supportedVersions"], "1.0");
        }
    }
}

/// X1.
#[tokio::test]
async fn unknown_extensions_are_ignored() {
    let mut request = rpc("GetTask", r#"{"id":"x"}"#);
    request.headers_mut().insert("a2a-extensions", "https://example.com/x".parse().unwrap());
    assert_eq!(ask(&agent(), request).await.json()["result"]["id"], "x");
}

/// O7.
#[tokio::test]
async fn a_sent_message_answers_with_as_much_history_as_was_asked_for() {
    let body = TEXT_MESSAGE.replacen('{', r#"{"configuration":{"historyLength":0},"#, 1);
    let rpc = ask(&agent(), rpc("SendMessage", &body)).await.json();
    let rest = ask(&agent(), request(Method::POST, "/message:send", &body)).await.json();
    assert_eq!(rpc["result"], rest);
    assert_eq!(rest["task"].get("history"), None);
}
