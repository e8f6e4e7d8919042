//! V1 to V3, X1 and T1: versions, extensions and tenants.

mod wire_03;

use serde_json::{Value, json};

use crate::support::cast::{EXTENSION, REQUIRED};
use crate::support::client::{
    Binding, Client, NO_TASK, Raw, everywhere, list, message, reply, with,
};

/// Asks for a task that nobody has, past all that [`Client::ask`] knows.
async fn probe(client: &Client, query: &str) -> Raw {
    match client.binding {
        Binding::JsonRpc => {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": NO_TASK}});
            client.rest("POST", query, &body.to_string()).await
        }
        Binding::HttpJson => client.rest("GET", &format!("/tasks/{NO_TASK}{query}"), "").await,
    }
}

#[tokio::test]
async fn v1_v3_a_version_is_major_and_minor_and_nothing_else_counts() {
    everywhere(async |client| {
        let client = client.of("echo");
        for version in ["1.0", "1.0.1", "1.0.27", " 1.0 "] {
            let answer = probe(&client.with("a2a-version", version), "").await;
            assert_eq!(answer.reason(), "TASK_NOT_FOUND", "{version}");
        }
        for version in ["1.1", "2.0", "0.9", "1", "one", "1.0.0.0", "1.0.x", "1.0, 1.0"] {
            let client = client.with("a2a-version", version);
            assert_eq!(probe(&client, "").await.reason(), "VERSION_NOT_SUPPORTED", "{version}");
            let refusal = client.refused("GetTask", &json!({"id": NO_TASK})).await;
            let told = refusal.metadata.to_string();
            assert!(told.contains("1.0"), "what is supported is told: {told}");
        }
    })
    .await;
}

#[tokio::test]
async fn v1_a_query_parameter_stands_in_for_the_header() {
    everywhere(async |client| {
        let client = client.of("echo");
        let silent = client.without("a2a-version");
        let answer = probe(&silent, "?A2A-Version=1.0").await;
        assert_eq!(answer.reason(), "TASK_NOT_FOUND");
        let answer = probe(&silent, "?A2A-Version=1.1").await;
        assert_eq!(answer.reason(), "VERSION_NOT_SUPPORTED");
        let answer = probe(&client, "?A2A-Version=7.0").await;
        assert_eq!(answer.reason(), "TASK_NOT_FOUND", "the header comes first");
        let answer = probe(&client.with("a2a-version", ""), "?A2A-Version=1.0").await;
        assert_eq!(answer.reason(), "TASK_NOT_FOUND", "an empty one is none");
    })
    .await;
}

/// The card is for everybody, whatever they speak (§2.3, 8).
#[tokio::test]
async fn v1_the_card_is_exempt() {
    everywhere(async |client| {
        let url = format!("{}/.well-known/agent-card.json", client.of("echo").endpoint());
        for version in ["9.9", "0.3", "x"] {
            let card = client.with("a2a-version", version).get(&url).await;
            assert_eq!(card.status, 200, "{version}");
            assert!(list(&card.json()["supportedInterfaces"]).len() >= 2);
        }
    })
    .await;
}

#[tokio::test]
async fn x1_what_is_known_is_activated_and_what_is_unknown_does_no_harm() {
    everywhere(async |client| {
        let known = client.of("extended");
        let asked = async |client: &Client, list: &str| {
            let asked = client.with("a2a-extensions", list);
            let params = json!({"message": message("hello")});
            let answer = match client.binding {
                Binding::JsonRpc => asked.call("SendMessage", &params).await,
                Binding::HttpJson => asked.rest("POST", "/message:send", &params.to_string()).await,
            };
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.json().get("error").is_none(), "{answer:?}");
            answer.header("a2a-extensions").to_owned()
        };
        assert_eq!(asked(&known, EXTENSION).await, EXTENSION);
        let several = format!("https://example.com/unknown, {EXTENSION} ,");
        assert_eq!(asked(&known, &several).await, EXTENSION);
        assert_eq!(asked(&known, "https://example.com/unknown").await, "");
        let other_version = EXTENSION.replace("v1", "v2");
        assert_eq!(asked(&known, &other_version).await, "", "no other version of it");
        assert_eq!(asked(&client.of("echo"), EXTENSION).await, "", "another agent");
    })
    .await;
}

#[tokio::test]
async fn x1_what_is_required_must_be_asked_for() {
    everywhere(async |client| {
        let demanding = client.of("demanding");
        let params = json!({"message": message("hello")});
        for operation in ["SendMessage", "SendStreamingMessage"] {
            let refusal = demanding.refused(operation, &params).await;
            assert_eq!(refusal.reason, "EXTENSION_SUPPORT_REQUIRED", "{operation}");
        }
        let granted = demanding.with("a2a-extensions", REQUIRED);
        let task = granted.send(&params["message"]).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    })
    .await;
}

#[tokio::test]
async fn t1_a_tenant_has_tasks_of_its_own_wherever_it_is_named() {
    everywhere(async |client| {
        let client = client.of("shared");
        let acme = client.of_tenant("acme");
        let globex = client.of_tenant("globex");
        let task = acme.send(&message("hello")).await;
        let id = json!({"id": task["id"]});
        assert_eq!(acme.task(&task["id"]).await, task);
        for stranger in [&globex, &client] {
            let refusal = stranger.refused("GetTask", &id).await;
            assert_eq!(refusal, stranger.refused("GetTask", &json!({"id": NO_TASK})).await);
            assert_eq!(stranger.tasks(&json!({})).await["totalSize"], 0);
            let more = json!({"message": reply("more", &task)});
            assert_eq!(stranger.refused("SendMessage", &more).await.reason, "TASK_NOT_FOUND");
            assert_eq!(stranger.refused("CancelTask", &id).await.reason, "TASK_NOT_FOUND");
        }
        assert_eq!(acme.tasks(&json!({})).await["totalSize"], 1);

        // As a field, in either binding, it is the same tenant as in the path.
        let named = with(id.clone(), "tenant", "acme");
        assert_eq!(client.ask("GetTask", &named).await.unwrap(), task);
        let same = json!({"message": message("hello"), "tenant": "globex"});
        let task = client.ask("SendMessage", &same).await.unwrap()["task"].clone();
        assert_eq!(globex.task(&task["id"]).await["id"], task["id"]);

        let nobody = client.of_tenant("initech").refused("GetTask", &id).await;
        assert_eq!(nobody, client.refused("GetTask", &json!({"id": NO_TASK})).await, "no hint");
    })
    .await;
}

/// The SDKs put the tenant behind the address of the interface.
#[tokio::test]
async fn t1_path_and_field_must_name_the_same_tenant() {
    let path = |tenant: &str| format!("/acme/tasks/{NO_TASK}?tenant={tenant}");
    everywhere(async |client| {
        if client.binding == Binding::JsonRpc {
            return;
        }
        let client = client.of("shared");
        assert_eq!(client.rest("GET", &path("acme"), "").await.reason(), "TASK_NOT_FOUND");
        let answer = client.rest("GET", &path("globex"), "").await;
        assert_eq!(answer.reason(), "INVALID_PARAMS");
        assert!(answer.text.contains(r#""field":"tenant""#), "{answer:?}");
        let body = json!({"message": message("hello"), "tenant": "globex"}).to_string();
        let answer = client.rest("POST", "/acme/message:send", &body).await;
        assert_eq!(answer.reason(), "INVALID_PARAMS");
        let body: Value = json!({"message": message("hello"), "tenant": "acme"});
        assert_eq!(client.rest("POST", "/acme/message:send", &body.to_string()).await.status, 200);
    })
    .await;
}
