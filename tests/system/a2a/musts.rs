//! The fifteen MUSTs that no conformance kit covers, each held by a test with its id in the name:
//! authentication and authorization, signed cards, versions, and bindings that are equivalent.
//! AUTH-TLS-001 is held where the settings are read, and here for webhooks.

use a2a_protocol_types::signing::{self as theirs, Jwks};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::security::probes;
use crate::support::cast::SIGN_IN;
use crate::support::client::{
    Binding, Client, NO_TASK, Raw, everywhere, guarded, list, members, message, over, reply, with,
};

const USER: &str = "x-cognition-scope-user";

/// Every operation of the client's binding about this task, as it goes over the wire.
async fn every_operation(client: &Client, task: &str) -> Vec<(String, Raw)> {
    let mut answers = Vec::new();
    match client.binding {
        Binding::JsonRpc => {
            let others = [("ListTasks", json!({})), ("GetExtendedAgentCard", json!({}))];
            for (operation, params) in probes(task).into_iter().chain(others) {
                answers.push((operation.to_owned(), client.call(operation, &params).await));
            }
        }
        Binding::HttpJson => {
            let sent = json!({"message": with(message("more"), "taskId", task)}).to_string();
            let config = r#"{"url":"https://example.com/x"}"#;
            let configs = format!("/tasks/{task}/pushNotificationConfigs");
            for (method, path, body) in [
                ("POST", "/message:send".to_owned(), &*sent),
                ("POST", "/message:stream".to_owned(), &*sent),
                ("GET", "/tasks".to_owned(), ""),
                ("GET", format!("/tasks/{task}"), ""),
                ("POST", format!("/tasks/{task}:cancel"), ""),
                ("GET", format!("/tasks/{task}:subscribe"), ""),
                ("POST", format!("/tasks/{task}:subscribe"), ""),
                ("POST", configs.clone(), config),
                ("GET", configs.clone(), ""),
                ("GET", format!("{configs}/c"), ""),
                ("DELETE", format!("{configs}/c"), ""),
                ("GET", "/extendedAgentCard".to_owned(), ""),
            ] {
                answers.push((format!("{method} {path}"), client.rest(method, &path, body).await));
            }
        }
    }
    answers
}

