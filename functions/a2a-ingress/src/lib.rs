//! A2A over HTTP: admits messages, reads tasks, streams what happens to them.
//!
//! **Never executes anything, and answers nothing before it knows whose request it is.**

pub mod agents;
mod caller;
pub mod cards;
pub mod config;
pub mod event;
mod operations;
pub mod scope;
mod tail;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use a2a::card::Document;
use a2a::{A2aError, Body, Cause, Profile};
use bytes::Bytes;
use domain::ProtocolVersion;
use futures_util::StreamExt as _;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use lambda_http::RequestExt as _;
use lambda_http::request::RequestContext;
use tokio::time::Instant;

use agents::Agents;
use caller::Caller;
use cards::Cards;
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
    pub cards: Arc<Cards>,
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
            (".well-known", "jwks.json", None | Some("")) => document(self.cards.keys(), &request),
            ("a2a", agent, Some(below)) if is_card(below) => self.card(&request, Some(agent)),
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
        document(&self.cards.public(&agent, request.headers()), request)
    }

    async fn operate(
        &self,
        agent: &str,
        rest: &str,
        request: lambda_http::Request,
    ) -> Response<ResponseBody> {
        let scope = self.scope.scope(request.headers(), context(&request));
        if self.cards.security().is_required() && !self.scope.is_known(&scope, context(&request)) {
            return self.unauthenticated(&request_id(&request));
        }
        let scope = match scope {
            Ok(scope) => scope,
            Err(denied) => return forbidden(&denied),
        };
        let Some(agent) = self.agents.exposed(agent) else { return not_found("no such agent") };
        let caller = Caller {
            digest: scope.digest(),
            scope,
            cards: Arc::clone(&self.cards),
            protocol: a2a::bindings::spoken(&request).unwrap_or(ProtocolVersion::V10),
            headers: request.headers().clone(),
            request_id: request_id(&request),
            until: until(&request),
            agent,
        };
        let request_id = caller.request_id.clone();
        let rest = rest.to_owned();
        let request = request.map(bytes);
        let profile = Profile::of(&caller.agent.definition);
        let response = a2a::serve(Arc::clone(&self.desk), caller, &profile, &rest, request).await;
        traced(response.map(body), &request_id)
    }

    /// Whoever is not known hears how to become so, and of nothing else (A2A §7.4).
    fn unauthenticated(&self, request_id: &str) -> Response<ResponseBody> {
        tracing::info!(request.id = request_id, "refused a request of nobody who is known");
        let challenges = self.cards.security().challenges().join(", ");
        let response = A2aError::unauthenticated(challenges).of_request(request_id).response();
        traced(response.map(whole), request_id)
    }
}

/// Whether a path below an agent is that of its card.
fn is_card(below: &str) -> bool {
    let name = below.strip_prefix(".well-known/").map(|name| name.trim_end_matches('/'));
    matches!(name, Some("agent-card.json" | "agent.json"))
}

fn document(document: &Document, request: &lambda_http::Request) -> Response<ResponseBody> {
    document.response(request.method(), request.headers()).map(whole)
}

fn traced(mut response: Response<ResponseBody>, request_id: &str) -> Response<ResponseBody> {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
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

fn not_found(message: &'static str) -> Response<ResponseBody> {
    A2aError::because(Cause::MethodNotFound, message).response().map(whole)
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
