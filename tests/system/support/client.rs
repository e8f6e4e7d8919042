//! An A2A client of either binding: **a test says once what it asks and what it expects**, and the
//! client puts it on the wire and takes it off again, as A2A sections 9 and 11 have it.
//!
//! Whatever it gets is held against what every answer owes: the binding's media type, the request's
//! id, and the whole table of errors (E1 to E3).

mod events;
mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::PATIENCE;
use super::pair::{self, Engine, Pair};
pub(crate) use events::{Events, Seen, kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    HttpJson,
}

/// What an operation brings.
pub(crate) type Outcome = Result<Value, Refusal>;

/// Why an operation was refused, the same in both bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Of the `ErrorInfo`.
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The fields that are wrong, by their paths.
    pub(crate) fields: Vec<String>,
    /// The `metadata` of the `ErrorInfo`, but for the id of the request.
    pub(crate) metadata: Value,
}

/// A client of one agent in the scope of one user.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) pair: &'static Pair,
    pub(crate) binding: Binding,
    pub(crate) agent: String,
    http: reqwest::Client,
    origin: String,
    tenant: Option<String>,
    headers: HeaderMap,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Raw {
    pub(crate) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What JSON-RPC brings.
    pub(crate) fn rpc(&self) -> Outcome {
        assert_eq!((self.status, self.header("content-type")), (200, "application/json"), "B1");
        wire::json_rpc(self.json())
    }

    /// The reason of a refusal, in either binding.
    pub(crate) fn reason(&self) -> String {
        let body = self.json();
        let refusal = if body["jsonrpc"].is_string() {
            self.rpc().unwrap_err()
        } else {
            assert_eq!(self.header("content-type"), "application/a2a+json", "B2: {self:?}");
            wire::http_json(self.status, &body["error"])
        };
        refusal.reason
    }
}

/// Runs a test on both engines, over one binding.
pub(crate) async fn over(binding: Binding, test: impl AsyncFn(Client)) {
    everywhere(async |client| {
        if client.binding == binding {
            test(client).await;
        }
    })
    .await;
}

/// Runs a test on {JSON-RPC, HTTP+JSON} × {SQLite, PostgreSQL}, each with two ingresses behind one
/// port and a user of its own.
pub(crate) async fn everywhere(test: impl AsyncFn(Client)) {
    matrix(false, test).await;
}

/// The same, where callers must be known and cards are signed.
pub(crate) async fn guarded(test: impl AsyncFn(Client)) {
    matrix(true, test).await;
}

async fn matrix(guarded: bool, test: impl AsyncFn(Client)) {
    let test = &test;
    let all = [Engine::Sqlite, Engine::Postgres].into_iter().flat_map(|engine| {
        [Binding::JsonRpc, Binding::HttpJson].map(|binding| async move {
            let pair = if guarded { pair::guarded(engine).await } else { pair::on(engine).await };
            let client = Client::new(pair, binding);
            let done = timeout(PATIENCE, AssertUnwindSafe(test(client)).catch_unwind()).await;
            match done {
                Ok(Ok(())) => None,
                Ok(Err(panic)) => {
                    eprintln!("with {binding:?} on {engine:?}");
                    Some(panic)
                }
                Err(_) => {
                    let late: Box<dyn std::any::Any + Send> = Box::new("too late");
                    eprintln!("with {binding:?} on {engine:?}: it does not end");
                    Some(late)
                }
            }
        })
    });
    if let Some(panic) = join_all(all).await.into_iter().flatten().next() {
        std::panic::resume_unwind(panic);
    }
}

