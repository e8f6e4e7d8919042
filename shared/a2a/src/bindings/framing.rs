//! How each binding writes an answer, an error and an event.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Answer, Body, version};
use crate::error::{A2aError, Cause};
use crate::operations::StreamEvent;
use crate::sse;

/// A binding, with what its answers must repeat of the request.
#[derive(Debug, Clone)]
pub(super) enum Framing {
    JsonRpc {
        /// As the client wrote it.
        id: Box<RawValue>,
    },
    Rest,
}

#[derive(Serialize)]
struct Success<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: &'a T,
}

#[derive(Serialize)]
struct Failure<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    error: T,
}

impl Framing {
    /// JSON-RPC that answers to `id`, or to nobody in particular.
    pub(super) fn json_rpc(id: Option<Box<RawValue>>) -> Self {
        Self::JsonRpc { id: id.unwrap_or_else(|| RawValue::NULL.to_owned()) }
    }

    pub(super) fn success(&self, answer: &Answer) -> Response<Body> {
        self.json(StatusCode::OK, Body::Full(self.success_json(answer).into()))
    }

    pub(super) fn failure(&self, error: &A2aError) -> Response<Body> {
        let status = match self {
            Self::JsonRpc { .. } => StatusCode::OK,
            Self::Rest => error.cause().http_status(),
        };
        self.json(status, Body::Full(self.failure_json(error).into()))
    }

    /// A response whose body is JSON, now or later.
    pub(super) fn json(&self, status: StatusCode, body: Body) -> Response<Body> {
        let content_type = match self {
            Self::JsonRpc { .. } => "application/json",
            Self::Rest => "application/a2a+json",
        };
        response(status, content_type, body)
    }

    pub(super) fn success_json(&self, answer: &Answer) -> Vec<u8> {
        self.result(answer)
    }

    pub(super) fn failure_json(&self, error: &A2aError) -> Vec<u8> {
        match self {
            Self::JsonRpc { id } => write(&Failure { jsonrpc: "2.0", id, error: error.json_rpc() }),
            Self::Rest => write(&error.rest()),
        }
    }

    pub(super) fn event(&self, event: &StreamEvent) -> Bytes {
        sse::frame(event.id, None, &self.result(&event.response))
    }

    /// The last event of a stream that broke.
    pub(super) fn error_event(&self, error: &A2aError) -> Bytes {
        let name = match self {
            Self::JsonRpc { .. } => None,
            Self::Rest => Some("error"),
        };
        sse::frame(None, name, &self.failure_json(error))
    }

    fn result<T: Serialize>(&self, result: &T) -> Vec<u8> {
        match self {
            Self::JsonRpc { id } => write(&Success { jsonrpc: "2.0", id, result }),
            Self::Rest => write(result),
        }
    }
}

/// A response that says which HTTP methods there are.
pub(super) fn not_allowed(framing: &Framing, allowed: &'static str) -> Response<Body> {
    let mut response = framing.failure(&A2aError::new(Cause::VerbNotAllowed));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(super) fn event_stream(body: Body) -> Response<Body> {
    let mut response = response(StatusCode::OK, "text/event-stream", body);
    // Proxies that gather bytes before they pass them on would undo the streaming.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Answers hold a client's work and signed links: nobody on the way keeps them.
fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(version::NAME_LOWER, HeaderValue::from_static(version::SUPPORTED));
    response
}

fn write<T: Serialize>(value: &T) -> Vec<u8> {
    // Strings, numbers and lists of them: there is no map key or number that JSON cannot hold.
    serde_json::to_vec(value).unwrap_or_else(|_| unreachable!("the protocol's types serialise"))
}
