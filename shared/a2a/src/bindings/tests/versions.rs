//! V1, V2, V3: which version is spoken, and what is refused.

use super::*;

/// A request with this version in its header and this query.
fn versioned(mut request: Request<Bytes>, header: Option<&str>, query: &str) -> Request<Bytes> {
    request.headers_mut().remove("a2a-version");
    if let Some(header) = header {
        request.headers_mut().insert("a2a-version", header.parse().unwrap());
    }
    *request.uri_mut() = format!("{}?{query}", request.uri().path()).parse().unwrap();
    request
}

/// VER-SERVER-001.
#[tokio::test]
async fn a_version_is_taken_from_the_header_else_from_the_query() {
    for (header, query, spoken) in [
        (Some("1.0"), "", Some("1.0")),
        (Some("1.0.1"), "", Some("1.0")),
        (Some(" 1.0 "), "", Some("1.0")),
        (None, "A2A-Version=1.0", Some("1.0")),
        (None, "x=1&A2A-Version=1.0.7", Some("1.0")),
        (Some(""), "A2A-Version=1.0", Some("1.0")),
        (Some("1.0"), "A2A-Version=0.3", Some("1.0")),
        (None, "", Some("0.3")),
        (Some(""), "", Some("0.3")),
        (Some("0.3"), "", Some("0.3")),
        (Some("0.3.0"), "", Some("0.3")),
        (None, "A2A-Version=0.3", Some("0.3")),
        (Some("0.3"), "A2A-Version=1.0", Some("0.3")),
        (Some("1.1"), "", None),
        (Some("1"), "", None),
        (Some("0"), "", None),
        (Some("0.2"), "", None),
        (Some("2.0"), "", None),
        (Some("1.0.x"), "", None),
        (Some("1.0.0.0"), "", None),
        (Some("one"), "", None),
    ] {
        let get = r#"{"id":"x"}"#;
        let new = [rpc("GetTask", get), request(Method::GET, "/tasks/x", "")];
        let old = [rpc("tasks/get", get), request(Method::GET, "/v1/tasks/x", "")];
        for (version, requests) in [("1.0", new), ("0.3", old)] {
            for request in requests {
                let reply = ask(&agent(), versioned(request.clone(), header, query)).await;
                let rpc = request.uri().path() == "/";
                if spoken == Some(version) {
                    let task = if rpc { reply.json()["result"].clone() } else { reply.json() };
                    assert_eq!(task["id"], "x", "{version} {header:?} {query}");
                    assert_eq!(reply.header("a2a-version"), version);
                } else {
                    // A name of 0.3 in a request of 1.0 is no method; all else is another version.
                    let no_method = spoken == Some("1.0");
                    let code = match (no_method, rpc) {
                        (true, true) => -32601,
                        (true, false) => 404,
                        (false, true) => -32009,
                        (false, false) => 400,
                    };
                    assert_eq!(code_of(&reply), code, "{version} {header:?} {query}: {reply:?}");
                    if !no_method {
                        assert!(reply.text.contains(r#""supportedVersions":"0.3, 1.0""#));
                    }
                }
            }
        }
    }
}

/// The JSON-RPC code, or the HTTP status over HTTP+JSON.
fn code_of(reply: &Reply) -> i64 {
    match reply.json()["jsonrpc"].as_str() {
        Some(_) => reply.error().0,
        None => i64::from(reply.status.as_u16()),
    }
}

/// Nobody guesses from a number what is missing.
#[tokio::test]
async fn a_request_of_1_0_without_its_version_is_told_to_send_it() {
    for request in [rpc("GetTask", r#"{"id":"x"}"#), request(Method::GET, "/tasks/x", "")] {
        let reply = ask(&agent(), versioned(request, None, "")).await;
        assert!(reply.text.contains("this is of A2A 1.0: send A2A-Version: 1.0;"), "{reply:?}");
    }
    for request in [rpc("tasks/get", r#"{"id":"x"}"#), request(Method::GET, "/v1/tasks/x", "")] {
        let reply = ask(&agent(), versioned(request, Some("1.0"), "")).await;
        assert!(reply.text.contains("this is of A2A 0.3"), "{reply:?}");
    }
}

#[tokio::test]
async fn two_headers_with_a_version_are_none_that_we_speak() {
    let mut request = rpc("GetTask", r#"{"id":"x"}"#);
    request.headers_mut().append("a2a-version", "1.0".parse().unwrap());
    assert_eq!(ask(&agent(), request).await.error().0, -32009);
}

/// A tenant may be called as the paths of 0.3 begin.
#[tokio::test]
async fn a_tenant_called_v1_is_reached_in_1_0_and_hides_nothing_of_0_3() {
    let profile = Profile { tenants: vec!["v1".to_owned()], ..profile() };
    let path = "/v1/tasks/x";
    let asked = async |header| {
        let (agent, request) = (agent(), request(Method::GET, path, ""));
        ask_offering(&profile, &agent, versioned(request, Some(header), "")).await;
        agent.asked.lock().unwrap()[0].clone()
    };
    assert!(asked("1.0").await.contains(r#"tenant: Some("v1")"#));
    assert!(asked("0.3").await.contains("tenant: None"));
}

/// X1.
mod extensions {
    use super::*;
    use crate::profile::OfferedExtension;

    const TRACE: &str = "https://example.com/trace/v1";
    const FORMS: &str = "https://example.com/forms/v2";

    fn offering(required: &[&str]) -> Profile {
        let extensions = [TRACE, FORMS]
            .map(|uri| OfferedExtension { uri: uri.to_owned(), required: required.contains(&uri) });
        Profile { extensions: extensions.to_vec(), ..profile() }
    }

    fn asking(mut request: Request<Bytes>, name: &'static str, values: &[&str]) -> Request<Bytes> {
        for value in values {
            request.headers_mut().append(name, value.parse().unwrap());
        }
        request
    }

    fn requests() -> [Request<Bytes>; 3] {
        [
            rpc("GetTask", r#"{"id":"x"}"#),
            request(Method::GET, "/tasks/x", ""),
            request(Method::GET, "/tasks/x:subscribe", ""),
        ]
    }

    #[tokio::test]
    async fn those_that_are_known_are_activated_and_named_in_the_answer() {
        for (values, activated) in [
            (vec![], ""),
            (vec!["https://example.com/unknown"], ""),
            // Another version of a known one is another extension.
            (vec!["https://example.com/forms/v1, https://example.com/trace"], ""),
            (vec![TRACE], TRACE),
            (vec!["https://example.com/forms/v2 ,x,  https://example.com/trace/v1"], BOTH),
            (vec![FORMS, "x", TRACE, TRACE], BOTH),
        ] {
            for request in requests() {
                let request = asking(request, "a2a-extensions", &values);
                let reply = ask_offering(&offering(&[]), &agent(), request).await;
                assert_eq!(reply.status, StatusCode::OK);
                assert_eq!(reply.header("a2a-extensions"), activated, "{values:?}");
            }
        }
    }

    const BOTH: &str = "https://example.com/trace/v1, https://example.com/forms/v2";

    /// Also in the answer to a request that fails.
    #[tokio::test]
    async fn a_required_one_that_is_absent_is_named_in_the_refusal() {
        let offered = offering(&[FORMS]);
        for request in requests() {
            let rest = request.uri().path() != "/";
            let reply = ask_offering(
                &offered,
                &agent(),
                asking(request.clone(), "a2a-extensions", &[TRACE]),
            )
            .await;
            let code = if rest { 400 } else { -32008 };
            assert_eq!(reply.error(), (code, "EXTENSION_SUPPORT_REQUIRED".to_owned()));
            assert!(reply.text.contains(&format!(r#""requiredExtensions":"{FORMS}""#)));
            assert_eq!(reply.header("a2a-extensions"), TRACE);
            let request = asking(request, "a2a-extensions", &[FORMS]);
            assert_eq!(ask_offering(&offered, &agent(), request).await.status, StatusCode::OK);
        }
    }

    #[tokio::test]
    async fn every_operation_asks_for_the_required_ones() {
        for operation in Operation::ALL {
            let request = rpc(operation.name(), "{}");
            let reply = ask_offering(&offering(&[FORMS]), &agent(), request).await;
            assert_eq!(reply.error().0, -32008, "{operation:?}");
        }
    }

    #[tokio::test]
    async fn a_request_of_0_3_may_use_the_old_name_of_the_header() {
        for name in ["x-a2a-extensions", "a2a-extensions"] {
            let request = versioned(rpc("tasks/get", r#"{"id":"x"}"#), None, "");
            let request = asking(request, name, &[FORMS]);
            let reply = ask_offering(&offering(&[FORMS]), &agent(), request).await;
            assert_eq!(reply.json()["result"]["id"], "x");
            assert_eq!(reply.header("x-a2a-extensions"), FORMS);
        }
    }
}
