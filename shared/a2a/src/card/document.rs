//! The card as it travels: its bytes, how long they are fresh, and how a client asks whether they
//! still are (A2A §8.6).
//!
//! **What is tagged is what is served**: the entity tag is that of the bytes.

use bytes::Bytes;
use domain::Timestamp;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED,
};
use http::{Method, Response, StatusCode};
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::AgentCard;
use super::signing::SigningKeys;
use crate::error::{A2aError, Cause};

/// For how long a client need not ask again. Private: who may see an agent depends on who asks.
pub const FRESH: &str = "private, max-age=60";

/// Bytes of JSON with their validators.
#[derive(Debug, Clone)]
pub struct Document {
    json: Bytes,
    etag: HeaderValue,
    /// To the second, as HTTP has it; absent for a time that HTTP cannot write.
    modified: Option<(jiff::Timestamp, HeaderValue)>,
    cache: &'static str,
}

impl Document {
    /// The card for everybody: signed, or for clients of 1.0 and 0.3 alike where there are no keys.
    ///
    /// `since` is from when on it is known to be so.
    pub fn card(card: AgentCard, keys: &SigningKeys, since: Timestamp) -> Self {
        if keys.is_empty() {
            Self::new(&card.hybrid(), since, FRESH)
        } else {
            Self::new(&keys.sign(card), since, FRESH)
        }
    }

    /// The keys that verify cards. They are the same for everybody.
    pub fn keys(keys: &SigningKeys, since: Timestamp) -> Self {
        Self::new(&keys.public(), since, "public, max-age=60")
    }

    fn new<T: Serialize>(value: &T, since: Timestamp, cache: &'static str) -> Self {
        let json = serde_json::to_vec(value).expect("maps with names as their keys");
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(&json)));
        let etag = HeaderValue::try_from(etag).expect("hexadecimal digits in quotes");
        let second = jiff::Timestamp::from_second(since.as_micros().div_euclid(1_000_000)).ok();
        let modified = second.and_then(|second| {
            let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&second).ok()?;
            Some((second, HeaderValue::try_from(date).ok()?))
        });
        Self { json: json.into(), etag, modified, cache }
    }

    /// The answer to a request for it. It can be read and nothing else.
    pub fn response(&self, method: &Method, request: &HeaderMap) -> Response<Bytes> {
        if *method != Method::GET && *method != Method::HEAD {
            let mut response = A2aError::new(Cause::VerbNotAllowed).response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let known = self.is_known(request);
        let body = if known || *method == Method::HEAD { Bytes::new() } else { self.json.clone() };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(self.cache));
        headers.insert(ETAG, self.etag.clone());
        if let Some((_, date)) = &self.modified {
            headers.insert(LAST_MODIFIED, date.clone());
        }
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        response
    }

    /// Whether the client has these bytes. A tag says it surely, so beside one a date is not looked
    /// at (RFC 9110 §13.2.2).
    fn is_known(&self, request: &HeaderMap) -> bool {
        if request.contains_key(IF_NONE_MATCH) {
            return request.get_all(IF_NONE_MATCH).iter().any(|tags| {
                let mut tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
                tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == self.etag)
            });
        }
        let mut dates = request.get_all(IF_MODIFIED_SINCE).iter();
        let (Some(date), None) = (dates.next(), dates.next()) else { return false };
        let date =
            date.to_str().ok().and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
        match (date, &self.modified) {
            (Some(date), Some((modified, _))) => *modified <= date,
            _ => false,
        }
    }
}
