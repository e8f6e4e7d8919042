//! Both bindings give one request one outcome: the same result, letter by letter, or a refusal for
//! the same reason.

use bytes::Bytes;
use http::Request;

use crate::params::{Pairs, placed, query};
use crate::world::ask;

/// An operation as HTTP+JSON has it: verb, path with `{id}` and `{config}`, and which parameters
/// these are.
const OPERATIONS: [(&str, &str, &str); 11] = [
    ("SendMessage", "POST", "message:send"),
    ("SendStreamingMessage", "POST", "message:stream"),
    ("GetTask", "GET", "tasks/{id}"),
    ("ListTasks", "GET", "tasks"),
    ("CancelTask", "POST", "tasks/{id}:cancel"),
    ("SubscribeToTask", "POST", "tasks/{id}:subscribe"),
    ("CreateTaskPushNotificationConfig", "POST", "tasks/{taskId}/pushNotificationConfigs"),
    ("ListTaskPushNotificationConfigs", "GET", "tasks/{taskId}/pushNotificationConfigs"),
    ("GetTaskPushNotificationConfig", "GET", "tasks/{taskId}/pushNotificationConfigs/{id}"),
    ("DeleteTaskPushNotificationConfig", "DELETE", "tasks/{taskId}/pushNotificationConfigs/{id}"),
    ("GetExtendedAgentCard", "GET", "extendedAgentCard"),
];

/// The input is a letter for the operation, from `a` on, and its parameters as JSON.
pub(crate) fn check(input: &[u8]) {
    let Some((first, params)) = input.split_first() else { return };
    let Ok(params) = std::str::from_utf8(params) else { return };
    let at = usize::from(first.wrapping_sub(b'a')) % OPERATIONS.len();
    let (method, verb, path) = OPERATIONS[at];
    let Ok(pairs) = serde_json::from_str::<Pairs>(params) else { return };
    let Some(path) = placed(path, &pairs.0) else { return };
    let (query, body) = if verb == "POST" {
        (String::new(), params.to_owned())
    } else {
        let Some(query) = query(&pairs.0) else { return };
        (query, String::new())
    };
    let json_rpc = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    let request = |verb: &str, uri: String, body: String| {
        Request::builder()
            .method(verb)
            .uri(uri)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Bytes::from(body))
            .unwrap()
    };
    let json_rpc = ask("", request("POST", "/".to_owned(), json_rpc));
    let rest = ask(&path, request(verb, format!("/{path}?{query}"), body));
    assert_eq!(json_rpc.id.as_deref(), Some("7"));
    assert_eq!(json_rpc.outcomes, rest.outcomes, "{method} and {verb} {path}?{query}");
}
