//! The JSON-RPC envelope. Whatever the body is, the answer is one JSON-RPC response with exactly one
//! of result and error, to the id that was sent, and the same each time.

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::world::ask;

/// The input is the body.
pub(crate) fn check(input: &[u8]) {
    let request = || {
        Request::post("/")
            .header("content-type", "application/json; charset=utf-8")
            .header("a2a-version", "1.0")
            .body(Bytes::copy_from_slice(input))
            .unwrap()
    };
    let answer = ask("", request());
    assert_eq!(ask("/", request()), answer);
    // Where another reader sees an object with one short id, that is the one we answer to.
    let Ok(Value::Object(envelope)) = serde_json::from_slice(input) else { return };
    let text = std::str::from_utf8(input).unwrap();
    if text.matches("id\"").count() == 1
        && let Some(Value::String(id)) = envelope.get("id")
        && id.len() < 100
    {
        let echoed: Value = serde_json::from_str(answer.id.as_deref().unwrap()).unwrap();
        assert!(echoed == id.as_str() || echoed.is_null());
    }
}
