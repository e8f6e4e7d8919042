//! One notification on its way (A2A §4.3.3).
//!
//! **No redirect is followed, no proxy asked, and no more of an answer read than its status**, but for
//! a few bytes that let the connection be used again.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use store::webhooks::Why;
use tokio::time::timeout;
use webhook::{Forbidden, Guard, Record, Target};

use crate::resolver::{Guarded, Lookup};

/// The names under which receivers look for the token: those of the Python and JavaScript SDKs, and of
/// the Rust SDK.
const TOKEN: [HeaderName; 2] = [
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("a2a-notification-token"),
];
/// A longer answer costs its connection.
const MAX_ANSWER: usize = 16 * 1024;
/// How long the rest of an answer is read; well below what an attempt may take beyond its time.
const DRAIN: Duration = Duration::from_secs(1);
/// The longest wait that a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(15);

/// Posts notifications.
#[derive(Debug, Clone)]
pub struct Post {
    guard: Guard,
    timeout: Duration,
    /// Connects to addresses that the guard permits.
    public: Client,
    /// Connects to wherever a name leads; for receivers that the operator has named.
    named: Client,
}

/// The HTTP client cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("make the HTTP client")]
pub struct NoClient(#[source] reqwest::Error);

/// A receiver that may be called, with what each notification carries.
pub(crate) struct Sendable {
    target: Target,
    headers: HeaderMap,
}

impl fmt::Debug for Sendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sendable").field("target", &self.target).finish_non_exhaustive()
    }
}

/// Why a notification did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    /// How long the receiver wants to be left alone.
    pub(crate) after: Option<Duration>,
}

impl Refusal {
    pub(crate) const fn new(why: Why) -> Self {
        Self { why, after: None }
    }

    /// Whether another attempt would be in vain: the rules forbid the address, or the receiver says
    /// that it is gone for good.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self.why, Why::Forbidden | Why::Gone)
    }
}

impl Post {
    /// `timeout` is for one notification, from the name to the answer's status.
    pub fn new(
        guard: Guard,
        timeout: Duration,
        lookup: &Arc<dyn Lookup>,
    ) -> Result<Self, NoClient> {
        let client = |guard: Option<Guard>| {
            Client::builder()
                .no_proxy()
                .redirect(Policy::none())
                .tcp_nodelay(true)
                .user_agent("cognition")
                // An environment that was frozen must not wake up on a connection that is gone.
                .pool_idle_timeout(Duration::from_secs(5))
                .dns_resolver(Arc::new(Guarded { lookup: Arc::clone(lookup), guard }))
                .build()
                .map_err(NoClient)
        };
        let (public, named) = (client(Some(guard.clone()))?, client(None)?);
        Ok(Self { guard, timeout, public, named })
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Judges the address again, since rules may have changed, and makes the headers (P4).
    /// `media_type` is that of the bodies.
    pub(crate) fn prepare(
        &self,
        record: &Record,
        media_type: &'static str,
    ) -> Result<Sendable, Refusal> {
        let forbidden = |_: Forbidden| Refusal::new(Why::Forbidden);
        let target = self.guard.target(&record.url).map_err(forbidden)?;
        let secret = |text: &str| {
            let mut value =
                HeaderValue::from_str(text).map_err(|_| Refusal::new(Why::Unreadable))?;
            value.set_sensitive(true);
            Ok(value)
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(authorization) = record.authorization() {
            headers.insert(AUTHORIZATION, secret(&authorization)?);
        }
        if let Some(token) = &record.token {
            for name in TOKEN {
                headers.insert(name, secret(token)?);
            }
        }
        Ok(Sendable { target, headers })
    }

    /// Posts one notification. The receiver has it when it answers 2xx in time.
    pub(crate) async fn send(&self, to: &Sendable, body: Vec<u8>) -> Result<(), Refusal> {
        let client = if to.target.is_named() { &self.named } else { &self.public };
        let request = client.post(to.target.url().clone()).headers(to.headers.clone()).body(body);
        let answered = timeout(self.timeout, request.send()).await;
        let response = answered.map_err(|_| Refusal::new(Why::NoAnswer))?;
        let response = response.map_err(|error| unsent(&error))?;
        let judged = judge(&response);
        // What the receiver says beyond its status changes nothing, however slowly it says it.
        let _ = timeout(DRAIN, drain(response)).await;
        judged
    }
}

/// Why there was no answer.
fn unsent(error: &reqwest::Error) -> Refusal {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<Forbidden>() {
            return Refusal::new(Why::Forbidden);
        }
        cause = error.source();
    }
    Refusal::new(if error.is_connect() { Why::Unreachable } else { Why::NoAnswer })
}

fn judge(response: &Response) -> Result<(), Refusal> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let why = match status {
        StatusCode::GONE => Why::Gone,
        _ if status.is_redirection() => Why::Redirected,
        _ => Why::Refused,
    };
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
    Err(Refusal { why, after: after.map(|after| after.min(MAX_RETRY_AFTER)) })
}

/// Reads what little the receiver says, so that its connection can be used again.
async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(bytes)) = response.chunk().await {
        read += bytes.len();
        if read > MAX_ANSWER {
            return;
        }
    }
}
