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
    ];
    assert_eq!(table.map(|(cause, ..)| cause), Cause::ALL);
    for (cause, code, status, grpc, reason) in table {
        let found = (cause.code(), cause.http_status().as_u16(), cause.grpc_name(), cause.reason());
        assert_eq!(found, (code, status, grpc, reason), "{cause:?}");
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
    insta::assert_snapshot!(json_rpc(&error), @r#"{"code":-32001,"message":"task not found","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}"#);
    insta::assert_snapshot!(rest(&error), @r#"{"error":{"code":404,"status":"NOT_FOUND","message":"task not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#);
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
