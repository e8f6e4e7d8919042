use super::super::rest::{Routed, route};
use super::*;
use crate::types::Place;

fn to(operation: Operation, tenant: Option<&str>, ids: [Option<&str>; 2]) -> Routed {
    let [tenant, id, config] = [tenant, ids[0], ids[1]].map(|given| given.map(str::to_owned));
    Routed::To(operation, Place { tenant, id, config })
}

/// §3.2: every route, also below a tenant, with a slash behind, and with the colon escaped.
#[test]
fn each_route_leads_to_its_operation() {
    use Operation as O;
    for (method, path, operation, id) in [
        (Method::POST, "message:send", O::SendMessage, None),
        (Method::POST, "message:stream", O::SendStreamingMessage, None),
        (Method::GET, "tasks", O::ListTasks, None),
        (Method::GET, "tasks/42", O::GetTask, Some("42")),
        (Method::GET, "tasks/a%2Fb%20c", O::GetTask, Some("a/b c")),
        (Method::GET, "tasks/urn:x:42", O::GetTask, Some("urn:x:42")),
        (Method::POST, "tasks/42:cancel", O::CancelTask, Some("42")),
        (Method::POST, "tasks/urn:x:cancel", O::CancelTask, Some("urn:x")),
        (Method::POST, "tasks/42:subscribe", O::SubscribeToTask, Some("42")),
        (Method::GET, "tasks/42:subscribe", O::SubscribeToTask, Some("42")),
        (
            Method::POST,
            "tasks/42/pushNotificationConfigs",
            O::CreateTaskPushNotificationConfig,
            Some("42"),
        ),
        (
            Method::GET,
            "tasks/42/pushNotificationConfigs",
            O::ListTaskPushNotificationConfigs,
            Some("42"),
        ),
        (Method::GET, "extendedAgentCard", O::GetExtendedAgentCard, None),
    ] {
        assert_route(&method, path, operation, [id, None]);
    }
    for (method, operation) in [
        (Method::GET, O::GetTaskPushNotificationConfig),
        (Method::DELETE, O::DeleteTaskPushNotificationConfig),
    ] {
        let path = "tasks/42/pushNotificationConfigs/a:7";
        assert_route(&method, path, operation, [Some("42"), Some("a:7")]);
    }
}

fn assert_route(method: &Method, path: &str, operation: Operation, ids: [Option<&str>; 2]) {
    let escaped = path.replace(':', "%3A");
    for path in [format!("/{path}"), format!("/{path}/"), path.to_owned(), format!("/{escaped}")] {
        assert_eq!(route(&path, method), to(operation, None, ids), "{path}");
    }
    let below = format!("/acme%20inc/{path}");
    assert_eq!(route(&below, method), to(operation, Some("acme inc"), ids), "{below}");
}

