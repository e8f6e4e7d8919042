//! One connection that is kept open, as a client's pool would.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

const AGENT: &str = "/a2a/analyst";

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Connection {
    /// Connects to a service at `http://host:port`.
    pub(crate) async fn open(url: &str) -> Self {
        let host = url.trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        Self { sender, host }
    }

    /// The response, whose body may be a stream.
    pub(crate) async fn call(&mut self, body: Bytes) -> Incoming {
        let request = Request::post(AGENT)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Full::new(body))
            .unwrap();
        self.sender.ready().await.unwrap();
        let response = self.sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body()
    }

    /// The whole answer, which is no error.
    pub(crate) async fn ask(&mut self, body: Bytes) -> Bytes {
        let answer = self.call(body).await.collect().await.unwrap().to_bytes();
        assert!(answer.windows(9).any(|at| at == b"\"result\":"), "{answer:?}");
        answer
    }

    /// Sends a message of its own context, does not wait for its task, and gives the task's id.
    pub(crate) async fn send(&mut self, message_id: &str) -> String {
        let answer: Value = serde_json::from_slice(&self.ask(message(message_id)).await).unwrap();
        answer["result"]["task"]["id"].as_str().unwrap().to_owned()
    }
}

/// A `SendMessage` that returns at once.
pub(crate) fn message(id: &str) -> Bytes {
    let text = "Analyze sales of 10, 20 and 30 dollars.";
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    request(
        "SendMessage",
        &json!({"message": message, "configuration": {"returnImmediately": true}}),
    )
}

pub(crate) fn request(method: &str, params: &Value) -> Bytes {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into()
}
