//! Bodies, within their limit.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use sandbox_protocol::ErrorCode;
use serde::de::DeserializeOwned;

use crate::identity::Instance;
use crate::refusal::Refusal;

const TOO_LARGE: Refusal = Refusal(ErrorCode::TooLarge, "the body is larger than allowed");
const BROKEN: Refusal = Refusal::bad_request("the body ended before its end");
const NOT_JSON: Refusal = Refusal::bad_request("the body is not the JSON object that is wanted");
const MEDIA_TYPE: Refusal =
    Refusal(ErrorCode::UnsupportedMediaType, "the body's type is not application/json");

/// A JSON body of a route behind the bearer.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let limit = request.extensions().get::<Arc<Instance>>().map_or(0, |owned| owned.max_body);
        if !is_json(request.headers()) {
            return Err(MEDIA_TYPE);
        }
        let body = whole(request.into_body(), limit).await?;
        serde_json::from_slice(&body).map(Self).map_err(|_| NOT_JSON)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.map(|given| given.split(';').next().unwrap_or_default().trim());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

/// Reads a body whole; stops where it is too large, before anything is read if it says so itself.
pub(crate) async fn whole(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let mut pieces = Pieces::new(body, limit)?;
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await? {
        all.extend_from_slice(&piece);
    }
    Ok(all.freeze())
}

/// A body, piece by piece.
pub(crate) struct Pieces {
    body: Body,
    left: usize,
}

impl Pieces {
    pub(crate) fn new(body: Body, limit: usize) -> Result<Self, Refusal> {
        if body.size_hint().lower() > limit as u64 {
            return Err(TOO_LARGE);
        }
        Ok(Self { body, left: limit })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        while let Some(frame) = self.body.frame().await {
            let Ok(piece) = frame.map_err(|_| BROKEN)?.into_data() else { continue };
            self.left = self.left.checked_sub(piece.len()).ok_or(TOO_LARGE)?;
            return Ok(Some(piece));
        }
        Ok(None)
    }
}
