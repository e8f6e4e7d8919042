//! A client of the conformance agent that speaks either binding.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    HttpJson,
}

impl Binding {
    pub(super) const ALL: [Self; 2] = [Self::JsonRpc, Self::HttpJson];
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    agent: String,
    binding: Binding,
}

impl Client {
    pub(super) fn new(url: &str, binding: Binding) -> Self {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap();
        Self { http, agent: format!("{url}/a2a/conformance"), binding }
    }

    /// The result, or the error object.
    pub(super) async fn send(&self, message: &Value) -> Result<Value, Value> {
        let params = json!({ "message": message });
        self.call("SendMessage", &Method::POST, "message:send", &params).await
    }

    pub(super) async fn task(&self, id: &str) -> Result<Value, Value> {
        let path = format!("tasks/{id}");
        self.call("GetTask", &Method::GET, &path, &json!({ "id": id })).await
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<Value, Value> {
        let path = format!("tasks/{id}:cancel");
        self.call("CancelTask", &Method::POST, &path, &json!({ "id": id })).await
    }

    pub(super) async fn stream(&self, message: &Value) -> Stream {
        let params = json!({ "message": message });
        let request =
            self.request("SendStreamingMessage", &Method::POST, "message:stream", &params);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let body = response.bytes_stream().boxed();
        Stream { body, read: Vec::new(), binding: self.binding }
    }

    /// What is at a URL, without a version.
    pub(super) async fn get(&self, url: &str) -> Value {
        let response = self.http.get(url).send().await.unwrap();
        assert_eq!(response.status(), 200);
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
    }

    async fn call(
        &self,
        operation: &str,
        method: &Method,
        path: &str,
        params: &Value,
    ) -> Result<Value, Value> {
        let response = self.request(operation, method, path, params).send().await.unwrap();
        answer(self.binding, &response.bytes().await.unwrap())
    }

    fn request(
        &self,
        operation: &str,
        method: &Method,
        path: &str,
        params: &Value,
    ) -> RequestBuilder {
        let body = match self.binding {
            Binding::JsonRpc => {
                json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": params})
            }
            Binding::HttpJson => params.clone(),
        };
        let request = match self.binding {
            Binding::JsonRpc => self.http.post(&self.agent),
            Binding::HttpJson => {
                self.http.request(method.clone(), format!("{}/{path}", self.agent))
            }
        };
        let request = request.header("a2a-version", "1.0");
        if self.binding == Binding::HttpJson && *method == Method::GET {
            return request;
        }
        request.header("content-type", "application/json").body(body.to_string())
    }
}

fn answer(binding: Binding, body: &[u8]) -> Result<Value, Value> {
    let mut reply: Value = serde_json::from_slice(body).unwrap();
    match (reply.get_mut("error"), binding) {
        (Some(error), _) => Err(error.take()),
        (None, Binding::JsonRpc) => Ok(reply["result"].take()),
        (None, Binding::HttpJson) => Ok(reply),
    }
}

/// A stream that is open.
pub(super) struct Stream {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    read: Vec<u8>,
    binding: Binding,
}

impl Stream {
    /// The next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.read.drain(..end + 2).collect();
                let frame = String::from_utf8(frame).unwrap();
                if let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return Some(answer(self.binding, data.as_bytes()).unwrap());
                }
            }
            self.read.extend_from_slice(&self.body.next().await?.unwrap());
        }
    }

    /// Everything up to the status of this state.
    pub(super) async fn until(&mut self, state: &str) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let here = event["statusUpdate"]["status"]["state"] == state;
            events.push(event);
            if here {
                return events;
            }
        }
        panic!("the stream ends before {state}: {events:?}")
    }

    /// Everything that still comes.
    pub(super) async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