/// A number that nothing else in this process has.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Client {
    fn new(pair: &'static Pair, binding: Binding) -> Self {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
        // A connection per request, so that the next request meets the other ingress.
        let http = http.pool_max_idle_per_host(0).build().unwrap();
        let client = Self {
            pair,
            binding,
            agent: "actor".to_owned(),
            http,
            origin: pair.url.clone(),
            tenant: None,
            headers: HeaderMap::new(),
        };
        client.with("a2a-version", "1.0").of_user(&format!("user-{}", unique()))
    }

    /// The same user, with another agent.
    pub(crate) fn of(&self, agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..self.clone() }
    }

    pub(crate) fn of_user(&self, user: &str) -> Self {
        self.with("x-cognition-scope-user", user)
    }

    /// Names a tenant in front of each path, or in the parameters where the binding has no paths.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Self {
        Self { tenant: Some(tenant.to_owned()), ..self.clone() }
    }

    pub(crate) fn over(&self, binding: Binding) -> Self {
        Self { binding, ..self.clone() }
    }

    /// The same, past the common port, at one of the ingresses.
    pub(crate) fn at(&self, ingress: usize) -> Self {
        Self { origin: self.pair.each[ingress].clone(), ..self.clone() }
    }

    /// With a header in place of one of the same name.
    pub(crate) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut other = self.clone();
        let value = HeaderValue::from_str(value).unwrap();
        other.headers.insert(HeaderName::from_static(name), value);
        other
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.headers.remove(name);
        other
    }

    /// Where this agent's JSON-RPC endpoint is, below which the paths of HTTP+JSON are.
    pub(crate) fn endpoint(&self) -> String {
        format!("{}/a2a/{}", self.origin, self.agent)
    }

    /// A plain request with the client's headers, for what no operation of the protocol says.
    pub(crate) fn plain(&self, method: reqwest::Method, url: &str) -> reqwest::RequestBuilder {
        self.http.request(method, url).headers(self.headers.clone())
    }

    pub(crate) async fn get(&self, url: &str) -> Raw {
        Raw::of(self.plain(reqwest::Method::GET, url)).await
    }

    /// A body for the JSON-RPC endpoint, as it is.
    pub(crate) async fn post(&self, body: &str) -> Raw {
        let request = self.plain(reqwest::Method::POST, &self.endpoint());
        Raw::of(request.header("content-type", "application/json").body(body.to_owned())).await
    }

    /// A JSON-RPC call that [`Client::ask`] would not make.
    pub(crate) async fn call(&self, method: &str, params: &Value) -> Raw {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&body.to_string()).await
    }

    /// A request for a path of HTTP+JSON, as it is. An empty body is none.
    pub(crate) async fn rest(&self, method: &str, path: &str, body: &str) -> Raw {
        let method = method.parse().unwrap();
        let mut request = self.plain(method, &format!("{}{path}", self.endpoint()));
        if !body.is_empty() {
            if !self.headers.contains_key("content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body.to_owned());
        }
        Raw::of(request).await
    }

    /// Asks for an operation, by its name in A2A section 3, with the parameters of its message.
    pub(crate) async fn ask(&self, operation: &str, params: &Value) -> Outcome {
        let response = wire::request(self, operation, params).send().await.unwrap();
        wire::outcome(self.binding, response).await
    }

    /// The same, for parameters that no well-behaved client sends.
    pub(crate) async fn refused(&self, operation: &str, params: &Value) -> Refusal {
        match self.ask(operation, params).await {
            Err(refusal) => refusal,
            Ok(result) => panic!("{operation} {params} is refused, and not answered: {result:#}"),
        }
    }

    /// Opens a stream.
    pub(crate) async fn try_open(
        &self,
        operation: &str,
        params: &Value,
    ) -> Result<Events, Refusal> {
        let response = wire::request(self, operation, params).send().await.unwrap();
        if response.headers()["content-type"] == "text/event-stream" {
            return Ok(Events::new(self.binding, response));
        }
        let outcome = wire::outcome(self.binding, response).await;
        Err(outcome.expect_err("an answer that is no stream is a refusal"))
    }

    pub(crate) async fn open(&self, operation: &str, params: &Value) -> Events {
        let opened = self.try_open(operation, params).await;
        opened.unwrap_or_else(|refusal| panic!("{operation} streams: {refusal:?}"))
    }

    /// Sends a message and waits for its task.
    pub(crate) async fn send(&self, message: &Value) -> Value {
        self.task_of(&json!({ "message": message })).await
    }

    /// Sends a message and returns with its task as it is.
    pub(crate) async fn submit(&self, message: &Value) -> Value {
        let now = json!({"returnImmediately": true});
        self.task_of(&json!({"message": message, "configuration": now})).await
    }

    async fn task_of(&self, params: &Value) -> Value {
        let sent = self.ask("SendMessage", params).await;
        let sent = sent.unwrap_or_else(|refusal| panic!("{params} is taken: {refusal:?}"));
        assert_eq!(members(&sent), ["task"], "{sent:#}");
        sent["task"].clone()
    }

    pub(crate) async fn task(&self, id: &Value) -> Value {
        self.ask("GetTask", &json!({ "id": id })).await.unwrap()
    }

    /// A stream that sends a message, from its beginning to its end.
    pub(crate) async fn stream(&self, message: &Value) -> Vec<Value> {
        let stream = self.open("SendStreamingMessage", &json!({ "message": message })).await;
        stream.rest().await.into_iter().map(|seen| seen.says).collect()
    }

    pub(crate) async fn subscribe(&self, id: &Value) -> Events {
        self.open("SubscribeToTask", &json!({ "id": id })).await
    }

    pub(crate) async fn tasks(&self, filter: &Value) -> Value {
        self.ask("ListTasks", filter).await.unwrap()
    }
}

/// A message with an id that is used nowhere else.
pub(crate) fn message(text: &str) -> Value {
    let id = format!("message-{}", unique());
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// `value` with this member.
pub(crate) fn with(mut value: Value, member: &str, is: impl Into<Value>) -> Value {
    value[member] = is.into();
    value
}

/// A message that continues a task.
pub(crate) fn reply(text: &str, task: &Value) -> Value {
    with(message(text), "taskId", task["id"].clone())
}

/// The names of an object's members, sorted.
pub(crate) fn members(object: &Value) -> Vec<&str> {
    let object = object.as_object().unwrap_or_else(|| panic!("no object: {object}"));
    object.keys().map(String::as_str).collect()
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// A task that nobody has.
pub(crate) const NO_TASK: &str = "01920000-0000-7000-8000-000000000000";
