//! Discovery, scope and visibility: publication scenarios 1 to 8, requirements D1 to D8, and who may
//! come in at all (AUTH-SERVER-002).

use a2a::card::{Security, SigningKeys};
use a2a_ingress::agents::Agents;
use a2a_ingress::cards::{Address, Cards, Trust};
use domain::Timestamp;
use lambda_kit::env::Env;
use serde_json::{Value, json};
use store::Pool;
use testkit::{MemoryQueues, on_both};

use crate::common::{Call, Scene, message, scene, trusting};

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
            json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": false})
        );
        let bindings: Vec<&str> = card["supportedInterfaces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|interface| interface["protocolBinding"].as_str().unwrap())
            .collect();
        assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "JSONRPC", "HTTP+JSON"]);
        let url = card["supportedInterfaces"][0]["url"].as_str().unwrap();
        assert_eq!(url, "https://agents.example.com/a2a/researcher");
        assert_eq!(reply.headers["cache-control"], "private, max-age=60");
        let again = Call::get(CARD).send(&scene).await;
        assert_eq!(again.headers["etag"], reply.headers["etag"]);
        let etag = reply.headers["etag"].to_str().unwrap();
        let known = Call::get(CARD).with("If-None-Match", etag).send(&scene).await;
        assert_eq!((known.status, known.body.as_str()), (304, ""));
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
        let (status, first) = &bodies[0];
        assert_eq!((*status, &first["error"]["message"]), (404, &json!("no such agent")));
        assert_eq!(first["error"]["code"], 404);
        assert!(bodies.iter().all(|body| *body == bodies[0]));
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

#[tokio::test]
async fn d1_a_card_is_found_at_the_origin_and_at_each_agent_with_or_without_a_slash() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let card = Call::get(CARD).send(&scene).await.body;
        for path in [
            "/.well-known/agent-card.json?assistant_id=researcher",
            "/.well-known/agent.json?assistant_id=researcher",
            "/.well-known/agent-card.json/?assistant_id=researcher",
            "/a2a/researcher/.well-known/agent-card.json/",
            "/a2a/researcher/.well-known/agent.json",
        ] {
            // No version and no extension is asked for, and one that is does not matter.
            for call in [Call::get(path), Call::get(path).with("A2A-Version", "9.9")] {
                let reply = call.send(&scene).await;
                assert_eq!((reply.status, &reply.body), (200, &card), "{path}");
            }
        }
        let first = Call::get("/.well-known/agent-card.json").send(&scene).await.json();
        assert_eq!(first["name"], "elsewhere", "the first by name");
        let unknown = Call::get("/.well-known/agent-card.json?assistant_id=x").send(&scene).await;
        assert_eq!(unknown.status, 404);
    })
    .await;
}

#[tokio::test]
async fn scenario_4_an_address_of_the_agents_own_is_shown_byte_for_byte() {
    on_both(async |pool| {
        let path = "/a2a/elsewhere/.well-known/agent-card.json";
        let card = Call::get(path).send(&scene(&pool)).await.json();
        for interface in card["supportedInterfaces"].as_array().unwrap() {
            assert_eq!(interface["url"], "https://front.example.com/x?key=%7e");
        }
        assert_eq!(card["url"], "https://front.example.com/x?key=%7e");
    })
    .await;
}

#[tokio::test]
async fn d4_a_card_can_be_asked_about_and_only_read() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let full = Call::get(CARD).send(&scene).await;
        let date = full.headers["last-modified"].to_str().unwrap();
        assert_eq!(date, "Mon, 30 Nov 2026 09:00:00 GMT");
        let known = Call::get(CARD).with("If-Modified-Since", date).send(&scene).await;
        assert_eq!((known.status, known.body.as_str()), (304, ""));
        let head = Call { method: "HEAD", ..Call::get(CARD) }.send(&scene).await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert_eq!(head.headers["etag"], full.headers["etag"]);
        for path in [CARD, "/.well-known/agent.json", "/.well-known/jwks.json"] {
            let post = Call { method: "POST", ..Call::get(path) }.send(&scene).await;
            assert_eq!((post.status, &post.headers["allow"]), (405, &"GET, HEAD".parse().unwrap()));
            assert_eq!(post.json()["error"]["code"], 405);
        }
    })
    .await;
}

#[tokio::test]
async fn a_forged_host_changes_nothing() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let card = Call::get(CARD).send(&scene).await.body;
        let forged = Call::get(CARD)
            .with("Host", "evil.example")
            .with("X-Forwarded-Host", "evil.example")
            .with("X-Forwarded-Proto", "http")
            .with("Forwarded", "host=evil.example");
        assert_eq!(forged.send(&scene).await.body, card);
    })
    .await;
}

