//! The one error of the protocol, and the one table that says how each binding shows it.
//!
//! **An error tells the client what to do differently and nothing about our insides**: an unknown
//! failure is "internal error" and the request's id. Who makes an [`A2aError`] from a failure of
//! ours logs that failure there; this type does not carry it.
//!
//! A request may fail before it reaches a binding, or in one of ours that is no operation of the
//! protocol. [`A2aError::response`] is the answer then, so that every error of the service has one
//! shape. The API gateway in front answers some requests alone; its answers have that shape as well
//! (`events/http/a2a-http-json-error-*.json`).

mod body;

use std::borrow::Cow;

use http::StatusCode;

/// The `domain` of every `ErrorInfo`.
pub const DOMAIN: &str = "a2a-protocol.org";

/// What went wrong, in the protocol's own list (A2A §5.4), that of JSON-RPC, and that of HTTP where
/// neither has a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The body is not JSON.
    Parse,
    /// JSON, but not a request of this binding.
    InvalidRequest,
    /// No such JSON-RPC method, no such path.
    MethodNotFound,
    /// The path exists, and not with this HTTP method.
    VerbNotAllowed,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    /// Nobody knows who asks.
    Unauthenticated,
    /// It is known who asks, and that is not enough.
    PermissionDenied,
    PayloadTooLarge,
    /// Too many requests, or too much of something else at once.
    ResourceExhausted,
    Unavailable,
    /// The answer took longer than whatever is in front of us waits.
    DeadlineExceeded,
}

/// The JSON-RPC code of what only HTTP has a word for: a server error without a meaning of its own.
const HTTP_ONLY: i32 = -32000;

/// One row of the table.
struct Row {
    code: i32,
    status: StatusCode,
    grpc: &'static str,
    reason: &'static str,
    message: &'static str,
}

const fn row(
    code: i32,
    status: StatusCode,
    grpc: &'static str,
    reason: &'static str,
    message: &'static str,
) -> Row {
    Row { code, status, grpc, reason, message }
}

impl Cause {
    pub const ALL: [Self; 21] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::VerbNotAllowed,
        Self::InvalidParams,
        Self::Internal,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::PayloadTooLarge,
        Self::ResourceExhausted,
        Self::Unavailable,
        Self::DeadlineExceeded,
    ];

    #[rustfmt::skip] // a table reads better with one line per row
    const fn row(self) -> Row {
        use StatusCode as S;
        const INVALID: &str = "INVALID_ARGUMENT";
        const REFUSED: &str = "FAILED_PRECONDITION";
        match self {
            Self::Parse => row(-32700, S::BAD_REQUEST, INVALID, "PARSE_ERROR", "the body is not JSON"),
            Self::InvalidRequest => row(-32600, S::BAD_REQUEST, INVALID, "INVALID_REQUEST", "invalid request"),
            Self::MethodNotFound => row(-32601, S::NOT_FOUND, "NOT_FOUND", "METHOD_NOT_FOUND", "method not found"),
            Self::VerbNotAllowed => row(-32601, S::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", "method not allowed"),
            Self::InvalidParams => row(-32602, S::BAD_REQUEST, INVALID, "INVALID_PARAMS", "invalid parameters"),
            Self::Internal => row(-32603, S::INTERNAL_SERVER_ERROR, "INTERNAL", "INTERNAL_ERROR", "internal error"),
            Self::TaskNotFound => row(-32001, S::NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND", "task or tenant not found"),
            Self::TaskNotCancelable => row(-32002, S::BAD_REQUEST, REFUSED, "TASK_NOT_CANCELABLE", "the task cannot be canceled"),
            Self::PushNotificationNotSupported => row(-32003, S::BAD_REQUEST, REFUSED, "PUSH_NOTIFICATION_NOT_SUPPORTED", "push notifications are not supported"),
            Self::UnsupportedOperation => row(-32004, S::BAD_REQUEST, REFUSED, "UNSUPPORTED_OPERATION", "this operation is not supported"),
            Self::ContentTypeNotSupported => row(-32005, S::BAD_REQUEST, INVALID, "CONTENT_TYPE_NOT_SUPPORTED", "content type not supported"),
            Self::InvalidAgentResponse => row(-32006, S::INTERNAL_SERVER_ERROR, "INTERNAL", "INVALID_AGENT_RESPONSE", "the agent gave an invalid response"),
            Self::ExtendedAgentCardNotConfigured => row(-32007, S::BAD_REQUEST, REFUSED, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "there is no extended agent card"),
            Self::ExtensionSupportRequired => row(-32008, S::BAD_REQUEST, REFUSED, "EXTENSION_SUPPORT_REQUIRED", "a required extension was not requested"),
            Self::VersionNotSupported => row(-32009, S::BAD_REQUEST, REFUSED, "VERSION_NOT_SUPPORTED", "protocol version not supported"),
            Self::Unauthenticated => row(HTTP_ONLY, S::UNAUTHORIZED, "UNAUTHENTICATED", "UNAUTHENTICATED", "authentication is required"),
            Self::PermissionDenied => row(HTTP_ONLY, S::FORBIDDEN, "PERMISSION_DENIED", "PERMISSION_DENIED", "permission denied"),
            Self::PayloadTooLarge => row(HTTP_ONLY, S::PAYLOAD_TOO_LARGE, INVALID, "PAYLOAD_TOO_LARGE", "the request is too large"),
            Self::ResourceExhausted => row(HTTP_ONLY, S::TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "too many requests"),
            Self::Unavailable => row(HTTP_ONLY, S::SERVICE_UNAVAILABLE, "UNAVAILABLE", "UNAVAILABLE", "the service is not available"),
            Self::DeadlineExceeded => row(HTTP_ONLY, S::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "the answer took too long"),
        }
    }

    /// The JSON-RPC error code.
    pub const fn code(self) -> i32 {
        self.row().code
    }

    /// The HTTP status of the HTTP+JSON binding.
    pub const fn http_status(self) -> StatusCode {
        self.row().status
    }

    /// The HTTP status of JSON-RPC: 200, unless what went wrong is the business of HTTP itself
    /// (who asks, how much, how often), where proxies and clients act by the status.
    pub const fn json_rpc_status(self) -> StatusCode {
        if self.code() == HTTP_ONLY { self.http_status() } else { StatusCode::OK }
    }

    /// The `google.rpc.Code` by name.
    pub const fn grpc_name(self) -> &'static str {
        self.row().grpc
    }

    /// The `reason` of `ErrorInfo`, by which clients choose their exception.
    pub const fn reason(self) -> &'static str {
        self.row().reason
    }
}

