//! A2A over HTTP: admits messages, reads tasks, streams what happens to them.
//!
//! **Never executes anything, and answers nothing before it knows whose request it is.**

pub mod agents;
mod caller;
pub mod config;
pub mod event;
mod operations;
pub mod page_token;
pub mod scope;
mod tail;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use a2a::{Body, Profile, card};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use lambda_http::RequestExt as _;
use lambda_http::request::RequestContext;
use tokio::time::Instant;

use agents::Agents;
use caller::Caller;
pub use operations::{Desk, NoKeys, Webhooks};
use scope::{Denied, ScopeSettings};
pub use view::Viewer;

/// The body of every answer: whole, or as it comes.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// How long before the function's own end an answer must be on its way.
const RESERVE: Duration = Duration::from_secs(5);

/// The function.
#[derive(Debug)]
pub struct Ingress {
    pub desk: Arc<Desk>,
    pub agents: Agents,
    pub scope: ScopeSettings,
    pub address: Address,
}

/// Where clients reach us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The deployment's public URL, without a slash at the end.
    Public(String),
    /// The request's own `Host`: for local runs only, where nobody else can name it.
    FromHost,
}

impl Ingress {
    /// Answers one request.
    pub async fn handle(&self, request: lambda_http::Request) -> Response<ResponseBody> {
        let path = path(&request).to_owned();
        let mut segments = path.trim_start_matches('/').splitn(3, '/');
        let route = (segments.next().unwrap_or(""), segments.next().unwrap_or(""), segments.next());
        match route {
            (".well-known", "agent-card.json" | "agent.json", None | Some("")) => {
                let named = request.query_string_parameters_ref();
                let name = named.and_then(|query| query.first("assistant_id"));
                let name = name.map(str::to_owned);
                self.card(&request, name.as_deref())
            }
            (
                "a2a",
                agent,
                Some(".well-known/agent-card.json" | ".well-known/agent-card.json/"),
            ) => self.card(&request, Some(agent)),
            ("a2a", agent, rest) if !agent.is_empty() => {
                self.operate(agent, rest.unwrap_or(""), request).await
            }
            _ => not_found("there is nothing here"),
        }
    }

    fn card(&self, request: &lambda_http::Request, name: Option<&str>) -> Response<ResponseBody> {
        if let Err(denied) = self.scope.scope(request.headers(), context(request)) {
            return forbidden(&denied);
        }
        let found = match name {
            Some(name) => self.agents.exposed(name),
            None => self.agents.first(),
        };
        let Some(agent) = found else { return not_found("no such agent") };
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return json(
                StatusCode::METHOD_NOT_ALLOWED,
                &serde_json::json!({"error": "method not allowed"}),
            );
        }
        let url = format!("{}/a2a/{}", self.origin(request), agent.definition.name);
        let card = card::build(&agent.definition, &url, env!("CARGO_PKG_VERSION"));
        card::response(&card, request.headers()).map(whole)
    }

    async fn operate(
        &self,
        agent: &str,
        rest: &str,
        request: lambda_http::Request,
    ) -> Response<ResponseBody> {
        let scope = match self.scope.scope(request.headers(), context(&request)) {
            Ok(scope) => scope,
            Err(denied) => return forbidden(&denied),
        };
        let Some(agent) = self.agents.exposed(agent) else { return not_found("no such agent") };
        let caller = Caller {
            digest: scope.digest(),
            scope,
            request_id: request_id(&request),
            until: until(&request),
            agent,
        };
        let request_id = caller.request_id.clone();
        let rest = rest.to_owned();
        let request = request.map(bytes);
        let profile = Profile::of(&caller.agent.definition);
        let response = a2a::serve(Arc::clone(&self.desk), caller, &profile, &rest, request).await;
        let mut response = response.map(body);
        if let Ok(value) = HeaderValue::from_str(&request_id) {
            response.headers_mut().insert("x-request-id", value);
        }
        response
    }

    /// Where the card says that we are. Never taken from `Host` unless a setting allows it.
    fn origin(&self, request: &lambda_http::Request) -> String {
        match &self.address {
            Address::Public(url) => url.clone(),
            Address::FromHost => {
                let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
                format!("http://{}", host.unwrap_or("localhost"))
            }
        }
    }
}

/// The path as the client sent it. A REST API has its stage in front of it, which the event's own
/// path does not show and the request's URI does.
fn path(request: &lambda_http::Request) -> &str {
    match request.raw_http_path() {
        "" => request.uri().path(),
        raw => raw,
    }
}

fn context<T>(request: &Request<T>) -> Option<&RequestContext> {
    request.extensions().get::<RequestContext>()
}

fn request_id<T>(request: &Request<T>) -> String {
    let id = match context(request) {
        Some(RequestContext::ApiGatewayV1(v1)) => v1.request_id.clone(),
        Some(RequestContext::ApiGatewayV2(v2)) => v2.request_id.clone(),
        _ => None,
    };
    id.unwrap_or_default()
}

/// When the function's own time is nearly over, where it runs as one.
fn until(request: &lambda_http::Request) -> Option<Instant> {
    let context = request.lambda_context_ref()?;
    let budget = lambda_kit::deadline::Budget::until_epoch_millis(context.deadline);
    Some(Instant::now() + budget.less(RESERVE))
}

fn bytes(body: lambda_http::Body) -> Bytes {
    match body {
        lambda_http::Body::Text(text) => Bytes::from(text),
        lambda_http::Body::Binary(bytes) => Bytes::from(bytes),
        _ => Bytes::new(),
    }
}

fn whole(bytes: impl Into<Bytes>) -> ResponseBody {
    UnsyncBoxBody::new(Full::new(bytes.into()))
}

fn body(body: Body) -> ResponseBody {
    match body {
        Body::Full(bytes) => whole(bytes),
        Body::Stream(stream) => UnsyncBoxBody::new(
            StreamBody::new(stream.map(|bytes| Ok(Frame::data(bytes)))).boxed_unsync(),
        ),
    }
}

fn json(status: StatusCode, value: &serde_json::Value) -> Response<ResponseBody> {
    let mut response = Response::new(whole(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn not_found(message: &str) -> Response<ResponseBody> {
    json(StatusCode::NOT_FOUND, &serde_json::json!({"error": message}))
}

/// Says which keys are missing; a scope that is wrong is not described further.
fn forbidden(denied: &Denied) -> Response<ResponseBody> {
    match denied {
        Denied::Missing(keys) => json(
            StatusCode::FORBIDDEN,
            &serde_json::json!({
                "error": "the request carries no scope",
                "code": "PERMISSION_DENIED",
                "details": {"missing_scope_keys": keys},
            }),
        ),
        Denied::Duplicate | Denied::NotText | Denied::Invalid(_) => json(
            StatusCode::BAD_REQUEST,
            &serde_json::json!({"error": denied.to_string(), "code": "INVALID_SCOPE"}),
        ),
    }
}