/// The private key of RFC 7515 A.3.
const KEY: &str =
    r#"{"kty":"EC","crv":"P-256","kid":"one","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;

#[tokio::test]
async fn d6_a_deployment_with_keys_serves_signed_cards_and_what_verifies_them() {
    on_both(async |pool| {
        let trust = Trust { keys: SigningKeys::parse(KEY).unwrap(), ..Trust::default() };
        let scene = trusting(&pool, MemoryQueues::new(), trust);
        let reply = Call::get(CARD).send(&scene).await;
        let card = reply.json();
        assert_eq!(card["signatures"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&card["url"], &card["capabilities"]["extendedAgentCard"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(Call::get(CARD).send(&scene).await.body, reply.body);
        // Whoever verifies need not be known.
        let keys = Call::get("/.well-known/jwks.json").without("X-Cognition-Scope-Account");
        let keys = keys.send(&scene).await;
        assert_eq!(keys.status, 200);
        assert_eq!(keys.json()["keys"][0]["kid"], "one");
        assert!(!keys.body.contains("jpsQnn"));
        let extended = extended(&scene, "open", "").await;
        assert_eq!(extended["signatures"].as_array().unwrap().len(), 1);
    })
    .await;
}

/// The extended card, which both bindings answer with alike.
async fn extended(scene: &Scene, agent: &str, tenant: &str) -> Value {
    let params = if tenant.is_empty() { json!({}) } else { json!({"tenant": tenant}) };
    let mut rpc = Call::rpc("GetExtendedAgentCard", &params);
    rpc.path = format!("/a2a/{agent}");
    let prefix = if tenant.is_empty() { String::new() } else { format!("/{tenant}") };
    let mut rest = Call::rest("GET", "", &Value::Null);
    rest.path = format!("/a2a/{agent}{prefix}/extendedAgentCard");
    let (rpc, rest) = (rpc.send(scene).await, rest.send(scene).await);
    let (rpc, rest) = (rpc.json(), rest.json());
    if rpc["error"].is_null() {
        assert_eq!(rpc["result"], rest);
        rest
    } else {
        assert_eq!(rpc["error"]["data"][0]["reason"], rest["error"]["details"][0]["reason"]);
        rpc["error"].clone()
    }
}

#[tokio::test]
async fn d7_the_extended_card_is_there_where_it_is_declared_and_configured() {
    on_both(async |pool| {
        let scene = scene(&pool);
        assert_eq!(extended(&scene, "open", "").await["description"], "For those who are known.");
        let mut call = Call::rest("GET", "", &Value::Null);
        call.path = "/a2a/open/extendedAgentCard".to_owned();
        let headers = call.send(&scene).await.headers;
        assert_eq!(headers["cache-control"], "private, max-age=60");
        assert_eq!(headers["vary"], "authorization");
        let of_tenant = extended(&scene, "open", "t1").await;
        assert_eq!(of_tenant["supportedInterfaces"][0]["tenant"], "t1");
        assert_eq!(extended(&scene, "promising", "").await["code"], -32007);
        assert_eq!(extended(&scene, "researcher", "").await["code"], -32004);
        let old =
            Call::rpc("agent/getAuthenticatedExtendedCard", &json!({})).without("A2A-Version");
        let old = Call { path: "/a2a/open".to_owned(), ..old }.result(&scene).await;
        assert_eq!(old["url"], "https://agents.example.com/a2a/open");
        assert_eq!(old["supportedInterfaces"], Value::Null);
    })
    .await;
}

/// A deployment that asks who one is, and of which no scope is asked.
fn guarded(pool: &Pool) -> Scene {
    let schemes = r#"{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}"#;
    let security = Security::parse(schemes, r#"[{"schemes":{"bearer":{}}}]"#).unwrap();
    let trust = Trust { security, ..Trust::default() };
    let mut scene = trusting(pool, MemoryQueues::new(), trust);
    scene.ingress.scope.required = false;
    scene
}

/// AUTH-SERVER-002, A1, A2.
#[tokio::test]
async fn auth_server_002_every_request_but_that_for_the_card_comes_from_somebody_who_is_known() {
    on_both(async |pool| {
        let scene = guarded(&pool);
        let send = json!({"message": message("m")});
        let mut extended = Call::rest("GET", "", &Value::Null);
        extended.path = "/a2a/open/extendedAgentCard".to_owned();
        for call in [
            Call::rpc("SendMessage", &send),
            Call::rpc("SendStreamingMessage", &send),
            Call::rpc("GetTask", &json!({"id": "x"})),
            Call::rpc("GetExtendedAgentCard", &json!({})),
            Call::rpc("NoSuchMethod", &json!({})),
            Call::rest("POST", "/message:send", &send),
            Call::rest("GET", "/tasks", &Value::Null),
            Call::rest("GET", "/no/such/path", &Value::Null),
            Call { path: "/a2a/nobody".to_owned(), ..Call::rpc("GetTask", &json!({"id": "x"})) },
            extended,
        ] {
            let reply = call.without("X-Cognition-Scope-Account").send(&scene).await;
            assert_eq!(reply.status, 401);
            assert_eq!(reply.headers["www-authenticate"], r#"Bearer realm="a2a""#);
            assert_eq!(reply.headers["x-request-id"], "req-1");
            assert_eq!(reply.json()["error"]["status"], "UNAUTHENTICATED");
        }
        assert_eq!(scene.queues.sent().len(), 0);
        let card = Call::get(CARD).without("X-Cognition-Scope-Account").send(&scene).await;
        assert_eq!(card.status, 200);
        assert_eq!(card.json()["securityRequirements"], json!([{"schemes": {"bearer": {}}}]));
        assert_eq!(Call::rpc("GetTask", &json!({"id": "x"})).code(&scene).await, -32001);
        assert_eq!(
            self::extended(&scene, "open", "").await["description"],
            "For those who are known."
        );
    })
    .await;
}

fn trust(settings: &[(&str, &str)]) -> Result<Trust, String> {
    let env = Env::of(settings.iter().copied());
    let mut read = env.reader();
    let trust = Trust::read(&mut read);
    read.finish(|| Some(trust)).map_err(|invalid| invalid.to_string())
}

#[test]
fn scenario_8_a_wrong_setting_ends_the_start_and_says_where() {
    let none = trust(&[]).unwrap();
    assert!(none.keys.is_empty() && !none.security.is_required());
    let flow = r#"{"s":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"https://t.example","scopes":{}}}}}}"#;
    for (settings, problem) in [
        (
            vec![("COGNITION_A2A_SECURITY_SCHEMES", r#"{"s":{}}"#)],
            "COGNITION_A2A_SECURITY_SCHEMES is wrong: s: a scheme is exactly one of those that there are",
        ),
        (
            vec![("COGNITION_A2A_SECURITY_REQUIREMENTS", r#"[{"schemes":{"s":{}}}]"#)],
            "COGNITION_A2A_SECURITY_REQUIREMENTS is wrong: [0]: names a scheme that is not declared",
        ),
        (
            vec![("COGNITION_CARD_SIGNING_KEYS", "canary")],
            "COGNITION_CARD_SIGNING_KEYS is wrong: neither a JWK, nor a list or set of them, nor PEM",
        ),
        (
            vec![("COGNITION_A2A_SECURITY_SCHEMES", flow), ("COGNITION_CARD_SIGNING_KEYS", KEY)],
            "COGNITION_A2A_SECURITY_SCHEMES needs a scope in each flow, because cards are signed",
        ),
    ] {
        assert_eq!(trust(&settings).unwrap_err(), format!("settings: {problem}"));
    }
    assert!(trust(&[("COGNITION_A2A_SECURITY_SCHEMES", flow)]).is_ok());
    let keys = trust(&[("COGNITION_CARD_SIGNING_KEYS", KEY)]).unwrap();
    assert!(!format!("{keys:?}").contains("jpsQnn"));
}

#[test]
fn scenario_8_a_skill_can_need_only_what_the_deployment_declares() {
    let agent = serde_json::from_value(json!({
        "name": "a", "model": {"provider": "demo"}, "a2a": {"skills": [{"id": "s", "name": "S",
        "description": "d", "tags": ["t"], "security": [{"bearer": []}]}]},
    }));
    let agents = Agents::new(vec![agent.unwrap()]).unwrap();
    let make = |trust| Cards::new(Address::FromHost, trust, &agents, Timestamp::from_micros(0));
    assert_eq!(
        make(Trust::default()).unwrap_err().to_string(),
        "a skill of agent a needs a security scheme that the deployment does not declare"
    );
    let schemes = r#"{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}"#;
    assert!(make(trust(&[("COGNITION_A2A_SECURITY_SCHEMES", schemes)]).unwrap()).is_ok());
}
