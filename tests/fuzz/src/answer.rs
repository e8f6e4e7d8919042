//! What an agent answers, in either binding and either version, and what must hold of any answer.

use http::Response;
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// What came back, checked.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The id of JSON-RPC, as text.
    pub(crate) id: Option<String>,
    /// The outcomes, in order: of a stream several, else one.
    pub(crate) outcomes: Vec<Outcome>,
}

/// A result as JSON text, or an error's reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Result(String),
    Refused(String),
}

impl Answer {
    /// Reads an answer in the version that it says it is of.
    pub(crate) fn read(response: &Response<()>, body: String, json_rpc: bool) -> Self {
        let status = response.status().as_u16();
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        let old = match header("a2a-version") {
            "1.0" => false,
            "0.3" => true,
            other => panic!("{other} is no version of ours"),
        };
        let texts = match header("content-type") {
            "text/event-stream" => crate::sse::read(&body).into_iter().map(|e| e.data).collect(),
            "application/json" if json_rpc || old => vec![body],
            "application/a2a+json" if !json_rpc && !old => vec![body],
            other => panic!("{other} is not of this binding"),
        };
        if json_rpc {
            let read: Vec<_> = texts.iter().map(|text| envelope(text)).collect();
            assert!(status == 200 || status == 405, "JSON-RPC answers with 200");
            let id = read.first().map(|(id, _)| id.clone());
            assert!(read.iter().all(|(other, _)| Some(other) == id.as_ref()));
            return Self { status, id, outcomes: read.into_iter().map(|(_, o)| o).collect() };
        }
        let read = if old { bare_v03 } else { bare };
        let outcomes: Vec<_> = texts.iter().map(|text| read(text)).collect();
        if let [Outcome::Refused(reason)] = outcomes.as_slice() {
            assert_eq!(cause(reason).http_status(), response.status(), "status and body agree");
            assert!(status >= 400);
        } else {
            assert_eq!(status, 200);
        }
        if status == 405 {
            assert!(response.headers().contains_key("allow"));
        }
        Self { status, id: None, outcomes }
    }
}

/// Reads a JSON-RPC response: exactly one of result and error.
fn envelope(text: &str) -> (String, Outcome) {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Envelope<'a> {
        jsonrpc: &'a str,
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow, default, deserialize_with = "there")]
        result: Option<&'a RawValue>,
        #[serde(default)]
        error: Option<Value>,
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).expect("a JSON-RPC response");
    assert_eq!(envelope.jsonrpc, "2.0");
    let outcome = match (envelope.result, envelope.error) {
        (Some(result), None) => Outcome::Result(result.get().to_owned()),
        (None, Some(error)) => {
            let code = error["code"].as_i64().unwrap();
            let reason = refusal(&error, "data");
            let cause = cause(&reason);
            assert_eq!(i64::from(cause.code()), code, "code and reason agree");
            Outcome::Refused(reason)
        }
        _ => panic!("exactly one of result and error: {text}"),
    };
    (envelope.id.get().to_owned(), outcome)
}

/// A member that is there, be it null.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// Reads a body of HTTP+JSON.
fn bare(text: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct MaybeError {
        error: Option<Value>,
    }
    let MaybeError { error } = serde_json::from_str(text).expect("answers are JSON objects");
    match error {
        Some(error) => {
            let reason = refusal(&error, "details");
            assert_eq!(error["status"], cause(&reason).grpc_name());
            assert_eq!(error["code"], cause(&reason).http_status().as_u16());
            Outcome::Refused(reason)
        }
        None => Outcome::Result(text.to_owned()),
    }
}

/// Reads a body of 0.3 over HTTP, whose errors have nothing around them.
fn bare_v03(text: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct MaybeError {
        code: Option<i32>,
    }
    assert!(text.starts_with('{'), "answers are JSON objects");
    let MaybeError { code } = serde_json::from_str(text).expect("answers are JSON");
    let Some(code) = code else { return Outcome::Result(text.to_owned()) };
    let reason = refusal(&serde_json::from_str(text).unwrap(), "data");
    assert_eq!(code, cause(&reason).code(), "code and reason agree");
    Outcome::Refused(reason)
}

/// The reason in an error's details, all of which say what they are.
fn refusal(error: &Value, details: &str) -> String {
    let details = error[details].as_array().expect("details are a list");
    assert!(details.iter().all(|detail| detail["@type"].is_string()));
    assert_eq!(details[0]["domain"], a2a::error::DOMAIN);
    let reason = details[0]["reason"].as_str().unwrap().to_owned();
    assert_ne!(cause(&reason), a2a::Cause::Internal, "nobody can make us fail");
    assert!(error["message"].as_str().is_some_and(|message| message.len() < 1000));
    reason
}

fn cause(reason: &str) -> a2a::Cause {
    let found = a2a::Cause::ALL.into_iter().find(|cause| cause.reason() == reason);
    found.expect("every reason is of the table")
}
