//! JSON-RPC 2.0: one endpoint, the operation in the body, HTTP 200 whatever the agent answers.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::framing::Framing;
use super::v03::{self, Dialect};
use super::version::{self, Version};
use super::{Ask, Call, Refusal, content_type};
use crate::codec;
use crate::error::{A2aError, Cause};
use crate::operations::Operation;
use crate::types::Place;

/// The longest id that is repeated. Each event of a stream carries it.
const MAX_ID_BYTES: usize = 1024;

/// Reads a request, and how to answer it. An error answers to the request's id where that can be
/// told.
pub(super) fn read(ask: &Ask<'_>) -> (Framing, Result<Call, Refusal>) {
    let version = ask.version.clone().unwrap_or(Version::V10);
    let framing = |id| Framing::json_rpc(id, version);
    if ask.request.method() != http::Method::POST {
        return (framing(None), Err(Refusal::NotAllowed { allowed: "POST" }));
    }
    // The content type comes before the body, which may then be anything.
    let typed = content_type(ask.request.headers()).as_deref() == Some("application/json");
    let envelope = std::str::from_utf8(ask.request.body())
        .map_err(|_| A2aError::new(Cause::Parse))
        .and_then(Envelope::read);
    match envelope {
        _ if !typed => {
            let id = envelope.ok().and_then(|envelope| envelope.id().ok());
            let error = A2aError::because(
                Cause::ContentTypeNotSupported,
                "the content type is application/json",
            );
            (framing(id), Err(error.into()))
        }
        Err(error) => (framing(None), Err(error.into())),
        Ok(envelope) => match envelope.id() {
            Ok(id) => match envelope.method(&ask.version) {
                Ok((version, operation)) => {
                    let framing =
                        Framing::json_rpc(Some(id), version).streaming(operation.streams());
                    (framing, envelope.call(version, operation, ask).map_err(Refusal::from))
                }
                // What exists in no version is refused in the newest.
                Err(error) => (Framing::json_rpc(Some(id), Version::V10), Err(error.into())),
            },
            Err(error) => (framing(None), Err(error.into())),
        },
    }
}

/// A request's members, none of them looked into.
#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    fn read(text: &'a str) -> Result<Self, A2aError> {
        if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|_| {
                let json = codec::is_json(text);
                A2aError::new(if json { Cause::InvalidRequest } else { Cause::Parse })
            })
        } else if !codec::is_json(text) {
            Err(A2aError::new(Cause::Parse))
        } else if text.trim_start().starts_with('[') {
            Err(A2aError::because(Cause::InvalidRequest, "batches are not supported"))
        } else {
            Err(A2aError::because(Cause::InvalidRequest, "a request is an object"))
        }
    }

    /// The id to repeat: a string, a number or null, as it was written. None at all counts as null:
    /// every operation here has an answer, and its sender waits for it.
    fn id(&self) -> Result<Box<RawValue>, A2aError> {
        let Some(id) = self.id else { return Ok(RawValue::NULL.to_owned()) };
        let scalar = id.get().starts_with(|c: char| matches!(c, '"' | '-') || c.is_ascii_digit());
        if scalar && id.get().len() <= MAX_ID_BYTES {
            Ok(id.to_owned())
        } else {
            let message = "the id is a string, a number or null, and short";
            Err(A2aError::because(Cause::InvalidRequest, message))
        }
    }

    /// What is asked for, and in which version.
    fn method(&self, asked: &Result<Version, A2aError>) -> Result<(Version, Operation), A2aError> {
        if string(self.jsonrpc).as_deref() != Some("2.0") {
            return Err(A2aError::because(Cause::InvalidRequest, "jsonrpc is \"2.0\""));
        }
        let name = string(self.method)
            .ok_or_else(|| A2aError::because(Cause::InvalidRequest, "method is a string"))?;
        let (new, old) = (Operation::by_name(&name), v03::method(&name));
        match (asked, new, old) {
            (Ok(Version::V10), Some(operation), _) => Ok((Version::V10, operation)),
            (Ok(Version::V03), _, Some(operation)) => Ok((Version::V03, operation)),
            // A client of 1.0 that does not say so.
            (Ok(Version::V03), Some(_), None) => Err(version::of_1_0()),
            (Ok(Version::V10), None, Some(_)) => Err(version::of_0_3()),
            (Err(unsupported), Some(_), _) | (Err(unsupported), _, Some(_)) => {
                Err(unsupported.clone())
            }
            _ => Err(A2aError::new(Cause::MethodNotFound)),
        }
    }

    fn call(
        &self,
        version: Version,
        operation: Operation,
        ask: &Ask<'_>,
    ) -> Result<Call, A2aError> {
        let params = self.params.map_or("{}", RawValue::get);
        let parse = |text: &str| match version {
            Version::V10 => Call::parse(operation, text, Place::default()),
            Version::V03 => v03::parse(operation, text, Place::default(), Dialect::JsonRpc),
        };
        Call::read(operation, ask, || codec::all_wrong(params, parse))
    }
}

fn string(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}
