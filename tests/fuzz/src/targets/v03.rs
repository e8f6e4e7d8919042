//! Version 0.3 in front of the same operations. Whatever a client of 0.3 sends over either binding,
//! the answer is one of 0.3; and what it asks the agent for is what the same request asks for that
//! is written anew in 1.0, by other rules than the reader's.

use bytes::Bytes;
use http::Request;
use serde_json::{Map, Value, json};

use crate::answer::Outcome;
use crate::params::{Pairs, placed, query};
use crate::world::{Asked, asked, everything};

/// Method, verb and path of 0.3, and the method of 1.0.
const OPERATIONS: [(&str, &str, &str, &str); 10] = [
    ("message/send", "POST", "v1/message:send", "SendMessage"),
    ("message/stream", "POST", "v1/message:stream", "SendStreamingMessage"),
    ("tasks/get", "GET", "v1/tasks/{id}", "GetTask"),
    ("tasks/cancel", "POST", "v1/tasks/{id}:cancel", "CancelTask"),
    ("tasks/resubscribe", "POST", "v1/tasks/{id}:subscribe", "SubscribeToTask"),
    (
        "tasks/pushNotificationConfig/set",
        "POST",
        "v1/tasks/{taskId}/pushNotificationConfigs",
        "CreateTaskPushNotificationConfig",
    ),
    (
        "tasks/pushNotificationConfig/get",
        "GET",
        "v1/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}",
        "GetTaskPushNotificationConfig",
    ),
    (
        "tasks/pushNotificationConfig/list",
        "GET",
        "v1/tasks/{id}/pushNotificationConfigs",
        "ListTaskPushNotificationConfigs",
    ),
    (
        "tasks/pushNotificationConfig/delete",
        "DELETE",
        "v1/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}",
        "DeleteTaskPushNotificationConfig",
    ),
    ("agent/getAuthenticatedExtendedCard", "GET", "v1/card", "GetExtendedAgentCard"),
];

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    JsonRpc,
    Rest,
}

/// The input is a letter for the operation, from `a` on, and its parameters as JSON.
pub(crate) fn check(input: &[u8]) {
    let Some((first, params)) = input.split_first() else { return };
    let Ok(params) = std::str::from_utf8(params) else { return };
    let (method, verb, path, new) = OPERATIONS[usize::from(first.wrapping_sub(b'a')) % 10];
    let raw = over_json_rpc(method, params);
    // Written again, so that no field comes twice and both versions get the same numbers.
    let Ok(Value::Object(read)) = serde_json::from_str(params) else { return };
    assert_eq!(raw.answer.id.as_deref(), Some("7"));
    let params = Value::Object(read.clone()).to_string();

    let json_rpc = over_json_rpc(method, &params);
    same_in_1_0(new, &read, Dialect::JsonRpc, &json_rpc);

    let Ok(pairs) = serde_json::from_str::<Pairs>(&params) else { return };
    let Some(path) = placed(path, &pairs.0) else { return };
    let (query, body) = if verb == "POST" {
        (String::new(), params)
    } else {
        let Some(query) = query(&pairs.0) else { return };
        (query, String::new())
    };
    let uri = format!("/{path}?{query}");
    let request = Request::builder().method(verb).uri(uri).header("a2a-version", "0.3");
    let request = request.header("content-type", "application/json").body(Bytes::from(body));
    let rest = asked(&everything(), &path, request.unwrap());
    assert_eq!(rest.headers["a2a-version"], "0.3");
    same_in_1_0(new, &read, Dialect::Rest, &rest);
    if !method.starts_with("message/") {
        assert_eq!(rest.calls, json_rpc.calls, "both bindings of 0.3");
    }
}

fn over_json_rpc(method: &str, params: &str) -> Asked {
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    post(body, None)
}

fn post(body: String, version: Option<&str>) -> Asked {
    let mut request = Request::post("/").header("content-type", "application/json");
    if let Some(version) = version {
        request = request.header("a2a-version", version);
    }
    asked(&everything(), "", request.body(Bytes::from(body)).unwrap())
}

/// What reached the agent in 0.3 reaches it in 1.0, and comes to the same.
fn same_in_1_0(method: &str, old: &Map<String, Value>, dialect: Dialect, in_0_3: &Asked) {
    if in_0_3.calls.is_empty() {
        return;
    }
    let (method, params) = translated(method, old, dialect);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let in_1_0 = post(body.to_string(), Some("1.0"));
    assert_eq!(in_0_3.calls, in_1_0.calls, "{body}");
    // One that may be any is taken from the list of all.
    if in_0_3.calls[0].0 == "ListTaskPushNotificationConfigs" {
        return;
    }
    let refused = |asked: &Asked| -> Vec<Option<String>> {
        let outcomes = asked.answer.outcomes.iter();
        let reason = |outcome: &Outcome| match outcome {
            Outcome::Result(_) => None,
            Outcome::Refused(reason) => Some(reason.clone()),
        };
        outcomes.map(reason).collect()
    };
    assert_eq!(refused(in_0_3), refused(&in_1_0), "{body}");
}

