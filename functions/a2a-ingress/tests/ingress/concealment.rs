//! What a caller may not see cannot be told from what is not there (A1, T1, AUTH-SCOPE-001 to 003):
//! not by the answer, and not by what the answer costs.

use serde_json::{Value, json};
use testkit::on_both;

use crate::common::{Call, Reply, Scene, message, scene, sent};

const UNKNOWN: &str = "01a22eaf-b6d8-75e7-9220-0339c0e3824a";

/// Who else may have a task: another scope, another agent, another tenant, no tenant.
struct Owner {
    account: &'static str,
    agent: &'static str,
    tenant: Option<&'static str>,
}

const ASKER: Owner = Owner { account: "acme", agent: "shared", tenant: Some("t1") };
const OTHERS: [Owner; 4] = [
    Owner { account: "other", ..ASKER },
    Owner { agent: "researcher", tenant: None, ..ASKER },
    Owner { tenant: Some("t2"), ..ASKER },
    Owner { tenant: None, ..ASKER },
];

impl Owner {
    fn rpc(&self, method: &str, mut params: Value) -> Call {
        if let Some(tenant) = self.tenant {
            params["tenant"] = tenant.into();
        }
        let path = format!("/a2a/{}", self.agent);
        Call { path, ..Call::rpc(method, &params) }.account(self.account)
    }

    fn rest(&self, method: &'static str, path: &str, body: &Value) -> Call {
        let tenant = self.tenant.map(|tenant| format!("/{tenant}")).unwrap_or_default();
        let path = format!("/a2a/{}{tenant}{path}", self.agent);
        Call { path, ..Call::rest(method, "", body) }.account(self.account)
    }

    /// A task of this owner, and its context.
    async fn task(&self, scene: &Scene) -> (String, String) {
        let params = json!({
            "message": message("owners"), "configuration": {"returnImmediately": true},
        });
        let task = self.rpc("SendMessage", params).result(scene).await["task"].clone();
        let text = |key: &str| task[key].as_str().unwrap().to_owned();
        (text("id"), text("contextId"))
    }
}

