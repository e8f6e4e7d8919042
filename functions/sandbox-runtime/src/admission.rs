//! Who may come in: the bearer, then the generation, before anything of the body is read.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use sandbox_protocol::{ErrorCode, headers};

use crate::clock;
use crate::fence::Ticket;
use crate::identity::Instance;
use crate::refusal::Refusal;
use crate::sandbox::Sandbox;

const UNAUTHORIZED: Refusal = Refusal(ErrorCode::Unauthorized, "the bearer is missing or wrong");
const NO_GENERATION: Refusal = Refusal::bad_request("x-cog-generation is needed");
const BAD_NUMBER: Refusal = Refusal::bad_request("a generation or fence is not a number");

/// The only route that answers anybody.
pub(crate) const HEALTH: &str = "/healthz";
/// The only route on which a generation may be new.
pub(crate) const LEASE: &str = "/v1/lease";

/// Lets a request in, with its instance and ticket attached. One that is turned away ends its
/// connection: whatever it was about to send is not read.
pub(crate) async fn admit(
    State(sandbox): State<Arc<Sandbox>>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.uri().path() == HEALTH {
        return next.run(request).await;
    }
    match examine(&sandbox, &request) {
        Ok((instance, ticket)) => {
            request.extensions_mut().insert(instance);
            request.extensions_mut().insert(ticket);
            next.run(request).await
        }
        Err(refusal) => {
            let mut response = refusal.into_response();
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

fn examine(sandbox: &Sandbox, request: &Request) -> Result<(Arc<Instance>, Ticket), Refusal> {
    let instance = sandbox.identity.instance()?;
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if !token.is_some_and(|(_, token)| instance.is_bearer(token)) {
        return Err(UNAUTHORIZED);
    }
    let ticket = Ticket {
        generation: number(request.headers(), headers::GENERATION)?,
        run_fence: number(request.headers(), headers::RUN_FENCE)?,
    };
    if request.uri().path() != LEASE {
        instance.fence.admit(ticket)?;
    }
    Ok((instance, ticket))
}

fn number(headers: &HeaderMap, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let value = value.to_str().ok().and_then(|text| text.parse().ok());
    value.map(Some).ok_or(BAD_NUMBER)
}

/// What a handler knows of the instance it works for.
pub(crate) struct Owned(pub(crate) Arc<Instance>);

impl<S: Sync> FromRequestParts<S> for Owned {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get().cloned().map(Self).ok_or(UNAUTHORIZED)
    }
}

/// The right to change something, for as long as its owner is the current one.
#[derive(Debug, Clone)]
pub(crate) struct Permit {
    instance: Arc<Instance>,
    ticket: Ticket,
}

impl Permit {
    /// Makes a change, if its owner may at this moment.
    pub(crate) fn commit<T>(&self, change: impl FnOnce() -> T) -> Result<T, Refusal> {
        self.instance.fence.commit(self.ticket, clock::now_ms(), change)
    }

    fn of(parts: &Parts) -> Result<Self, Refusal> {
        let (instance, ticket) = (parts.extensions.get::<Arc<_>>(), parts.extensions.get());
        let permit = instance
            .zip(ticket)
            .map(|(instance, ticket)| Self { instance: Arc::clone(instance), ticket: *ticket });
        permit.ok_or(UNAUTHORIZED)
    }
}

/// Needs a generation, and a lease that has not run out.
impl<S: Sync> FromRequestParts<S> for Permit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let permit = Self::of(parts)?;
        permit.ticket.generation.ok_or(NO_GENERATION)?;
        permit.commit(|| ())?;
        Ok(permit)
    }
}

/// A permit of the original's routes, whose callers know no generations.
pub(crate) struct CompatPermit(pub(crate) Permit);

impl<S: Sync> FromRequestParts<S> for CompatPermit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let permit = Permit::of(parts)?;
        permit.commit(|| ())?;
        Ok(Self(permit))
    }
}
