//! The headers of the protocol. Only the versions that are written like ours are served, and the
//! rest is refused in the same way by both bindings.

use bytes::Bytes;
use http::{HeaderValue, Request};

use crate::answer::{Answer, Outcome};
use crate::world::ask;

/// The input is a line each for `A2A-Version`, `A2A-Extensions`, `Last-Event-ID` and the content
/// type; a missing line is a missing header.
pub(crate) fn check(input: &[u8]) {
    let names = ["a2a-version", "a2a-extensions", "last-event-id", "content-type"];
    let values: Vec<_> = input
        .split(|byte| *byte == b'\n')
        .zip(names)
        .filter_map(|(line, name)| Some((name, HeaderValue::from_bytes(line).ok()?)))
        .collect();
    let send = |path: &str, body: &'static str| -> Answer {
        let mut request =
            Request::post(format!("/{path}")).body(Bytes::from_static(body.as_bytes()));
        for (name, value) in &values {
            request.as_mut().unwrap().headers_mut().append(*name, value.clone());
        }
        ask(path, request.unwrap())
    };
    let cancel = r#"{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"t"}}"#;
    let json_rpc = send("", cancel);
    let rest = send("tasks/t:cancel", r#"{"id":"t"}"#);
    let typed = values.iter().find(|(name, _)| *name == "content-type");
    let typed = typed.and_then(|(_, value)| value.to_str().ok()).unwrap_or_default();
    let essence = typed.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // The one difference: HTTP+JSON has a type of its own.
    if essence == "application/json" {
        assert_eq!(json_rpc.outcomes, rest.outcomes);
    }
    let version = values.iter().find(|(name, _)| *name == "a2a-version");
    let version = version.and_then(|(_, value)| value.to_str().ok()).unwrap_or_default().trim();
    if let [Outcome::Result(_)] = rest.outcomes.as_slice() {
        assert!(is_1_0(version), "{version:?} is served as 1.0");
    } else if ["application/json", "application/a2a+json"].contains(&essence.as_str()) {
        assert!(!is_1_0(version), "{version:?} is refused: {rest:?}");
    }
    let stream = r#"{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t"}}"#;
    send("", stream);
}

/// `1.0`, or with a patch number.
fn is_1_0(version: &str) -> bool {
    match version.strip_prefix("1.0") {
        Some("") => true,
        Some(patch) => patch.strip_prefix('.').is_some_and(|patch| patch.parse::<u32>().is_ok()),
        None => false,
    }
}
