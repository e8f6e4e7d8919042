//! The one error of the protocol, and the one table that says how each binding shows it.
//!
//! **An error tells the client what to do differently and nothing about our insides**: an unknown
//! failure is "internal error" and the request's id. Who makes an [`A2aError`] from a failure of
//! ours logs that failure there; this type does not carry it.

use std::borrow::Cow;

use http::StatusCode;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// The `domain` of every `ErrorInfo`.
pub const DOMAIN: &str = "a2a-protocol.org";

/// What went wrong, in the protocol's own list (A2A §5.4) and that of JSON-RPC.
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
}

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
    pub const ALL: [Self; 15] = [
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
            Self::TaskNotFound => row(-32001, S::NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND", "task not found"),
            Self::TaskNotCancelable => row(-32002, S::BAD_REQUEST, REFUSED, "TASK_NOT_CANCELABLE", "the task cannot be canceled"),
            Self::PushNotificationNotSupported => row(-32003, S::BAD_REQUEST, REFUSED, "PUSH_NOTIFICATION_NOT_SUPPORTED", "push notifications are not supported"),
            Self::UnsupportedOperation => row(-32004, S::BAD_REQUEST, REFUSED, "UNSUPPORTED_OPERATION", "this operation is not supported"),
            Self::ContentTypeNotSupported => row(-32005, S::BAD_REQUEST, INVALID, "CONTENT_TYPE_NOT_SUPPORTED", "content type not supported"),
            Self::InvalidAgentResponse => row(-32006, S::INTERNAL_SERVER_ERROR, "INTERNAL", "INVALID_AGENT_RESPONSE", "the agent gave an invalid response"),
            Self::ExtendedAgentCardNotConfigured => row(-32007, S::BAD_REQUEST, REFUSED, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "there is no extended agent card"),
            Self::ExtensionSupportRequired => row(-32008, S::BAD_REQUEST, REFUSED, "EXTENSION_SUPPORT_REQUIRED", "a required extension was not requested"),
            Self::VersionNotSupported => row(-32009, S::BAD_REQUEST, REFUSED, "VERSION_NOT_SUPPORTED", "protocol version not supported"),
        }
    }

    /// The JSON-RPC error code.
    pub const fn code(self) -> i32 {
        self.row().code
    }

    /// The HTTP status of the HTTP+JSON binding. JSON-RPC answers with 200 whatever happened.
    pub const fn http_status(self) -> StatusCode {
        self.row().status
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
}

impl A2aError {
    /// With the cause's usual message.
    pub const fn new(cause: Cause) -> Self {
        Self {
            cause,
            message: Cow::Borrowed(cause.row().message),
            metadata: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// With words of its own. They go to the client: nothing of ours belongs into them.
    #[must_use]
    pub fn because(cause: Cause, message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), ..Self::new(cause) }
    }

    /// A failure of ours. `request_id` leads whoever operates the service to the log.
    pub fn internal(request_id: impl Into<String>) -> Self {
        Self::new(Cause::Internal).with("requestId", request_id)
    }

    /// Also for a task that belongs to someone else: the two cannot be told apart.
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

    /// The `error` member of a JSON-RPC response.
    pub(crate) const fn json_rpc(&self) -> impl Serialize + '_ {
        JsonRpcError(self)
    }

    /// The `google.rpc.Status` of the HTTP+JSON binding, below its `error` member.
    pub(crate) const fn rest(&self) -> impl Serialize + '_ {
        RestBody { error: RestError(self) }
    }
}

struct JsonRpcError<'a>(&'a A2aError);

impl Serialize for JsonRpcError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", &self.0.cause.code())?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("data", &Details(self.0))?;
        map.end()
    }
}

#[derive(serde::Serialize)]
struct RestBody<'a> {
    error: RestError<'a>,
}

struct RestError<'a>(&'a A2aError);

impl Serialize for RestError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("code", &self.0.cause.http_status().as_u16())?;
        map.serialize_entry("status", self.0.cause.grpc_name())?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("details", &Details(self.0))?;
        map.end()
    }
}

/// `ErrorInfo`, then `BadRequest` where fields are wrong (A2A §9.5, §11.6).
struct Details<'a>(&'a A2aError);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = Detail::ErrorInfo {
            reason: self.0.cause.reason(),
            domain: DOMAIN,
            metadata: Metadata(&self.0.metadata),
        };
        let bad_request = (!self.0.violations.is_empty())
            .then_some(Detail::BadRequest { field_violations: &self.0.violations });
        serializer.collect_seq([Some(info), bad_request].into_iter().flatten())
    }
}

#[derive(serde::Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        reason: &'static str,
        domain: &'static str,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata<'a>,
    },
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest", rename_all = "camelCase")]
    BadRequest { field_violations: &'a [FieldViolation] },
}

struct Metadata<'a>(&'a [(&'static str, String)]);

impl Metadata<'_> {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests;
