//! Discovery, scope and visibility: publication scenarios 1 to 7.

use serde_json::{Value, json};
use testkit::on_both;

use crate::common::{Call, message, scene};

const CARD: &str = "/a2a/researcher/.well-known/agent-card.json";

#[tokio::test]
async fn scenario_1_a_card_says_what_the_agent_can() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let reply = Call::get(CARD).send(&scene).await;
        assert_eq!(reply.status, 200);
        let card = reply.json();
        assert_eq!(
            card["capabilities"],
            json!({"streaming": true, "pushNotifications": false, "extendedAgentCard": false})
        );
        let bindings: Vec<&str> = card["supportedInterfaces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|interface| interface["protocolBinding"].as_str().unwrap())
            .collect();
        assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]);
        let url = card["supportedInterfaces"][0]["url"].as_str().unwrap();
        assert_eq!(url, "https://agents.example.com/a2a/researcher");
        assert_eq!(reply.headers["cache-control"], "private, max-age=60");
        let again = Call::get(CARD).send(&scene).await;
        assert_eq!(again.headers["etag"], reply.headers["etag"]);
        let etag = reply.headers["etag"].to_str().unwrap();
        let known = Call::get(CARD).with("If-None-Match", etag).send(&scene).await;
        assert_eq!((known.status, known.body.as_str()), (304, ""));
        for path in [
            "/.well-known/agent-card.json",
            "/.well-known/agent.json",
            "/.well-known/agent-card.json?assistant_id=researcher",
        ] {
            assert_eq!(Call::get(path).send(&scene).await.json(), card, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn scenario_2_without_a_scope_there_is_nothing_to_see() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for call in [
            Call::get(CARD).without("X-Cognition-Scope-Account"),
            Call::get(CARD).account(""),
            Call::rpc("GetTask", &json!({"id": "x"})).without("X-Cognition-Scope-Account"),
            Call::get("/a2a/nobody/tasks/x").without("X-Cognition-Scope-Account"),
        ] {
            let reply = call.send(&scene).await;
            assert_eq!(reply.status, 403);
            let body = reply.json();
            assert_eq!(body["code"], "PERMISSION_DENIED");
            assert_eq!(body["details"]["missing_scope_keys"], json!(["account"]));
        }
    })
    .await;
}

#[tokio::test]
async fn scenario_3_a_hidden_agent_is_as_absent_as_one_that_is_not_there() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut bodies: Vec<(u16, Value)> = Vec::new();
        for name in ["hidden", "nobody"] {
            let card = format!("/a2a/{name}/.well-known/agent-card.json");
            let mut call = Call::rpc("SendMessage", &json!({"message": message("m")}));
            call.path = format!("/a2a/{name}");
            for call in [Call::get(&card), call] {
                let reply = call.send(&scene).await;
                bodies.push((reply.status, reply.json()));
            }
        }
        assert!(bodies.iter().all(|body| *body == (404, json!({"error": "no such agent"}))));
    })
    .await;
}

#[tokio::test]
async fn scenario_5_a_card_holds_no_prompt_no_model_and_no_scope() {
    on_both(async |pool| {
        let body = Call::get(CARD).send(&scene(&pool)).await.body;
        for secret in ["canary-prompt", "demo", "acme", "publish_artifact"] {
            assert!(!body.contains(secret), "{secret}");
        }
    })
    .await;
}

#[tokio::test]
async fn scenario_6_a_slash_behind_the_name_is_no_redirect() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut call = Call::rpc("GetTask", &json!({"id": "x"}));
        call.path.push('/');
        let reply = call.send(&scene).await;
        assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (200, json!(-32001)));
    })
    .await;
}

#[tokio::test]
async fn scenario_7_what_is_no_request_is_refused_by_its_code() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let get = || Call::rpc("GetTask", &json!({"id": "x"}));
        assert_eq!(get().with("Content-Type", "text/plain").code(&scene).await, -32005);
        assert_eq!(get().without("A2A-Version").code(&scene).await, -32009);
        assert_eq!(get().with("A2A-Version", "1.1").code(&scene).await, -32009);
        assert_eq!(get().with("A2A-Version", "1.0.1").code(&scene).await, -32001);
        assert_eq!(Call::rpc("message/send", &json!({})).code(&scene).await, -32601);
        for (body, code) in [("{", -32700), ("[]", -32600), ("7", -32600)] {
            let call = Call { body: body.to_owned(), ..get() };
            let error = call.send(&scene).await.json();
            assert_eq!((error["error"]["code"].as_i64(), &error["id"]), (Some(code), &Value::Null));
        }
        assert_eq!(scene.queues.sent().len(), 0);
    })
    .await;
}