/// B2.
#[tokio::test]
async fn an_unknown_path_and_a_wrong_verb_are_json_errors() {
    for path in ["/nothing", "/tasks/1/2", "/message", "/a/b/tasks", "/tasks/%FF", "/v1/card"] {
        let reply = ask(&agent(), request(Method::POST, path, "{}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(reply.error(), (404, "METHOD_NOT_FOUND".to_owned()));
        assert_eq!(reply.header("content-type"), "application/a2a+json");
    }
    for (method, path, allowed) in [
        (Method::GET, "/message:send", "POST"),
        (Method::PUT, "/message:stream", "POST"),
        (Method::DELETE, "/tasks/1", "GET"),
        (Method::GET, "/tasks/1:cancel", "POST"),
        (Method::DELETE, "/tasks/1:subscribe", "GET, POST"),
        (Method::PUT, "/tasks/1/pushNotificationConfigs", "GET, POST"),
        (Method::POST, "/acme/tasks", "GET"),
    ] {
        let reply = ask(&agent(), request(method, path, "")).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!((reply.error().0, reply.header("allow")), (405, allowed));
    }
}

#[tokio::test]
async fn a_body_is_json_of_either_type_or_nothing() {
    for content_type in ["application/json", "application/a2a+json", "Application/A2A+JSON; q=1"] {
        let mut request = request(Method::POST, "/message:send", TEXT_MESSAGE);
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        let reply = ask(&agent(), request).await;
        assert_eq!(reply.json()["task"]["id"], "t");
        assert_eq!(reply.header("content-type"), "application/a2a+json");
        assert_eq!(reply.header("cache-control"), "no-store");
    }
    for content_type in ["text/plain", ""] {
        let mut request = request(Method::POST, "/message:send", TEXT_MESSAGE);
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        let reply = ask(&agent(), request).await;
        assert_eq!(reply.error(), (400, "CONTENT_TYPE_NOT_SUPPORTED".to_owned()));
    }
    for (body, reason) in [("{", "PARSE_ERROR"), ("", "INVALID_PARAMS"), ("[]", "INVALID_PARAMS")] {
        let reply = ask(&agent(), request(Method::POST, "/message:send", body)).await;
        assert_eq!(reply.error(), (400, reason.to_owned()), "{body}");
    }
}

/// Kit 2.3.4: an empty body, whatever it claims to be.
#[tokio::test]
async fn a_task_is_canceled_with_an_empty_body() {
    for (path, body) in
        [("/tasks/x:cancel", ""), ("/tasks/x%3Acancel", " "), ("/tasks/x:cancel/", "{}")]
    {
        let reply = ask(&agent(), request(Method::POST, path, body)).await;
        assert_eq!(reply.json()["id"], "x", "{reply:?}");
    }
    let mut untyped = request(Method::POST, "/tasks/x:cancel", "");
    untyped.headers_mut().remove("content-type");
    assert_eq!(ask(&agent(), untyped).await.json()["id"], "x");
}

/// B3.
#[tokio::test]
async fn query_parameters_are_read_strictly() {
    let history = async |query: &str| {
        let reply = ask(&agent(), request(Method::GET, &format!("/tasks/x?{query}"), "")).await;
        match reply.status {
            StatusCode::OK => Ok(reply.json()["history"].as_array().map_or(0, Vec::len)),
            _ => Err(reply.error()),
        }
    };
    for (query, length) in [
        ("", 2),
        ("historyLength=1", 1),
        ("history_length=1", 1),
        ("historyLength=%31", 1),
        ("historyLength=0&unknown=5&&flag", 0),
        ("A2A-Version=1.0", 2),
    ] {
        assert_eq!(history(query).await, Ok(length), "{query}");
    }
    for bad in [
        "historyLength=",
        "historyLength=one",
        "historyLength=-1",
        "historyLength=1&historyLength=1",
        "historyLength=1&history_length=1",
        "x=%FF",
    ] {
        assert_eq!(history(bad).await, Err((400, "INVALID_PARAMS".to_owned())), "{bad}");
    }
}

/// Each is a value of its own, so that one hides no other.
#[tokio::test]
async fn all_wrong_query_parameters_are_named() {
    let query = "pageSize=0&status=FOO&historyLength=x&includeArtifacts=maybe";
    let reply = ask(&agent(), request(Method::GET, &format!("/tasks?{query}"), "")).await;
    for field in ["pageSize", "status", "historyLength", "includeArtifacts"] {
        assert!(
            reply.violations().to_string().contains(&format!(r#""field":"{field}""#)),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn a_plus_in_a_query_is_a_space() {
    let agent = agent();
    ask(&agent, request(Method::GET, "/tasks?pageToken=a+b%2B", "")).await;
    assert!(agent.asked.lock().unwrap()[0].contains(r#"page_token: Some("a b+")"#));
}

/// T1.
#[tokio::test]
async fn path_and_body_must_not_disagree() {
    let reply = ask(&agent(), request(Method::GET, "/tasks/x?id=y", "")).await;
    insta::assert_snapshot!(reply.violations(), @r#"[{"description":"differs from the path","field":"id"}]"#);
    let send = |path, tenant: &str| {
        let body = TEXT_MESSAGE.replacen('{', &format!(r#"{{"tenant":"{tenant}","#), 1);
        request(Method::POST, path, &body)
    };
    let reply = ask(&agent(), send("/acme/message:send", "other")).await;
    insta::assert_snapshot!(reply.violations(), @r#"[{"description":"differs from the path","field":"tenant"}]"#);
    for request in [
        send("/acme/message:send", "acme"),
        send("/acme/message:send", ""),
        send("/message:send", "acme"),
        request(Method::POST, "/acme/message:send", TEXT_MESSAGE),
    ] {
        let agent = agent();
        assert_eq!(ask(&agent, request).await.status, StatusCode::OK);
        assert!(agent.asked.lock().unwrap()[0].contains(r#"tenant: Some("acme")"#));
    }
}
