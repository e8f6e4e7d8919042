//! An A2A client: JSON-RPC over real HTTP, and no more understanding than a test needs.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::{Value, json};

/// What a call brings: a result, or the error object.
pub(crate) type Answer = Result<Value, Value>;

/// A client of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    http: reqwest::Client,
    endpoint: String,
    user: Option<String>,
}

impl Caller {
    pub(crate) fn new(url: &str, agent: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap();
        Self { http, endpoint: format!("{url}/a2a/{agent}"), user: None }
    }

    /// The same, in the scope of a user.
    pub(crate) fn of_user(&self, user: &str) -> Self {
        Self { user: Some(user.to_owned()), ..self.clone() }
    }

    /// Fails when nobody answers.
    pub(crate) async fn try_call(&self, method: &str, params: &Value) -> reqwest::Result<Answer> {
        let body = self.request(method, params).send().await?.bytes().await?;
        Ok(answer(&body))
    }

    pub(crate) async fn call(&self, method: &str, params: &Value) -> Answer {
        self.try_call(method, params).await.unwrap()
    }

    /// Sends a message and waits until its task has ended.
    pub(crate) async fn send(&self, message: &Value) -> Answer {
        let sent = self.call("SendMessage", &json!({ "message": message })).await?;
        Ok(sent["task"].clone())
    }

    /// Sends a message and returns with the task as it is at once.
    pub(crate) async fn submit(&self, message: &Value) -> Answer {
        let sent = self.call("SendMessage", &submission(message)).await?;
        Ok(sent["task"].clone())
    }

    pub(crate) async fn task(&self, id: &str) -> Answer {
        self.call("GetTask", &json!({ "id": id })).await
    }

    pub(crate) async fn cancel(&self, id: &str) -> Answer {
        self.call("CancelTask", &json!({ "id": id })).await
    }

    /// Opens a stream: `SendStreamingMessage`, `SubscribeToTask`.
    pub(crate) async fn open(&self, method: &str, params: &Value) -> Events {
        let response = self.request(method, params).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{method}");
        Events { body: response.bytes_stream().boxed(), read: Vec::new() }
    }

    pub(crate) async fn subscribe(&self, task: &str) -> Events {
        self.open("SubscribeToTask", &json!({ "id": task })).await
    }

    /// What a signed address shows: status, headers, bytes.
    pub(crate) async fn download(&self, url: &str) -> (reqwest::header::HeaderMap, Bytes) {
        let response = self.http.get(url).send().await.unwrap();
        assert_eq!(response.status(), 200);
        (response.headers().clone(), response.bytes().await.unwrap())
    }

    fn request(&self, method: &str, params: &Value) -> reqwest::RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.http.post(&self.endpoint).header("a2a-version", "1.0");
        let request = request.header("content-type", "application/json").body(body.to_string());
        match &self.user {
            Some(user) => request.header("X-Cognition-Scope-User", user),
            None => request,
        }
    }
}

/// A stream that is open.
pub(crate) struct Events {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    read: Vec<u8>,
}

/// One event: its `id:`, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) id: i64,
    pub(crate) says: Value,
}

impl Events {
    /// `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        loop {
            while let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.read.drain(..end + 2).collect();
                if let Some(seen) = seen(&String::from_utf8(frame).unwrap()) {
                    return Some(seen);
                }
            }
            self.read.extend_from_slice(&self.body.next().await?.unwrap());
        }
    }

    /// Everything that still comes.
    pub(crate) async fn rest(mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        while let Some(seen) = self.next().await {
            all.push(seen);
        }
        all
    }
}

/// One frame; `None` when it is only a comment.
fn seen(frame: &str) -> Option<Seen> {
    let field = |name: &str| {
        let value = frame.lines().find_map(|line| line.strip_prefix(name))?;
        Some(value.trim_start_matches(' '))
    };
    let says = answer(field("data:")?.as_bytes());
    let says = says.unwrap_or_else(|error| panic!("the stream broke: {error}"));
    Some(Seen { id: field("id:")?.parse().unwrap(), says })
}

pub(crate) fn answer(body: &[u8]) -> Answer {
    let mut reply: Value = serde_json::from_slice(body).unwrap();
    match reply.get_mut("error") {
        Some(error) => Err(error.take()),
        None => Ok(reply["result"].take()),
    }
}

pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

pub(crate) fn message_in(context: &str, id: &str, text: &str) -> Value {
    let mut message = message(id, text);
    message["contextId"] = context.into();
    message
}

/// The parameters of a `SendMessage` that does not wait.
pub(crate) fn submission(message: &Value) -> Value {
    json!({"message": message, "configuration": {"returnImmediately": true}})
}

pub(crate) fn id(task: &Value) -> String {
    task["id"].as_str().unwrap_or_else(|| panic!("no task: {task}")).to_owned()
}

pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_else(|| panic!("no task: {task}"))
}
