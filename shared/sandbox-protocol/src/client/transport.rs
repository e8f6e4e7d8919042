//! The connection pool, and reading replies within bounds.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Error, MAX_REPLY, error};

/// A pool of connections, made once and shared by the clients of all instances.
#[derive(Debug, Clone)]
pub struct Transport(reqwest::Client);

impl Transport {
    /// Goes through no proxy of the environment and follows no redirect.
    pub fn new() -> Result<Self, Error> {
        reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map(Self)
            .map_err(Error::Request)
    }

    pub(super) fn request(&self, method: &'static str, url: &str) -> Result<RequestBuilder, Error> {
        let method = method.parse().map_err(|_| Error::BadReply("no such method"))?;
        Ok(self.0.request(method, url))
    }
}

/// The endpoint with a scheme and without a trailing slash.
pub(super) fn base(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.starts_with("http://") || endpoint.starts_with("https://") {
        endpoint.to_owned()
    } else {
        format!("https://{endpoint}")
    }
}

pub(super) fn with_json<Q: Serialize>(
    request: RequestBuilder,
    body: &Q,
) -> Result<RequestBuilder, Error> {
    let body = serde_json::to_vec(body).map_err(|_| Error::BadReply("a request without JSON"))?;
    Ok(request.header("content-type", "application/json").body(body))
}

pub(super) async fn send(request: RequestBuilder) -> Result<Response, Error> {
    request.send().await.map_err(|error| {
        let error = error.without_url();
        if error.is_connect() {
            Error::Unreachable(error)
        } else if error.is_builder() {
            Error::Request(error)
        } else {
            Error::Interrupted(error)
        }
    })
}

/// Reads a body of at most `cap` bytes; stops as soon as there is more.
pub(super) async fn read(reply: Response, cap: usize) -> Result<Vec<u8>, Error> {
    if reply.content_length().is_some_and(|length| length > cap as u64) {
        return Err(Error::TooLarge);
    }
    let mut body = Vec::new();
    let mut pieces = reply.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Error::Interrupted(error.without_url()))?;
        if body.len() + piece.len() > cap {
            return Err(Error::TooLarge);
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Reads a JSON reply, or the refusal in its place.
pub(super) async fn reply<R: DeserializeOwned>(reply: Response) -> Result<R, Error> {
    let body = success(reply).await?;
    serde_json::from_slice(&body).map_err(|_| Error::BadReply("a reply of another form"))
}

/// Reads the body of a success, or the refusal in its place.
pub(super) async fn success(reply: Response) -> Result<Vec<u8>, Error> {
    let status = reply.status();
    let body = read(reply, MAX_REPLY).await?;
    if status.is_success() { Ok(body) } else { Err(error::refusal(status.as_u16(), &body)) }
}
