//! How an error is written.

use bytes::Bytes;
use http::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::{A2aError, DOMAIN, FieldViolation};

impl A2aError {
    /// The whole answer to a request that failed outside of a binding: the HTTP+JSON body, with its
    /// status and headers.
    pub fn response(&self) -> Response<Bytes> {
        let mut response = Response::new(self.body());
        *response.status_mut() = self.cause.http_status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        self.set_headers(headers);
        response
    }

    /// The HTTP+JSON body (A2A §11.6).
    pub fn body(&self) -> Bytes {
        // Strings, numbers and lists of them: there is nothing in it that JSON cannot hold.
        serde_json::to_vec(&self.rest()).unwrap_or_default().into()
    }

    /// The headers that say the same as the body, for those who read no bodies.
    pub(crate) fn set_headers(&self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(Ok(challenge)) = self.challenge.as_deref().map(HeaderValue::from_str) {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
    }

    /// The `error` member of a JSON-RPC response.
    pub(crate) const fn json_rpc(&self) -> impl Serialize + '_ {
        JsonRpcError(self)
    }

    /// The `google.rpc.Status` of the HTTP+JSON binding, below its `error` member.
    pub(crate) const fn rest(&self) -> impl Serialize + '_ {
        RestBody { error: RestError(self) }
    }
}

struct JsonRpcError<'a>(&'a A2aError);

impl Serialize for JsonRpcError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", &self.0.cause.code())?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("data", &Details(self.0))?;
        map.end()
    }
}

#[derive(serde::Serialize)]
struct RestBody<'a> {
    error: RestError<'a>,
}

struct RestError<'a>(&'a A2aError);

impl Serialize for RestError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("code", &self.0.cause.http_status().as_u16())?;
        map.serialize_entry("status", self.0.cause.grpc_name())?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("details", &Details(self.0))?;
        map.end()
    }
}

/// `ErrorInfo`, then `BadRequest` where fields are wrong (A2A §9.5, §11.6), then `RetryInfo` where
/// waiting helps.
struct Details<'a>(&'a A2aError);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = Detail::ErrorInfo {
            reason: self.0.cause.reason(),
            domain: DOMAIN,
            metadata: Metadata(&self.0.metadata),
        };
        let bad_request = (!self.0.violations.is_empty())
            .then_some(Detail::BadRequest { field_violations: &self.0.violations });
        let retry = self.0.retry_after.map(|seconds| Detail::RetryInfo {
            // The JSON of a protobuf Duration.
            retry_delay: format!("{seconds}s"),
        });
        serializer.collect_seq([Some(info), bad_request, retry].into_iter().flatten())
    }
}

#[derive(serde::Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        reason: &'static str,
        domain: &'static str,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata<'a>,
    },
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest", rename_all = "camelCase")]
    BadRequest { field_violations: &'a [FieldViolation] },
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo", rename_all = "camelCase")]
    RetryInfo { retry_delay: String },
}

struct Metadata<'a>(&'a [(&'static str, String)]);

impl Metadata<'_> {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
