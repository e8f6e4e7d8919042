//! A receiver of notifications: an HTTP server on loopback that answers as it is told.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// What arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Arrived {
    /// The text of an artifact, or the state of a status.
    pub(crate) fn says(&self) -> String {
        let text = &self.body["artifactUpdate"]["artifact"]["parts"][0]["text"];
        let state = &self.body["statusUpdate"]["status"]["state"];
        text.as_str().or(state.as_str()).unwrap_or_default().to_owned()
    }
}

#[derive(Debug, Default)]
struct State {
    arrived: Vec<Arrived>,
    answers: VecDeque<Response<()>>,
    /// The bodies of answers begin, and never end.
    endless: bool,
    /// Answers wait here.
    gate: Option<Arc<Semaphore>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
    came: Arc<Notify>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let served = Arc::clone(&state);
        let came = Arc::new(Notify::new());
        let coming = Arc::clone(&came);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, came) = (Arc::clone(&served), Arc::clone(&coming));
                tokio::spawn(async move {
                    let answer = service_fn(move |request| {
                        answer(Arc::clone(&state), Arc::clone(&came), request)
                    });
                    let _ =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        Self { port, state, came }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?canary-url", self.port)
    }

    /// The next answers; without any, 200.
    pub(crate) fn answer(&self, status: StatusCode, times: usize) {
        for _ in 0..times {
            let response = Response::builder().status(status).body(()).unwrap();
            self.state.lock().unwrap().answers.push_back(response);
        }
    }

    /// From now on answers have a status at once, and a body that never ends.
    pub(crate) fn never_ends(&self) {
        self.state.lock().unwrap().endless = true;
    }

    /// The next answer: it asks to be left alone for so long.
    pub(crate) fn busy(&self, retry_after: &str) {
        let response = Response::builder().status(503).header("retry-after", retry_after);
        self.state.lock().unwrap().answers.push_back(response.body(()).unwrap());
    }

    /// From now on each answer waits until it is let out.
    pub(crate) fn hold(&self) {
        self.state.lock().unwrap().gate = Some(Arc::new(Semaphore::new(0)));
    }

    /// Waits until something has arrived that was not waited for yet.
    pub(crate) async fn arrival(&self) {
        self.came.notified().await;
    }

    /// Lets one answer out.
    pub(crate) fn let_out(&self) {
        self.state.lock().unwrap().gate.as_ref().unwrap().add_permits(1);
    }

    pub(crate) fn redirect(&self, to: &str) {
        let response = Response::builder().status(307).header("location", to).body(()).unwrap();
        self.state.lock().unwrap().answers.push_back(response);
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.state.lock().unwrap().arrived.clone()
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.arrived().iter().map(Arrived::says).collect()
    }
}

async fn answer(
    state: Arc<Mutex<State>>,
    came: Arc<Notify>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let arrived = Arrived {
        method: head.method,
        path: head.uri.to_string(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let gate = {
        let mut state = state.lock().unwrap();
        state.arrived.push(arrived);
        state.gate.clone()
    };
    came.notify_one();
    if let Some(gate) = gate {
        gate.acquire().await.unwrap().forget();
    }
    let mut state = state.lock().unwrap();
    let answer = state.answers.pop_front().unwrap_or_default();
    let said = Bytes::from_static(b"canary-answer");
    let endless = state.endless;
    Ok(answer.map(|()| {
        if endless {
            let begun = stream::iter([Ok(Frame::data(said))]);
            BoxBody::new(StreamBody::new(begun.chain(stream::pending())))
        } else {
            BoxBody::new(Full::new(said))
        }
    }))
}
