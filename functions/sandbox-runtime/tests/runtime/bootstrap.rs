//! From a server that belongs to nobody to one that belongs to us.

use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::LsRequest;
use sandbox_protocol::health::HealthStatus;
use sandbox_protocol::runtime_token;

use crate::support::{Server, answer, code, http, id};

#[tokio::test]
async fn scenario_13_before_the_bootstrap_only_health_and_hooks_answer() {
    let server = Server::launch(&[]).await;
    for (method, path) in [
        ("POST", "/v1/fs/ls"),
        ("PUT", "/v1/execs/1"),
        ("PUT", "/v1/lease"),
        ("POST", "/execute"),
        ("GET", "/nowhere"),
    ] {
        let refused = answer(server.request(method, path)).await;
        assert_eq!(refused, (503, "not_ready".to_owned()), "{method} {path}");
    }
    let reply = http().get(format!("{}/healthz", server.control_url())).send().await.unwrap();
    assert_eq!(reply.status(), 503);
    let health = server.stranger().health().await.unwrap();
    assert_eq!(health.status, HealthStatus::Starting);
    assert!(health.workspace.writable);
    server.hooks().ready().await.unwrap();
    server.hooks().validate().await.unwrap();
}

#[tokio::test]
async fn after_the_bootstrap_it_says_whose_it_is() {
    let server = Server::start().await;
    let health = server.stranger().health().await.unwrap();
    assert_eq!(health.status, HealthStatus::Ok);
    assert_eq!((health.instance_id, health.generation), (Some(server.instance), Some(5)));
    assert_eq!(health.workspace_root, server.workspace().to_str().unwrap());
    assert_eq!(health.caps.separate_user, server.uid.is_some());
    server.client().ls(&LsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn scenario_14_the_first_bootstrap_stays() {
    let server = Server::start().await;
    server.hooks().run(&server.payload()).await.unwrap();
    let mut other = server.payload();
    other.auth.0 = runtime_token(b"another key", server.instance);
    assert_eq!(code(server.hooks().run(&other).await), ErrorCode::Conflict);
    let mut other = server.payload();
    other.instance_id = id(78);
    assert_eq!(code(server.hooks().run(&other).await), ErrorCode::Conflict);
    server.client().ls(&LsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn scenario_15_the_envelope_of_the_run_hook_is_read_leniently() {
    let server = Server::launch(&[]).await;
    let payload: serde_json::Value = serde_json::from_str(&server.payload().to_text()).unwrap();
    let envelope = serde_json::json!({ "runHookPayload": payload, "later": { "x": 1 } });
    let url = format!("{}/aws/lambda-microvms/runtime/v1/run", server.hook_url());
    let reply = http().post(url).body(envelope.to_string()).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    server.hooks().run(&server.payload()).await.unwrap();
    server.client().ls(&LsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_bootstrap_that_is_not_whole_is_refused_and_the_next_one_counts() {
    let server = Server::launch(&[]).await;
    let url = format!("{}/aws/lambda-microvms/runtime/v1/run", server.hook_url());
    for body in ["", "{}", "[]", r#"{"runHookPayload":"{\"v\":1}"}"#] {
        let refused = answer(http().post(&url).body(body)).await;
        assert_eq!(refused, (400, "bad_request".to_owned()), "{body}");
    }
    let huge = answer(http().post(&url).body(" ".repeat(65_537))).await;
    assert_eq!(huge, (413, "too_large".to_owned()));
    server.hooks().run(&server.payload()).await.unwrap();
}

#[tokio::test]
async fn scenario_18_hooks_are_posts_on_their_own_port() {
    let server = Server::start().await;
    let hook = "/aws/lambda-microvms/runtime/v1/terminate";
    let get = answer(http().get(format!("{}{hook}", server.hook_url()))).await;
    assert_eq!(get, (405, "method_not_allowed".to_owned()));
    let control = answer(server.request("POST", hook)).await;
    assert_eq!(control, (404, "not_found".to_owned()));
    let bare = answer(http().post(format!("{}/terminate", server.hook_url()))).await;
    assert_eq!(bare, (404, "not_found".to_owned()));
    assert_eq!(server.stranger().health().await.unwrap().status, HealthStatus::Ok);
}

#[tokio::test]
async fn the_workspace_that_cannot_be_written_is_not_ready() {
    let server = Server::launch(&[]).await;
    std::fs::remove_dir(server.workspace()).unwrap();
    assert_eq!(code(server.hooks().ready().await), ErrorCode::NotReady);
    assert!(server.hooks().run(&server.payload()).await.is_err());
    std::fs::create_dir(server.workspace()).unwrap();
    if let Some(uid) = server.uid {
        std::os::unix::fs::chown(server.workspace(), Some(uid), Some(uid)).unwrap();
    }
    server.hooks().run(&server.payload()).await.unwrap();
}