fn is_unauthenticated(what: &str, answer: &Raw) {
    assert_eq!(answer.status, 401, "{what}: {answer:?}");
    assert_eq!(answer.header("www-authenticate"), r#"Bearer realm="a2a""#, "A2: {what}");
    assert_eq!(answer.json()["error"]["status"], "UNAUTHENTICATED", "{what}");
}

/// A1, A2, and D7's part of it.
#[tokio::test]
async fn auth_server_002_every_request_but_that_for_the_public_card_is_of_somebody_who_is_known() {
    guarded(async |owner| {
        let owner = owner.of("actor");
        let waiting = owner.send(&message("ask")).await;
        let before = owner.task(&waiting["id"]).await;
        let nobody = owner.without(USER);
        for (what, answer) in every_operation(&nobody, waiting["id"].as_str().unwrap()).await {
            is_unauthenticated(&what, &answer);
        }
        is_unauthenticated("no such agent", &nobody.of("nobody").rest("GET", "/tasks", "").await);
        let url = format!("{}/.well-known/agent-card.json", nobody.endpoint());
        let card = nobody.get(&url).await;
        assert_eq!(card.status, 200, "{card:?}");
        assert_eq!(card.json()["securityRequirements"][0], json!({"schemes": {"bearer": {}}}));
        assert_eq!(owner.task(&waiting["id"]).await, before, "and nothing has happened");
    })
    .await;
}

async fn with_config(owner: &Client) -> Value {
    let task = owner.send(&message("ask")).await;
    let config = json!({"taskId": task["id"], "id": "c", "url": "https://example.com/x"});
    owner.ask("CreateTaskPushNotificationConfig", &config).await.unwrap();
    task
}

#[tokio::test]
async fn auth_scope_001_every_single_operation_asks_whose_the_task_is() {
    everywhere(async |owner| {
        let task = with_config(&owner).await;
        let configs = json!({"taskId": task["id"]});
        let kept = owner.ask("ListTaskPushNotificationConfigs", &configs).await.unwrap();
        let stranger = owner.of_user("one who may not");
        for (operation, params) in probes(task["id"].as_str().unwrap()) {
            assert_eq!(stranger.refused(operation, &params).await.reason, "TASK_NOT_FOUND");
        }
        assert_eq!(owner.task(&task["id"]).await["status"], task["status"]);
        let still = owner.ask("ListTaskPushNotificationConfigs", &configs).await.unwrap();
        assert_eq!(still, kept, "nor were its webhooks touched");
    })
    .await;
}

#[tokio::test]
async fn auth_scope_002_results_hold_only_what_is_the_callers() {
    everywhere(async |alice| {
        let bob = alice.of_user(&format!("bob beside {:?} {NO_TASK}", alice.binding));
        let (hers, his) = (with_config(&alice).await, with_config(&bob).await);
        for (client, task) in [(&alice, &hers), (&bob, &his)] {
            let listed = client.tasks(&json!({})).await;
            for seen in list(&listed["tasks"]) {
                assert!(client.task(&seen["id"]).await["id"] == seen["id"]);
            }
            assert!(list(&listed["tasks"]).iter().any(|seen| seen["id"] == task["id"]));
            let params = json!({"taskId": task["id"]});
            let configs = client.ask("ListTaskPushNotificationConfigs", &params).await.unwrap();
            assert_eq!(list(&configs["configs"]).len(), 1, "the other's has the same id");
            assert_eq!(configs["configs"][0]["taskId"], task["id"]);
        }
        let of = |listed: Value, id: &Value| list(&listed["tasks"]).iter().any(|t| t["id"] == *id);
        assert!(!of(alice.tasks(&json!({})).await, &his["id"]));
        assert!(!of(bob.tasks(&json!({})).await, &hers["id"]));
    })
    .await;
}

#[tokio::test]
async fn auth_scope_003_what_is_not_the_callers_cannot_be_told_from_what_is_not_there() {
    everywhere(async |owner| {
        let task = with_config(&owner).await;
        let stranger = owner.of_user("one who is curious");
        let ours = probes(task["id"].as_str().unwrap());
        for (ours, unknown) in ours.into_iter().zip(probes(NO_TASK)) {
            let told = stranger.refused(ours.0, &ours.1).await;
            assert_eq!(told, stranger.refused(unknown.0, &unknown.1).await, "{}", ours.0);
        }
    })
    .await;
}

#[tokio::test]
async fn auth_intask_003_a_task_that_needs_an_authorization_says_what_to_authorise() {
    everywhere(async |client| {
        let task = client.send(&message("sign in")).await;
        for seen in [&task, &client.task(&task["id"]).await] {
            assert_eq!(seen["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{seen:#}");
            assert_eq!(seen["status"]["message"]["role"], "ROLE_AGENT");
            assert_eq!(seen["status"]["message"]["parts"], json!([{"text": SIGN_IN}]));
        }
    })
    .await;
}

/// The task goes on by a message without any credentials, and credentials in a part are content:
/// they make nobody known.
#[tokio::test]
async fn auth_intask_004_credentials_do_not_come_in_parts() {
    guarded(async |client| {
        let task = client.send(&message("sign in")).await;
        let secret = json!([{"data": {"authorization": "Bearer t", USER: "anybody"}}]);
        let claim = with(reply("", &task), "parts", secret);
        let params = json!({"message": claim, "metadata": {"authorization": "Bearer t"}});
        let nobody = client.without(USER);
        let answer = match client.binding {
            Binding::JsonRpc => nobody.call("SendMessage", &params).await,
            Binding::HttpJson => nobody.rest("POST", "/message:send", &params.to_string()).await,
        };
        is_unauthenticated("a token in a part", &answer);
        let still = client.task(&task["id"]).await;
        assert_eq!(still["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
        let ended = client.send(&reply("I did", &task)).await;
        assert_eq!(ended["status"]["state"], "TASK_STATE_COMPLETED");
    })
    .await;
}

/// P6. The deployment's own address is held where its setting is read.
#[tokio::test]
async fn auth_tls_001_a_webhook_without_tls_is_refused() {
    everywhere(async |client| {
        let task = client.send(&message("ask")).await;
        let config = |url: &str| json!({"taskId": task["id"], "id": "c", "url": url});
        let open = config("http://example.com/hook");
        let refusal = client.refused("CreateTaskPushNotificationConfig", &open).await;
        assert_eq!(
            (&*refusal.reason, &refusal.fields[..]),
            ("INVALID_PARAMS", &["url".into()][..])
        );
        let closed = config("https://example.com/hook");
        assert!(client.ask("CreateTaskPushNotificationConfig", &closed).await.is_ok());
    })
    .await;
}

/// The card of one agent as it is served, and the keys that verify it.
async fn signed(client: &Client) -> (Value, Jwks) {
    let card = client.get(&format!("{}/.well-known/agent-card.json", client.endpoint())).await;
    let keys = client.get(&format!("{}/.well-known/jwks.json", client.pair.url)).await;
    (card.json(), serde_json::from_str(&keys.text).unwrap())
}

/// An independent canonicaliser and verifier takes the card, and none that says something else.
#[tokio::test]
async fn card_sign_001_what_is_signed_is_the_canonical_form_of_the_card() {
    guarded(async |client| {
        for agent in ["actor", "echo", "shared", "extended"] {
            let (card, keys) = signed(&client.of(agent)).await;
            theirs::verify_card_json_with_jwks(&card, &keys).unwrap();
            let other = with(card, "name", "another");
            theirs::verify_card_json_with_jwks(&other, &keys).unwrap_err();
        }
    })
    .await;
}

#[tokio::test]
async fn card_sign_002_the_signatures_are_no_part_of_what_is_signed() {
    guarded(async |client| {
        let (card, keys) = signed(&client).await;
        let mut more = card.clone();
        let first = card["signatures"][0].clone();
        more["signatures"] =
            json!([first, with(first.clone(), "header", json!({"added": "later"}))]);
        theirs::verify_card_json_with_jwks(&more, &keys).unwrap();
        let mut none = card.clone();
        none.as_object_mut().unwrap().remove("signatures");
        let canonical = |card| theirs::canonicalize_card_json(card).unwrap();
        assert_eq!(canonical(&card), canonical(&none));
    })
    .await;
}

#[tokio::test]
async fn card_sign_003_the_protected_header_names_the_algorithm_and_the_key() {
    guarded(async |client| {
        let (card, _) = signed(&client).await;
        assert_eq!(list(&card["signatures"]).len(), 1);
        let protected = card["signatures"][0]["protected"].as_str().unwrap();
        let header = URL_SAFE_NO_PAD.decode(protected).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &json!("one")));
        assert_eq!(header["typ"], "JOSE", "D6");
    })
    .await;
}

/// V1, V2.
#[tokio::test]
async fn ver_server_001_a_request_has_the_semantics_of_the_version_that_it_asks_for() {
    over(Binding::JsonRpc, async |client| {
        let task = client.of("echo").send(&message("m")).await;
        let new = client.of("echo");
        let old = new.without("a2a-version");
        let id = json!({"id": task["id"]});
        let now = new.call("GetTask", &id).await.rpc().unwrap();
        assert_eq!(
            (&now["kind"], &now["status"]["state"]),
            (&Value::Null, &json!("TASK_STATE_COMPLETED"))
        );
        for old in [&old, &new.with("a2a-version", "0.3")] {
            let then = old.call("tasks/get", &id).await.rpc().unwrap();
            assert_eq!(
                (&then["kind"], &then["status"]["state"]),
                (&json!("task"), &json!("completed"))
            );
            assert_eq!(old.call("GetTask", &id).await.reason(), "VERSION_NOT_SUPPORTED");
        }
        assert_eq!(new.call("tasks/get", &id).await.reason(), "METHOD_NOT_FOUND");
        let later = new.with("a2a-version", "1.1");
        assert_eq!(later.call("GetTask", &id).await.reason(), "VERSION_NOT_SUPPORTED");
        let path = format!("/tasks/{}", task["id"].as_str().unwrap());
        assert_eq!(later.rest("GET", &path, "").await.reason(), "VERSION_NOT_SUPPORTED");
    })
    .await;
}

fn both(client: &Client) -> [Client; 2] {
    [Binding::JsonRpc, Binding::HttpJson].map(|binding| client.over(binding))
}

#[tokio::test]
async fn bind_equiv_001_every_declared_binding_offers_every_operation() {
    over(Binding::JsonRpc, async |client| {
        let url = format!("{}/.well-known/agent-card.json", client.endpoint());
        let card = client.get(&url).await.json();
        for (interface, client) in list(&card["supportedInterfaces"]).iter().zip(both(&client)) {
            let named = match client.binding {
                Binding::JsonRpc => "JSONRPC",
                Binding::HttpJson => "HTTP+JSON",
            };
            assert_eq!(interface["protocolBinding"], named);
            let task = with_config(&client).await;
            let named = json!({"taskId": task["id"], "id": "c"});
            let mine = json!({"taskId": task["id"]});
            assert!(client.ask("GetTaskPushNotificationConfig", &named).await.is_ok());
            assert!(client.ask("ListTaskPushNotificationConfigs", &mine).await.is_ok());
            assert!(client.ask("DeleteTaskPushNotificationConfig", &named).await.is_ok());
            assert!(!list(&client.tasks(&json!({})).await["tasks"]).is_empty());
            let mut events = client.subscribe(&task["id"]).await;
            assert_eq!(events.one().await.says["task"]["id"], task["id"]);
            let canceled = client.ask("CancelTask", &json!({"id": task["id"]})).await.unwrap();
            assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
            assert!(!client.stream(&message("hello")).await.is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn bind_equiv_002_the_bindings_bring_equivalent_results() {
    over(Binding::JsonRpc, async |client| {
        let task = with_config(&client).await;
        for (operation, params) in [
            ("GetTask", json!({"id": task["id"]})),
            ("GetTask", json!({"id": task["id"], "historyLength": 0})),
            ("ListTasks", json!({"includeArtifacts": true, "pageSize": 1})),
            ("GetTaskPushNotificationConfig", json!({"taskId": task["id"], "id": "c"})),
            ("ListTaskPushNotificationConfigs", json!({"taskId": task["id"]})),
        ] {
            let [rpc, rest] = both(&client);
            let (rpc, rest) =
                (rpc.ask(operation, &params).await, rest.ask(operation, &params).await);
            assert_eq!(rpc.unwrap(), rest.unwrap(), "{operation} {params}");
        }
        let [rpc, rest] = both(&client.of("echo"));
        let (rpc, rest) = (rpc.send(&message("same")).await, rest.send(&message("same")).await);
        assert_eq!(members(&rpc), members(&rest));
        assert_eq!(rpc["status"]["state"], rest["status"]["state"]);
    })
    .await;
}

#[tokio::test]
async fn bind_equiv_003_the_same_cause_is_the_same_error() {
    over(Binding::JsonRpc, async |client| {
        let ended = client.send(&message("hello")).await;
        let after = json!({"message": reply("more", &ended)});
        let mut causes = probes(NO_TASK);
        causes.push(("SendMessage", after));
        causes.push(("CancelTask", json!({"id": ended["id"]})));
        causes.push(("SubscribeToTask", json!({"id": ended["id"]})));
        causes.push(("ListTasks", json!({"pageSize": 0})));
        causes.push(("SendMessage", json!({"message": with(message("m"), "parts", json!([]))})));
        for (operation, params) in causes {
            let [rpc, rest] = both(&client);
            let told = rpc.refused(operation, &params).await;
            assert_eq!(told, rest.refused(operation, &params).await, "{operation} {params}");
        }
    })
    .await;
}

#[tokio::test]
async fn bind_equiv_004_both_bindings_ask_for_the_same_authentication() {
    guarded(async |client| {
        let nobody = client.without(USER);
        let id = json!({"id": NO_TASK});
        let rpc = nobody.call("GetTask", &id).await;
        let rest = nobody.rest("GET", &format!("/tasks/{NO_TASK}"), "").await;
        is_unauthenticated("JSON-RPC", &rpc);
        is_unauthenticated("HTTP+JSON", &rest);
        for known in both(&client) {
            assert_eq!(known.refused("GetTask", &id).await.reason, "TASK_NOT_FOUND");
        }
    })
    .await;
}
