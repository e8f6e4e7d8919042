use super::*;

/// E1: the numbers of A2A §5.4, and those of JSON-RPC.
#[test]
fn each_cause_has_the_numbers_and_words_of_the_specification() {
    use Cause as C;
    let table = [
        (C::Parse, -32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"),
        (C::InvalidRequest, -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        (C::MethodNotFound, -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
        (C::VerbNotAllowed, -32601, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED"),
        (C::InvalidParams, -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        (C::Internal, -32603, 500, "INTERNAL", "INTERNAL_ERROR"),
        (C::TaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        (C::TaskNotCancelable, -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
        (
            C::PushNotificationNotSupported,
            -32003,
            400,
            "FAILED_PRECONDITION",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
        (C::UnsupportedOperation, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
        (C::ContentTypeNotSupported, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        (C::InvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
        (
            C::ExtendedAgentCardNotConfigured,
            -32007,
            400,
            "FAILED_PRECONDITION",
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        ),
        (
            C::ExtensionSupportRequired,
            -32008,
            400,
            "FAILED_PRECONDITION",
            "EXTENSION_SUPPORT_REQUIRED",
        ),
        (C::VersionNotSupported, -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        (C::Unauthenticated, -32000, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
        (C::PermissionDenied, -32000, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
        (C::PayloadTooLarge, -32000, 413, "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE"),
        (C::ResourceExhausted, -32000, 429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
        (C::Unavailable, -32000, 503, "UNAVAILABLE", "UNAVAILABLE"),
        (C::DeadlineExceeded, -32000, 504, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"),
    ];
    assert_eq!(table.map(|(cause, ..)| cause), Cause::ALL);
    for (cause, code, status, grpc, reason) in table {
        let found = (cause.code(), cause.http_status().as_u16(), cause.grpc_name(), cause.reason());
        assert_eq!(found, (code, status, grpc, reason), "{cause:?}");
        // A2: what is the business of HTTP itself has its status over JSON-RPC as well.
        let json_rpc = if code == -32000 { status } else { 200 };
        assert_eq!(cause.json_rpc_status().as_u16(), json_rpc, "{cause:?}");
    }
}

fn json_rpc(error: &A2aError) -> String {
    serde_json::to_string(&error.json_rpc()).unwrap()
}

fn rest(error: &A2aError) -> String {
    serde_json::to_string(&error.rest()).unwrap()
}

/// E2, E3.
#[test]
fn both_bindings_show_an_error_with_its_typed_details() {
    let error = A2aError::task_not_found();
    insta::assert_snapshot!(json_rpc(&error), @r#"{"code":-32001,"message":"task or tenant not found","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}"#);
    insta::assert_snapshot!(rest(&error), @r#"{"error":{"code":404,"status":"NOT_FOUND","message":"task or tenant not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#);
}

/// E3.
#[test]
fn wrong_fields_are_listed() {
    let violation =
        |field: &str| FieldViolation { field: field.to_owned(), description: "is required".into() };
    let error =
        A2aError::invalid_fields(vec![violation("message.role"), violation("message.parts")]);
    insta::assert_snapshot!(json_rpc(&error), @r#"{"code":-32602,"message":"invalid parameters","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.role","description":"is required"},{"field":"message.parts","description":"is required"}]}]}"#);
    assert_eq!(A2aError::invalid("id", "is required").to_string(), "id: is required");
}

#[test]
fn a_failure_of_ours_says_internal_error_and_the_request_id() {
    let error = A2aError::internal("req-7");
    insta::assert_snapshot!(rest(&error), @r#"{"error":{"code":500,"status":"INTERNAL","message":"internal error","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"requestId":"req-7"}}]}}"#);
}

/// E1: 429 with `Retry-After`, 401 with `WWW-Authenticate`.
#[test]
fn an_answer_outside_of_a_binding_says_the_same_in_headers_and_body() {
    let response =
        A2aError::new(Cause::ResourceExhausted).retry_after_seconds(7).of_request("r").response();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    insta::assert_snapshot!(std::str::from_utf8(response.body()).unwrap(), @r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"too many requests","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"requestId":"r"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}"#);
    let response = A2aError::unauthenticated("Bearer realm=\"a2a\"").response();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"a2a\"");
    let response = A2aError::unauthenticated("not\na header").response();
    assert_eq!(response.headers().get("www-authenticate"), None);
}

#[test]
fn an_error_keeps_the_request_that_it_was_first_said_to_belong_to() {
    let error = A2aError::internal("first").of_request("second");
    assert_eq!(error, A2aError::internal("first"));
    let named = rest(&A2aError::task_not_found().of_request("first"));
    assert!(named.contains(r#""metadata":{"requestId":"first"}"#), "{named}");
}

/// E4: what the gateway answers without us reads as if it came from us.
#[test]
fn the_samples_of_errors_are_what_this_code_writes() {
    let id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef";
    for (name, error) in [
        ("401", A2aError::new(Cause::Unauthenticated)),
        ("403", A2aError::new(Cause::PermissionDenied)),
        ("413", A2aError::new(Cause::PayloadTooLarge)),
        ("429", A2aError::new(Cause::ResourceExhausted)),
        ("500", A2aError::new(Cause::Internal)),
        ("503", A2aError::new(Cause::Unavailable)),
        ("504", A2aError::new(Cause::DeadlineExceeded)),
    ] {
        assert_eq!(error.cause().http_status().as_str(), name);
        let sample = sample(&format!("a2a-http-json-error-{name}"));
        let written: serde_json::Value =
            serde_json::from_slice(&error.of_request(id).body()).unwrap();
        assert_eq!(sample, written, "{name}");
    }
    let not_found = A2aError::task_not_found();
    assert_eq!(sample("a2a-http-json-error"), serde_json::to_value(not_found.rest()).unwrap());
    let in_rpc = sample("a2a-json-rpc-error");
    assert_eq!(in_rpc["error"], serde_json::to_value(not_found.json_rpc()).unwrap());
}

fn sample(name: &str) -> serde_json::Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../events/http");
    serde_json::from_slice(&std::fs::read(format!("{folder}/{name}.json")).unwrap()).unwrap()
}
