//! How a request gets onto the wire, and an answer off it.

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Map, Value, json};

use super::{Binding, Client, Outcome, Refusal, list};

/// The `id` of every JSON-RPC request here.
pub(super) const ID: &str = "the client's id";

/// A2A section 5.4: reason, JSON-RPC code, HTTP status, gRPC name.
#[rustfmt::skip]
const ERRORS: [(&str, i64, u16, &str); 15] = [
    ("PARSE_ERROR", -32700, 400, "INVALID_ARGUMENT"),
    ("INVALID_REQUEST", -32600, 400, "INVALID_ARGUMENT"),
    ("METHOD_NOT_FOUND", -32601, 404, "NOT_FOUND"),
    ("METHOD_NOT_ALLOWED", -32601, 405, "UNIMPLEMENTED"),
    ("INVALID_PARAMS", -32602, 400, "INVALID_ARGUMENT"),
    ("INTERNAL_ERROR", -32603, 500, "INTERNAL"),
    ("TASK_NOT_FOUND", -32001, 404, "NOT_FOUND"),
    ("TASK_NOT_CANCELABLE", -32002, 400, "FAILED_PRECONDITION"),
    ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400, "FAILED_PRECONDITION"),
    ("UNSUPPORTED_OPERATION", -32004, 400, "FAILED_PRECONDITION"),
    ("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, "INVALID_ARGUMENT"),
    ("INVALID_AGENT_RESPONSE", -32006, 500, "INTERNAL"),
    ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 400, "FAILED_PRECONDITION"),
    ("EXTENSION_SUPPORT_REQUIRED", -32008, 400, "FAILED_PRECONDITION"),
    ("VERSION_NOT_SUPPORTED", -32009, 400, "FAILED_PRECONDITION"),
];

pub(super) fn request(client: &Client, operation: &str, params: &Value) -> RequestBuilder {
    match client.binding {
        Binding::JsonRpc => {
            let mut params = params.clone();
            if let Some(tenant) = &client.tenant {
                params["tenant"] = tenant.as_str().into();
            }
            let body = json!({"jsonrpc": "2.0", "id": ID, "method": operation, "params": params});
            client
                .plain(Method::POST, &client.endpoint())
                .header("content-type", "application/json")
                .body(body.to_string())
        }
        Binding::HttpJson => {
            let mut params = params.as_object().cloned().unwrap_or_default();
            let (method, path) = route(operation, &mut params);
            let tenant = client.tenant.iter().map(|tenant| format!("/{tenant}"));
            let url = format!("{}{}{path}", client.endpoint(), tenant.collect::<String>());
            if method != Method::POST {
                let query = query(&params);
                let mark = if query.is_empty() { "" } else { "?" };
                return client.plain(method, &format!("{url}{mark}{query}"));
            }
            client
                .plain(method, &url)
                .header("content-type", "application/a2a+json")
                .body(Value::from(params).to_string())
        }
    }
}

