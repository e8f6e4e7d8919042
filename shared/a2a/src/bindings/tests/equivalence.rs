//! B5, E1 to E3: the same request over either binding means the same and fails the same.

mod table;

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
            assert_eq!((rpc.status, rest.status), (cause.json_rpc_status(), cause.http_status()));
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

/// O7.
#[tokio::test]
async fn a_sent_message_answers_with_as_much_history_as_was_asked_for() {
    let body = TEXT_MESSAGE.replacen('{', r#"{"configuration":{"historyLength":0},"#, 1);
    let rpc = ask(&agent(), rpc("SendMessage", &body)).await.json();
    let rest = ask(&agent(), request(Method::POST, "/message:send", &body)).await.json();
    assert_eq!(rpc["result"], rest);
    assert_eq!(rest["task"].get("history"), None);
}

/// E1, A2: for those who act by headers.
#[tokio::test]
async fn both_bindings_say_when_to_come_back_and_how_to_sign_in() {
    let busy = || A2aError::new(Cause::ResourceExhausted).retry_after_seconds(3);
    let unknown = || A2aError::unauthenticated("Bearer");
    for (rpc, rest) in twins() {
        for request in [rpc, rest] {
            let reply = ask(&Arc::new(Agent::failing(busy())), request.clone()).await;
            assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, "3"));
            let reply = ask(&Arc::new(Agent::failing(unknown())), request).await;
            assert_eq!((reply.status.as_u16(), reply.header("www-authenticate")), (401, "Bearer"));
        }
    }
}
