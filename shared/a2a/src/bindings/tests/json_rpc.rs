use super::*;

async fn body(body: &str) -> Reply {
    ask(&agent(), request(Method::POST, "/", body)).await
}

/// B1.
#[tokio::test]
async fn an_id_comes_back_as_it_was_written() {
    for id in [r#""a""#, r#""\u0041 😀""#, "1", "-7", "1.5", "1e2", "null", "123456789012345678901"]
    {
        let reply = body(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"t"}}}}"#
        ))
        .await;
        assert!(
            reply.text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
            "{reply:?}"
        );
    }
    let reply = body(r#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}"#).await;
    assert!(reply.text.starts_with(r#"{"jsonrpc":"2.0","id":null,"result":"#), "{reply:?}");
}

/// B1, publication scenario 7.
#[tokio::test]
async fn what_is_no_request_is_refused_in_the_order_of_the_checks() {
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"GetTask"}}"#, "x".repeat(1023));
    for (text, code, id) in [
        ("", -32700, "null"),
        ("{", -32700, "null"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"} x"#, -32700, "null"),
        ("[]", -32600, "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, -32600, "null"),
        ("5", -32600, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, -32600, "null"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#, -32600, "null"),
        (&long_id, -32600, "null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600, "1"),
        (r#"{"id":1,"method":"GetTask"}"#, -32600, "1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}"#, -32601, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"getTask","params":{}}"#, -32601, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, -32602, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":null}"#, -32602, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, -32602, "1"),
    ] {
        let reply = body(text).await;
        assert_eq!((reply.error().0, reply.status), (code, StatusCode::OK), "{text}");
        assert_eq!(reply.json()["id"].to_string(), id, "{text}");
        assert_eq!(reply.header("content-type"), "application/json");
        assert_eq!(reply.header("a2a-version"), "1.0");
    }
    let bytes = Request::post("/").header("content-type", "application/json");
    let reply = ask(&agent(), bytes.body(Bytes::from_static(b"{\"a\":\"\xff\"}")).unwrap()).await;
    assert_eq!(reply.error().0, -32700);
}

/// The content type comes first, and the id is still told.
#[tokio::test]
async fn a_body_that_does_not_claim_to_be_json_is_not_read() {
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]
    {
        for (body, id) in [(r#"{"id":"a","method":"GetTask"}"#, r#""a""#), ("{", "null")] {
            let mut request = request(Method::POST, "/", body);
            request.headers_mut().insert("content-type", content_type.parse().unwrap());
            let reply = ask(&agent(), request).await;
            assert_eq!((reply.error().0, reply.status), (-32005, StatusCode::OK));
            assert_eq!(reply.json()["id"].to_string(), id);
        }
    }
    let mut request = rpc("GetTask", r#"{"id":"t"}"#);
    request
        .headers_mut()
        .insert("content-type", "Application/JSON ; charset=utf-8".parse().unwrap());
    assert_eq!(ask(&agent(), request).await.json()["result"]["id"], "t");
}

#[tokio::test]
async fn the_endpoint_answers_with_and_without_a_slash_and_only_to_post() {
    for path in ["", "/", "//"] {
        let response =
            serve(agent(), "alice", &profile(), path, rpc("GetTask", r#"{"id":"t"}"#)).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
    let reply = ask(&agent(), request(Method::GET, "/", "")).await;
    assert_eq!((reply.status, reply.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    assert_eq!(reply.json()["id"], Value::Null);
}

#[tokio::test]
async fn a_result_is_wrapped_where_it_is_a_union_and_bare_where_it_is_not() {
    let sent = ask(&agent(), rpc("SendMessage", TEXT_MESSAGE)).await;
    assert_eq!(sent.json()["result"]["task"]["id"], "t");
    for method in ["GetTask", "CancelTask"] {
        let reply = ask(&agent(), rpc(method, r#"{"id":"x"}"#)).await;
        assert_eq!(reply.json()["result"]["id"], "x");
    }
}
