//! A sandbox that speaks the bounded read over real HTTP, honestly or not.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use domain::InstanceId;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use published::Digest;
use sandbox_protocol::files::BoundedRead;
use sandbox_protocol::{ErrorBody, ErrorCode, headers, runtime_token};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the sandbox answers for a path.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    File(Bytes),
    Refusal(ErrorCode),
    /// More bytes than were asked for, whatever was asked for.
    TooMuch,
    /// The digest of other bytes.
    WrongDigest(Bytes),
    /// A refusal that is no JSON.
    Nonsense,
    /// The connection ends without an answer.
    HangUp,
}

/// The server. It ends with this value.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) endpoint: String,
    state: Arc<State>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    bearer: String,
    files: Mutex<HashMap<String, Answer>>,
    generation: Mutex<i64>,
    asked: Mutex<Vec<String>>,
}

impl Sandbox {
    pub(crate) async fn start(key: &[u8], instance: InstanceId, generation: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let token = runtime_token(key, instance.as_uuid());
        let state = Arc::new(State {
            bearer: format!("Bearer {}", token.expose()),
            files: Mutex::default(),
            generation: Mutex::new(generation),
            asked: Mutex::default(),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { endpoint, state, server }
    }

    pub(crate) fn put(&self, path: &str, answer: Answer) {
        self.state.files.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// A newer owner has announced itself.
    pub(crate) fn adopt(&self, generation: i64) {
        *self.state.generation.lock().unwrap() = generation;
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let answer = service_fn(|request| answer(&state, request));
            // A connection that breaks is part of some tests.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

/// The end of a connection, as hyper wants it.
#[derive(Debug)]
struct HangUp;

impl std::fmt::Display for HangUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hang up")
    }
}

impl std::error::Error for HangUp {}

impl From<Infallible> for HangUp {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

async fn answer(
    state: &State,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, HangUp> {
    assert_eq!(request.uri().path(), "/v1/read-bounded");
    let header = |name: &str| request.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
    if header("authorization").as_deref() != Some(&state.bearer) {
        return Ok(refusal(ErrorCode::Unauthorized));
    }
    let generation: i64 = header(headers::GENERATION).unwrap().parse().unwrap();
    if generation < *state.generation.lock().unwrap() {
        return Ok(refusal(ErrorCode::Fenced));
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let read: BoundedRead = serde_json::from_slice(&body).unwrap();
    state.asked.lock().unwrap().push(read.path.clone());
    let answer = state.files.lock().unwrap().get(&read.path).cloned();
    match answer.unwrap_or(Answer::Refusal(ErrorCode::NotFound)) {
        Answer::File(bytes) if bytes.len() as u64 > read.max_bytes => {
            Ok(refusal(ErrorCode::TooLarge))
        }
        Answer::File(bytes) => Ok(file(&bytes.clone(), bytes)),
        Answer::Refusal(code) => Ok(refusal(code)),
        Answer::TooMuch => {
            let bytes = Bytes::from(vec![b'x'; usize::try_from(read.max_bytes).unwrap() + 1]);
            Ok(file(&bytes.clone(), bytes))
        }
        Answer::WrongDigest(bytes) => Ok(file(b"other bytes", bytes)),
        Answer::Nonsense => {
            let mut response = Response::new(Full::from("<html>"));
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
            Ok(response)
        }
        Answer::HangUp => Err(HangUp),
    }
}

fn file(digest_of: &[u8], bytes: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(bytes));
    let digest = Digest::of(digest_of).as_hex().parse().unwrap();
    response.headers_mut().insert(headers::CONTENT_SHA256, digest);
    response
}

fn refusal(code: ErrorCode) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(&ErrorBody::new(code, "a canary that no log may show")).unwrap();
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(code.status()).unwrap();
    response
}