/// One field that is wrong, by its JSON path within the parameters.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FieldViolation {
    pub field: String,
    pub description: Cow<'static, str>,
}

/// An operation's refusal or failure, as both bindings show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct A2aError {
    cause: Cause,
    message: Cow<'static, str>,
    metadata: Vec<(&'static str, String)>,
    violations: Vec<FieldViolation>,
    /// In seconds.
    retry_after: Option<u32>,
    challenge: Option<Cow<'static, str>>,
}

impl A2aError {
    /// With the cause's usual message.
    pub const fn new(cause: Cause) -> Self {
        Self {
            cause,
            message: Cow::Borrowed(cause.row().message),
            metadata: Vec::new(),
            violations: Vec::new(),
            retry_after: None,
            challenge: None,
        }
    }

    /// With words of its own. They go to the client: nothing of ours belongs into them.
    #[must_use]
    pub fn because(cause: Cause, message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), ..Self::new(cause) }
    }

    /// A failure of ours. `request_id` leads whoever operates the service to the log.
    pub fn internal(request_id: impl Into<String>) -> Self {
        Self::new(Cause::Internal).of_request(request_id)
    }

    /// Nobody knows who asks. `challenge` is the `WWW-Authenticate` that says how to tell
    /// (RFC 9110 §11.6.1); one that is no header's value is left out.
    pub fn unauthenticated(challenge: impl Into<Cow<'static, str>>) -> Self {
        Self { challenge: Some(challenge.into()), ..Self::new(Cause::Unauthenticated) }
    }

    /// Says when it may go better: the `Retry-After` of the response, and a `RetryInfo`.
    #[must_use]
    pub const fn retry_after_seconds(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Says which request failed, for whoever operates the service. One that is said already stays.
    #[must_use]
    pub fn of_request(self, request_id: impl Into<String>) -> Self {
        if self.metadata.iter().any(|(key, _)| *key == REQUEST_ID) {
            return self;
        }
        self.with(REQUEST_ID, request_id)
    }

    /// Also for a task that belongs to someone else, and for a tenant that the agent does not have: they
    /// cannot be told apart.
    pub const fn task_not_found() -> Self {
        Self::new(Cause::TaskNotFound)
    }

    /// Parameters with one wrong field.
    pub fn invalid(field: impl Into<String>, description: impl Into<Cow<'static, str>>) -> Self {
        let violation = FieldViolation { field: field.into(), description: description.into() };
        Self::invalid_fields(vec![violation])
    }

    /// Parameters with several wrong fields.
    pub fn invalid_fields(violations: Vec<FieldViolation>) -> Self {
        let message = match violations.as_slice() {
            [only] if only.field.is_empty() => only.description.clone(),
            [only] => Cow::Owned(format!("{}: {}", only.field, only.description)),
            _ => Cow::Borrowed(Cause::InvalidParams.row().message),
        };
        Self { message, violations, ..Self::new(Cause::InvalidParams) }
    }

    /// Names the fields that it is about.
    #[must_use]
    pub fn at(self, violations: Vec<FieldViolation>) -> Self {
        Self { violations, ..self }
    }

    /// Adds an entry to the `metadata` of `ErrorInfo`.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    pub const fn cause(&self) -> Cause {
        self.cause
    }

    pub fn violations(&self) -> &[FieldViolation] {
        &self.violations
    }
}

/// The key of [`A2aError::of_request`] in `ErrorInfo`.
const REQUEST_ID: &str = "requestId";

#[cfg(test)]
mod tests;
