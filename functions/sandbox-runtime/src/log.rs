//! One line of JSON for each request: route, status, time, sizes, id. **Never a path, a command, a
//! variable or a body.**

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, header};
use hyper::body::Body as _;
use sandbox_protocol::headers;

use crate::clock;
use crate::workspace::draft::random;

/// Where the lines go.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Box<dyn Write + Send>>>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    pub(crate) fn new(to: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    pub(crate) fn line(&self, value: &serde_json::Value) {
        let mut line = value.to_string();
        line.push('\n');
        // A log that cannot be written changes no result.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}

/// Answers with the request's id, and logs it.
pub(crate) async fn each(State(log): State<Log>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let id = request_id(&request);
    let length = |headers: &http::HeaderMap| {
        headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok()
    };
    let bytes_in = length(request.headers());
    request.headers_mut().remove(headers::REQUEST_ID);
    let mut response = next.run(request).await;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(headers::REQUEST_ID, id);
    }
    log.line(&serde_json::json!({
        "time": clock::now_ms(),
        "method": method.as_str(),
        "route": route.as_ref().map_or("none", MatchedPath::as_str),
        "status": response.status().as_u16(),
        "ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "bytes_in": bytes_in,
        "bytes_out": response.body().size_hint().exact(),
        "request.id": id,
    }));
    response
}

/// The caller's id, if it is a short plain word; otherwise one of ours.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(headers::REQUEST_ID).and_then(|id| id.to_str().ok());
    let plain = |id: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(allowed)
    };
    given.filter(plain).map_or_else(|| hex::encode(random().unwrap_or_default()), str::to_owned)
}