/// Method and path of an operation; what the path says is taken out of the parameters.
fn route(operation: &str, params: &mut Map<String, Value>) -> (Method, String) {
    let mut take = |name: &str| match params.remove(name) {
        Some(Value::String(id)) => segment(&id),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    match operation {
        "SendMessage" => (Method::POST, "/message:send".to_owned()),
        "SendStreamingMessage" => (Method::POST, "/message:stream".to_owned()),
        "GetTask" => (Method::GET, format!("/tasks/{}", take("id"))),
        "ListTasks" => (Method::GET, "/tasks".to_owned()),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", take("id"))),
        "SubscribeToTask" => (Method::POST, format!("/tasks/{}:subscribe", take("id"))),
        "CreateTaskPushNotificationConfig" => (Method::POST, configs(&take("taskId"))),
        "ListTaskPushNotificationConfigs" => (Method::GET, configs(&take("taskId"))),
        "GetTaskPushNotificationConfig" => {
            (Method::GET, format!("{}/{}", configs(&take("taskId")), take("id")))
        }
        "DeleteTaskPushNotificationConfig" => {
            (Method::DELETE, format!("{}/{}", configs(&take("taskId")), take("id")))
        }
        "GetExtendedAgentCard" => (Method::GET, "/extendedAgentCard".to_owned()),
        other => panic!("{other} is no operation"),
    }
}

fn configs(task: &str) -> String {
    format!("/tasks/{task}/pushNotificationConfigs")
}

fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn query(params: &Map<String, Value>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in params {
        match value {
            Value::String(text) => query.append_pair(name, text),
            other => query.append_pair(name, &other.to_string()),
        };
    }
    query.finish()
}

/// Reads an answer that is no stream, and holds it against what every answer owes.
pub(super) async fn outcome(binding: Binding, response: Response) -> Outcome {
    let status = response.status().as_u16();
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    // Answers are for their client: nobody keeps one, and it alone the extended card.
    let caching = response.headers()["cache-control"].to_str().unwrap();
    assert!(["no-store", "private, max-age=60"].contains(&caching), "{caching}");
    let body = response.bytes().await.unwrap();
    if binding == Binding::HttpJson && status == 204 {
        return Ok(json!({}));
    }
    let body: Value = serde_json::from_slice(&body)
        .unwrap_or_else(|_| panic!("{status} {}", String::from_utf8_lossy(&body)));
    match binding {
        Binding::JsonRpc => {
            assert_eq!((status, &*media_type), (200, "application/json"), "B1: {body}");
            assert_eq!(body["id"], ID, "B1: the id comes back: {body}");
            json_rpc(body)
        }
        Binding::HttpJson => {
            assert_eq!(media_type, "application/a2a+json", "B2: {body}");
            if status == 200 { Ok(body) } else { Err(http_json(status, &body["error"])) }
        }
    }
}

/// The outcome that a JSON-RPC response tells.
pub(super) fn json_rpc(mut response: Value) -> Outcome {
    assert_eq!(response["jsonrpc"], "2.0", "{response}");
    match response.get("error") {
        None => Ok(response["result"].take()),
        Some(error) => {
            assert!(response.get("result").is_none(), "{response}");
            let refusal = refusal(error, &error["data"]);
            let (_, code, ..) = row(&refusal.reason);
            assert_eq!(error["code"], code, "E1: {response}");
            Err(refusal)
        }
    }
}

/// The refusal that the `error` of HTTP+JSON tells.
pub(super) fn http_json(status: u16, error: &Value) -> Refusal {
    let refusal = refusal(error, &error["details"]);
    let (_, _, expected, name) = row(&refusal.reason);
    assert_eq!(status, expected, "E1: {error}");
    assert_eq!(error["code"], status, "E2: {error}");
    assert_eq!(error["status"], name, "E2: {error}");
    refusal
}

fn row(reason: &str) -> (&'static str, i64, u16, &'static str) {
    let found = ERRORS.into_iter().find(|(known, ..)| *known == reason);
    found.unwrap_or_else(|| panic!("{reason} is in no table"))
}

fn refusal(error: &Value, details: &Value) -> Refusal {
    let details = list(details);
    let of_type = |name: &str| {
        let name = format!("type.googleapis.com/google.rpc.{name}");
        details.iter().find(|detail| detail["@type"] == name.as_str())
    };
    assert!(details.iter().all(|detail| detail["@type"].is_string()), "E3: {error}");
    let info = of_type("ErrorInfo").unwrap_or_else(|| panic!("E2: no ErrorInfo: {error}"));
    assert_eq!(info["domain"], "a2a-protocol.org", "E2: {error}");
    let mut metadata = info["metadata"].clone();
    if let Some(entries) = metadata.as_object_mut() {
        entries.remove("requestId");
        assert!(entries.values().all(Value::is_string), "E2: {error}");
    }
    let fields = match of_type("BadRequest") {
        None => Vec::new(),
        Some(bad) => list(&bad["fieldViolations"])
            .iter()
            .map(|violation| {
                assert!(violation["description"].is_string(), "E3: {error}");
                violation["field"].as_str().unwrap().to_owned()
            })
            .collect(),
    };
    Refusal {
        reason: info["reason"].as_str().unwrap().to_owned(),
        message: error["message"].as_str().unwrap().to_owned(),
        fields,
        metadata,
    }
}