/// A request that was taken in 0.3, as 1.0 has it.
fn translated<'a>(method: &'a str, old: &Map<String, Value>, dialect: Dialect) -> (&'a str, Value) {
    let id = there(old, "id");
    let config = there(old, "pushNotificationConfigId").filter(|id| *id != "");
    let params = match method {
        "SendMessage" | "SendStreamingMessage" => json!({
            "message": there(old, "message").map(|message| message_of(message, dialect)),
            "configuration": configuration(there(old, "configuration"), dialect),
            "metadata": there(old, "metadata"),
        }),
        "GetTask" => json!({"id": id, "historyLength": length(old)}),
        "CancelTask" => json!({"id": id, "metadata": there(old, "metadata")}),
        "SubscribeToTask" => json!({"id": id}),
        "CreateTaskPushNotificationConfig" => {
            let config = match there(old, "config") {
                Some(nested) => there(object(nested), "pushNotificationConfig"),
                None => there(old, "pushNotificationConfig"),
            };
            let mut config = config.map(webhook).unwrap_or_default();
            let task = there(old, "taskId").cloned().unwrap_or_default();
            let named = [config["id"].clone(), there(old, "configId").cloned().unwrap_or_default()];
            let named = named.into_iter().find(|id| !id.is_null() && *id != "");
            config["id"] = named.unwrap_or_else(|| task.clone());
            config["taskId"] = task;
            config
        }
        "GetTaskPushNotificationConfig" if config.is_none() => {
            return translated("ListTaskPushNotificationConfigs", old, dialect);
        }
        "ListTaskPushNotificationConfigs" => json!({
            "taskId": id,
            "pageSize": there(old, "pageSize"),
            "pageToken": there(old, "pageToken"),
        }),
        "GetExtendedAgentCard" => json!({}),
        _ => json!({"taskId": id, "id": config}),
    };
    (method, params)
}

fn configuration(old: Option<&Value>, dialect: Dialect) -> Value {
    let none = Map::new();
    let old = old.map_or(&none, object);
    let blocking = match there(old, "blocking") {
        Some(blocking) => *blocking == true || *blocking == "true",
        None => dialect == Dialect::JsonRpc,
    };
    let names = ["pushNotificationConfig", "pushNotification"];
    let config = names.into_iter().find_map(|name| there(old, name));
    json!({
        "acceptedOutputModes": there(old, "acceptedOutputModes"),
        "historyLength": length(old),
        "returnImmediately": !blocking,
        "taskPushNotificationConfig": config.map(webhook),
    })
}

fn webhook(old: &Value) -> Value {
    let old = object(old);
    let authentication = there(old, "authentication").map(|authentication| {
        let authentication = object(authentication);
        let scheme = there(authentication, "schemes").and_then(|schemes| schemes.get(0));
        json!({"scheme": scheme, "credentials": there(authentication, "credentials")})
    });
    json!({
        "id": there(old, "id"),
        "url": there(old, "url"),
        "token": there(old, "token"),
        "authentication": authentication,
    })
}

fn message_of(old: &Value, dialect: Dialect) -> Value {
    let old = object(old);
    let role = there(old, "role").map(|role| match role.as_str() {
        Some("user") => json!("ROLE_USER"),
        Some("agent") => json!("ROLE_AGENT"),
        _ => role.clone(),
    });
    let parts = ["parts", "content"].into_iter().find_map(|name| there(old, name));
    let parts = parts.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    json!({
        "messageId": there(old, "messageId"),
        "contextId": there(old, "contextId"),
        "taskId": there(old, "taskId"),
        "role": role,
        "parts": parts.iter().map(|part| part_of(part, dialect)).collect::<Vec<_>>(),
        "metadata": there(old, "metadata"),
        "extensions": there(old, "extensions"),
        "referenceTaskIds": there(old, "referenceTaskIds"),
    })
}

fn part_of(old: &Value, dialect: Dialect) -> Value {
    let old = object(old);
    let mut new = Map::new();
    let mut put = |name: &str, value: Option<&Value>| {
        value.map(|value| new.insert(name.to_owned(), value.clone()));
    };
    put("text", there(old, "text"));
    put("metadata", there(old, "metadata"));
    if let Some(file) = there(old, "file").map(object) {
        let bytes = ["bytes", "fileWithBytes"].into_iter().find_map(|name| there(file, name));
        let uri = ["uri", "fileWithUri"].into_iter().find_map(|name| there(file, name));
        put("raw", bytes);
        put("url", uri);
        put("filename", there(file, "name"));
        put("mediaType", there(file, "mimeType"));
    }
    let mut data = there(old, "data");
    let says_its_kind = there(old, "kind").is_some_and(|kind| kind != "");
    if dialect == Dialect::Rest && !says_its_kind {
        data = data.and_then(|wrapped| there(object(wrapped), "data"));
    }
    put("data", data);
    Value::Object(new)
}

/// A length, of which zero is none.
fn length(of: &Map<String, Value>) -> Option<&Value> {
    let zero = |length: &Value| match length {
        Value::String(text) => text.parse() == Ok(0),
        number => number.as_f64() == Some(0.0),
    };
    there(of, "historyLength").filter(|length| !zero(length))
}

/// A field in either spelling. Null is as good as nothing.
fn there<'a>(of: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let field = |name: &str| of.get(name).filter(|value| !value.is_null());
    field(name).or_else(|| field(&snake(name)))
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// What was taken as an object is one.
fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}
