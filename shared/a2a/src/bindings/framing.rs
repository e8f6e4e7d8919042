//! How each binding writes an answer, an error and an event, in each version.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use super::v03::{self, Dialect, Old};
use super::version::{self, Version};
use super::{Answer, Body, extensions};
use crate::card;
use crate::error::{A2aError, Cause};
use crate::operations::StreamEvent;
use crate::sse;
use crate::types::StreamResponse;

/// A binding in a version, with what its answers must repeat of the request.
#[derive(Debug, Clone)]
pub(super) struct Framing {
    binding: Binding,
    version: Version,
    /// Whether what was asked for is a stream.
    streams: bool,
    /// The extensions that are active, as their header says it.
    extensions: Option<HeaderValue>,
}

#[derive(Debug, Clone)]
enum Binding {
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
    pub(super) fn json_rpc(id: Option<Box<RawValue>>, version: Version) -> Self {
        let id = id.unwrap_or_else(|| RawValue::NULL.to_owned());
        Self { binding: Binding::JsonRpc { id }, version, streams: false, extensions: None }
    }

    pub(super) const fn rest(version: Version) -> Self {
        Self { binding: Binding::Rest, version, streams: false, extensions: None }
    }

    /// The same, in answer to a request for a stream.
    pub(super) const fn streaming(mut self, streams: bool) -> Self {
        self.streams = streams;
        self
    }

    /// The same, with these extensions active.
    pub(super) fn with_extensions(mut self, activated: &[&str]) -> Self {
        self.extensions = extensions::echo(activated);
        self
    }

    pub(super) fn success(&self, answer: &Answer) -> Response<Body> {
        let mut response = self.json(StatusCode::OK, Body::Full(self.success_json(answer).into()));
        if let Answer::Card(_) = answer {
            // A card holds no work, and says the same for a while; to others it may say something
            // else (A2A §13.3).
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(card::FRESH));
            headers.insert(VARY, HeaderValue::from_static("authorization"));
        }
        response
    }

    pub(super) fn failure(&self, error: &A2aError) -> Response<Body> {
        let (rpc, cause) = (self.is_json_rpc(), error.cause());
        let status = if rpc { cause.json_rpc_status() } else { cause.http_status() };
        let mut response = if rpc && self.streams && self.is_old() && status == StatusCode::OK {
            // Clients of 0.3 take nothing but a stream from a method that streams.
            self.event_stream(Body::Full(self.error_event(error)))
        } else {
            self.json(status, Body::Full(self.failure_json(error).into()))
        };
        error.set_headers(response.headers_mut());
        response
    }

    /// A response that says which HTTP methods there are.
    pub(super) fn not_allowed(&self, allowed: &'static str) -> Response<Body> {
        let mut response = self.failure(&A2aError::new(Cause::VerbNotAllowed));
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        response
    }

    /// A response whose body is JSON, now or later.
    pub(super) fn json(&self, status: StatusCode, body: Body) -> Response<Body> {
        let content_type = match (&self.binding, self.version) {
            (Binding::Rest, Version::V10) => "application/a2a+json",
            _ => "application/json",
        };
        self.response(status, content_type, body)
    }

    pub(super) fn event_stream(&self, body: Body) -> Response<Body> {
        let mut response = self.response(StatusCode::OK, "text/event-stream", body);
        // Proxies that gather bytes before they pass them on would undo the streaming.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    /// Answers hold a client's work and signed links: nobody on the way keeps them.
    fn response(
        &self,
        status: StatusCode,
        content_type: &'static str,
        body: Body,
    ) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(version::NAME_LOWER, HeaderValue::from_static(self.version.as_str()));
        if let Some(extensions) = &self.extensions {
            let name = HeaderName::from_static(extensions::echo_name(self.version));
            headers.insert(name, extensions.clone());
        }
        response
    }

    pub(super) fn success_json(&self, answer: &Answer) -> Vec<u8> {
        match self.version {
            Version::V10 => self.result(answer),
            Version::V03 => self.result(&Old(answer, self.dialect())),
        }
    }

    pub(super) fn failure_json(&self, error: &A2aError) -> Vec<u8> {
        match (&self.binding, self.version) {
            (Binding::JsonRpc { id }, _) => {
                write(&Failure { jsonrpc: "2.0", id, error: error.json_rpc() })
            }
            (Binding::Rest, Version::V10) => write(&error.rest()),
            // Where there is an envelope in JSON-RPC, 0.3 has none over HTTP.
            (Binding::Rest, Version::V03) => write(&error.json_rpc()),
        }
    }

    pub(super) fn event(&self, event: &StreamEvent) -> Bytes {
        let json = match self.version {
            Version::V10 => self.result(&event.response),
            Version::V03 => self.result(&Old(&event.response, self.dialect())),
        };
        sse::frame(event.id, None, &json)
    }

    /// Whether nothing may follow this event. 0.3 closes a stream where it needs the client.
    pub(super) fn is_last(&self, event: &StreamResponse) -> bool {
        self.is_old() && v03::is_final(event)
    }

    /// The last event of a stream that broke.
    pub(super) fn error_event(&self, error: &A2aError) -> Bytes {
        let name = match self.binding {
            Binding::JsonRpc { .. } => None,
            Binding::Rest => Some("error"),
        };
        sse::frame(None, name, &self.failure_json(error))
    }

    fn result<T: Serialize>(&self, result: &T) -> Vec<u8> {
        match &self.binding {
            Binding::JsonRpc { id } => write(&Success { jsonrpc: "2.0", id, result }),
            Binding::Rest => write(result),
        }
    }

    const fn is_json_rpc(&self) -> bool {
        matches!(self.binding, Binding::JsonRpc { .. })
    }

    const fn is_old(&self) -> bool {
        matches!(self.version, Version::V03)
    }

    const fn dialect(&self) -> Dialect {
        match self.binding {
            Binding::JsonRpc { .. } => Dialect::JsonRpc,
            Binding::Rest => Dialect::Rest,
        }
    }
}

fn write<T: Serialize>(value: &T) -> Vec<u8> {
    // Strings, numbers and lists of them: there is no map key or number that JSON cannot hold.
    serde_json::to_vec(value).unwrap_or_else(|_| unreachable!("the protocol's types serialise"))
}