/// Every operation that a task's id may be given to, over both bindings.
fn probes(task: &str) -> Vec<(&'static str, Call)> {
    let mut message = message("probe");
    message["taskId"] = task.into();
    let message = json!({"message": message, "configuration": {"returnImmediately": true}});
    let config = json!({"taskId": task, "url": "https://example.com/hook"});
    let path = |rest: &str| format!("/tasks/{task}{rest}");
    let none = Value::Null;
    vec![
        ("get", ASKER.rpc("GetTask", json!({"id": task}))),
        ("cancel", ASKER.rpc("CancelTask", json!({"id": task}))),
        ("subscribe", ASKER.rpc("SubscribeToTask", json!({"id": task}))),
        ("send", ASKER.rpc("SendMessage", message.clone())),
        ("stream", ASKER.rpc("SendStreamingMessage", message.clone())),
        ("create", ASKER.rpc("CreateTaskPushNotificationConfig", config)),
        ("config", ASKER.rpc("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "c"}))),
        ("configs", ASKER.rpc("ListTaskPushNotificationConfigs", json!({"taskId": task}))),
        (
            "delete",
            ASKER.rpc("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "c"})),
        ),
        ("GET", ASKER.rest("GET", &path(""), &none)),
        ("POST cancel", ASKER.rest("POST", &path(":cancel"), &none)),
        ("GET subscribe", ASKER.rest("GET", &path(":subscribe"), &none)),
        ("POST send", ASKER.rest("POST", "/message:send", &message)),
        ("POST stream", ASKER.rest("POST", "/message:stream", &message)),
        ("GET config", ASKER.rest("GET", &path("/pushNotificationConfigs/c"), &none)),
        ("GET configs", ASKER.rest("GET", &path("/pushNotificationConfigs"), &none)),
        ("DELETE", ASKER.rest("DELETE", &path("/pushNotificationConfigs/c"), &none)),
    ]
}

/// An answer as its client sees it, and how many statements it took.
async fn answered(scene: &Scene, call: &Call) -> ((u16, String, String), u64) {
    let before = scene.pool.statements();
    let Reply { status, headers, body } = call.send(scene).await;
    ((status, format!("{headers:?}"), body), scene.pool.statements() - before)
}

/// A task's id in an answer is the asker's own.
fn without(task: &str, (status, headers, body): (u16, String, String)) -> (u16, String, String) {
    (status, headers, body.replace(task, "…"))
}

#[tokio::test]
async fn auth_scope_001_to_003_a_foreign_id_is_answered_as_an_unknown_one_by_every_operation() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for ended in [false, true] {
            for owner in &OTHERS {
                let (task, _) = owner.task(&scene).await;
                if ended {
                    owner.rpc("CancelTask", json!({"id": task})).result(&scene).await;
                }
                for ((name, foreign), (_, unknown)) in probes(&task).iter().zip(probes(UNKNOWN)) {
                    let (unknown, cost) = answered(&scene, &unknown).await;
                    let (foreign, as_dear) = answered(&scene, foreign).await;
                    assert_eq!(without(&task, foreign), without(UNKNOWN, unknown), "{name}");
                    assert_eq!(as_dear, cost, "statements of {name}");
                }
                // Nothing of it was changed.
                let own = owner.rpc("GetTask", json!({"id": task})).result(&scene).await;
                assert_eq!(own["history"].as_array().unwrap().len(), 1);
                let state = if ended { "TASK_STATE_CANCELED" } else { "TASK_STATE_SUBMITTED" };
                assert_eq!(own["status"]["state"], state);
                if !ended {
                    owner.rpc("CancelTask", json!({"id": task})).result(&scene).await;
                }
                // The next round's message is another request.
                pool.execute("update messages set idempotency_key = null", &[]).await.unwrap();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_unknown_id_is_a_task_that_is_not_found() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for id in [UNKNOWN, "no-id", "\u{0}"] {
            for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
                let code = ASKER.rpc(method, json!({"id": id})).code(&scene).await;
                assert_eq!(code, -32001, "{method} {id:?}");
            }
        }
        let none = ASKER.rest("GET", "/tasks/no-id", &Value::Null).send(&scene).await;
        assert_eq!(none.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_foreign_context_lists_as_an_unknown_one_and_is_free_to_the_asker() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for owner in &OTHERS {
            let (_, context) = owner.task(&scene).await;
            let list = |context: &str| ASKER.rpc("ListTasks", json!({"contextId": context}));
            let unknown = answered(&scene, &list("unknown")).await;
            assert_eq!(answered(&scene, &list(&context)).await, unknown);
            let all =
                ASKER.rpc("ListTasks", json!({"includeArtifacts": true})).result(&scene).await;
            assert_eq!(all["totalSize"], 0);
        }
        // Ids of contexts are the client's, and mean something only with their owner.
        for owner in &OTHERS {
            let mut taken = message("m");
            taken["contextId"] = "squat".into();
            let params = json!({"message": taken, "configuration": {"returnImmediately": true}});
            owner.rpc("SendMessage", params.clone()).result(&scene).await;
        }
        let mut mine = message("m");
        mine["contextId"] = "squat".into();
        let params = json!({"message": mine, "configuration": {"returnImmediately": true}});
        let task = ASKER.rpc("SendMessage", params).result(&scene).await["task"].clone();
        assert_eq!(task["contextId"], "squat");
        let all = ASKER.rpc("ListTasks", json!({})).result(&scene).await;
        assert_eq!((&all["totalSize"], &all["tasks"][0]["id"]), (&json!(1), &task["id"]));
    })
    .await;
}

#[tokio::test]
async fn a_reference_to_a_foreign_task_tells_nothing_of_it() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let (foreign, _) = OTHERS[0].task(&scene).await;
        let mut answers = Vec::new();
        for (number, id) in [foreign.as_str(), UNKNOWN].into_iter().enumerate() {
            let mut message = message(&format!("m{number}"));
            message["referenceTaskIds"] = json!([id]);
            let before = pool.statements();
            let task = sent(&scene, &message).await;
            assert_eq!(task["history"][0]["referenceTaskIds"], json!([id]), "kept as it was sent");
            answers.push((task["status"]["state"].clone(), pool.statements() - before));
        }
        assert_eq!(answers[0], answers[1]);
    })
    .await;
}
