//! Both bindings give one request one outcome: the same result, letter by letter, or a refusal for
//! the same reason.

use std::fmt::Write as _;

use bytes::Bytes;
use http::Request;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

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

/// The path with its parameters. `None` where a parameter is missing, or could be read otherwise
/// in a path.
fn placed(path: &str, pairs: &[(String, Value)]) -> Option<String> {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, at)| Some((before, at.split_once('}')?)))
    {
        let snake = if name == "taskId" { "task_id" } else { name };
        let mut values = pairs.iter().filter(|(key, _)| key == name || key == snake);
        let (Some((_, Value::String(id))), None) = (values.next(), values.next()) else {
            return None;
        };
        // A colon would be read as the start of a verb.
        if id.is_empty() || id.contains(':') {
            return None;
        }
        out.push_str(before);
        write!(out, "{}", utf8_percent_encode(id, NON_ALPHANUMERIC)).unwrap();
        rest = after;
    }
    Some(out + rest)
}

/// Parameters as a query. `None` where a query cannot say the same.
fn query(pairs: &[(String, Value)]) -> Option<String> {
    let mut query = String::new();
    for (name, value) in pairs {
        let value = match value {
            // In a query every value is a text, and an enum is its name.
            Value::String(text) if !name.starts_with("include") => text.clone(),
            Value::Number(number) if name != "status" && number.is_i64() => number.to_string(),
            Value::Bool(yes) if name.starts_with("include") => yes.to_string(),
            _ => return None,
        };
        let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        write!(query, "{}={}&", escaped(name), escaped(&value)).unwrap();
    }
    Some(query)
}

/// The members of an object, also those that come twice.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
