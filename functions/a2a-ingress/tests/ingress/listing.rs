//! `ListTasks` as clients meet it (O8), over both bindings.

use domain::{ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, Ids};
use serde_json::{Value, json};
use store::events::Place;
use store::runs::{Ending, Output, PlacedEvent, append, finish};
use testkit::on_both;

use crate::common::{Call, Scene, claimed, message, scene, sent};

async fn list(scene: &Scene, params: &Value) -> Value {
    Call::rpc("ListTasks", params).result(scene).await
}

fn ids(list: &Value) -> Vec<Value> {
    list["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
}

/// Lets the task of the newest message say a text, and publish a file that nobody can find.
async fn say(scene: &Scene, text: Option<&str>) {
    let lease = claimed(scene).await;
    let artifact = |artifact, content, ordinal| PlacedEvent {
        place: Place { step: 1, attempt: 1, ordinal },
        body: EventBody::Artifact(ArtifactUpdate {
            artifact,
            name: None,
            append: false,
            last_chunk: true,
            content,
            about: domain::About::default(),
        }),
    };
    let lost = Ids::random().publication();
    let lost = ArtifactContent::Published { publication: lost };
    let mut events = vec![artifact(ArtifactId("lost".to_owned()), lost, 0)];
    if let Some(text) = text {
        let text = ArtifactContent::Text { text: text.to_owned() };
        events = vec![artifact(ArtifactId::response(lease.task()), text, 0)];
    }
    append(&scene.pool, &lease, &events, Output::default()).await.unwrap();
    finish(&scene.pool, lease, &[], &Ending::Completed).await.unwrap();
}

#[tokio::test]
async fn o8_an_empty_list_has_all_its_fields() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
        assert_eq!(list(&scene, &json!({})).await, empty);
        let rest = Call::rest("GET", "/tasks", &Value::Null).send(&scene).await;
        assert_eq!((rest.status, rest.json()), (200, empty));
    })
    .await;
}

#[tokio::test]
async fn o8_pages_follow_each_other_and_both_bindings_read_the_same() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut expected = Vec::new();
        for number in 0..5 {
            expected.insert(0, sent(&scene, &message(&format!("m{number}"))).await["id"].clone());
        }
        let mut seen = Vec::new();
        let mut token = String::new();
        for size in [2, 2, 1] {
            let query = format!("/tasks?pageSize=2&pageToken={token}");
            let rest = Call::rest("GET", &query, &Value::Null).send(&scene).await.json();
            let page = list(&scene, &json!({"pageSize": 2, "pageToken": token})).await;
            assert_eq!(rest, page);
            assert_eq!(ids(&page).len(), size);
            assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(5), &json!(2)));
            seen.extend(ids(&page));
            token = page["nextPageToken"].as_str().unwrap().to_owned();
        }
        assert_eq!((seen, token.as_str()), (expected, ""));
    })
    .await;
}

#[tokio::test]
async fn o8_what_a_list_may_not_be_asked_is_invalid_and_names_its_field() {
    on_both(async |pool| {
        let scene = scene(&pool);
        for number in 0..3 {
            sent(&scene, &message(&format!("m{number}"))).await;
        }
        let page = list(&scene, &json!({"pageSize": 1})).await;
        let token = page["nextPageToken"].as_str().unwrap();
        for (params, field) in [
            (json!({"pageSize": 0}), "pageSize"),
            (json!({"pageSize": 101}), "pageSize"),
            (json!({"historyLength": -1}), "historyLength"),
            (json!({"status": "FOO"}), "status"),
            (json!({"statusTimestampAfter": "yesterday"}), "statusTimestampAfter"),
            (json!({"contextId": "\u{0}"}), "contextId"),
            (json!({"pageToken": "garbage"}), "pageToken"),
            (json!({"pageToken": format!("{token}0")}), "pageToken"),
            (json!({"pageToken": token, "contextId": "c"}), "pageToken"),
            (json!({"pageToken": token, "status": "TASK_STATE_WORKING"}), "pageToken"),
        ] {
            let error = Call::rpc("ListTasks", &params).send(&scene).await.json()["error"].clone();
            assert_eq!(error["code"], -32602, "{params}");
            assert_eq!(error["data"][1]["fieldViolations"][0]["field"], field, "{params}");
        }
        // Of another scope, it is like any garbage.
        let foreign = Call::rpc("ListTasks", &json!({"pageToken": token})).account("other");
        let garbage = Call::rpc("ListTasks", &json!({"pageToken": "x"})).account("other");
        assert_eq!(foreign.send(&scene).await.body, garbage.send(&scene).await.body);
        let other_agent = Call {
            path: "/a2a/strict".to_owned(),
            ..Call::rpc("ListTasks", &json!({"pageToken": token}))
        };
        assert_eq!(other_agent.code(&scene).await, -32602);
        for query in ["pageSize=0", "status=FOO", "pageToken=x"] {
            let call = Call::rest("GET", &format!("/tasks?{query}"), &Value::Null);
            let error = call.send(&scene).await;
            assert_eq!(error.json()["error"]["status"], "INVALID_ARGUMENT", "{query}");
        }
        // Another size of page is the same list.
        let rest = list(&scene, &json!({"pageSize": 5, "pageToken": token})).await;
        assert_eq!(ids(&rest).len(), 2);
    })
    .await;
}

#[tokio::test]
async fn o8_artifacts_and_o7_histories_come_only_when_they_are_asked_for() {
    on_both(async |pool| {
        let scene = scene(&pool);
        sent(&scene, &message("m1")).await;
        say(&scene, Some("one")).await;
        let bare = list(&scene, &json!({})).await["tasks"][0].clone();
        assert!(bare.get("artifacts").is_none() && bare.get("history").is_none());
        let full = json!({"includeArtifacts": true, "historyLength": 3});
        let full = list(&scene, &full).await["tasks"][0].clone();
        assert_eq!(full["artifacts"][0]["parts"][0]["text"], "one");
        assert_eq!(full["history"][0]["messageId"], "m1");
        let single = Call::rpc("GetTask", &json!({"id": full["id"]})).result(&scene).await;
        assert_eq!(full, single, "as the task says itself");
        let none = list(&scene, &json!({"historyLength": 0})).await["tasks"][0].clone();
        assert!(none.get("history").is_none());
    })
    .await;
}

#[tokio::test]
async fn o8_one_artifact_that_cannot_be_read_fails_no_page_and_is_marked() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let fine = sent(&scene, &message("m1")).await;
        say(&scene, Some("one")).await;
        let lost = sent(&scene, &message("m2")).await;
        say(&scene, None).await;
        let params = json!({"includeArtifacts": true, "historyLength": 1});
        let page = list(&scene, &params).await;
        assert_eq!(ids(&page), [lost["id"].clone(), fine["id"].clone()]);
        assert!(page["tasks"][0].get("artifacts").is_none());
        assert_eq!(page["tasks"][0]["history"][0]["messageId"], "m2");
        let mark = &page["tasks"][0]["metadata"]["cognition"]["artifactsUnavailable"];
        assert_eq!(*mark, true);
        assert_eq!(page["tasks"][0]["metadata"]["agentName"], "researcher");
        assert_eq!(page["tasks"][1]["artifacts"][0]["parts"][0]["text"], "one");
        assert!(page["tasks"][1]["metadata"].get("cognition").is_none());
        // Nothing is looked for that was not asked for.
        let bare = list(&scene, &json!({})).await;
        assert!(bare["tasks"][0]["metadata"].get("cognition").is_none());
    })
    .await;
}

#[tokio::test]
async fn o8_a_file_that_is_not_what_was_published_is_left_out_and_the_others_are_there() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let task = sent(&scene, &message("m1")).await;
        let lease = claimed(&scene).await;
        let ids = Ids::random();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let mut events = Vec::new();
        for (ordinal, sha256) in [empty, "another"].into_iter().enumerate() {
            let id = ids.publication();
            let sql = "insert into publications (publication_id, scope_digest, session_id, task_id,
                    run_id, call_id, state, path, media_type, filename, instance_id, generation,
                    delivery, size_bytes, sha256, object_key, descriptor_key, descriptor_sha256,
                    inline_bytes, created_at)
                select $1, scope_digest, session_id, task_id, current_run_id, $2, 'active', 'p',
                    'text/csv', 'f.csv', $1, 1, 'raw', 0, $3, 'k', 'd', 'd', $4, created_at
                  from tasks where task_id = $5";
            let call = ordinal.to_string();
            let params = [
                id.into(),
                call.into(),
                sha256.into(),
                Vec::<u8>::new().into(),
                lease.task().into(),
            ];
            assert_eq!(pool.execute(sql, &params).await.unwrap(), 1);
            events.push(PlacedEvent {
                place: Place { step: 1, attempt: 1, ordinal: i32::try_from(ordinal).unwrap() },
                body: EventBody::Artifact(ArtifactUpdate {
                    artifact: ArtifactId::from(id),
                    name: Some("f.csv".to_owned()),
                    append: false,
                    last_chunk: true,
                    content: ArtifactContent::Published { publication: id },
                    about: domain::About::default(),
                }),
            });
        }
        append(&pool, &lease, &events, Output::default()).await.unwrap();
        let page = list(&scene, &json!({"includeArtifacts": true})).await;
        let listed = &page["tasks"][0];
        assert_eq!(listed["id"], task["id"]);
        assert_eq!(listed["artifacts"].as_array().unwrap().len(), 1);
        assert_eq!(listed["artifacts"][0]["parts"][0]["raw"], "");
        assert_eq!(listed["metadata"]["cognition"]["artifactsUnavailable"], true);
    })
    .await;
}

#[tokio::test]
async fn a_page_costs_as_many_statements_as_it_has_kinds_of_things_whatever_its_size() {
    on_both(async |pool| {
        let scene = scene(&pool);
        let mut costs = Vec::new();
        for number in 0..4 {
            sent(&scene, &message(&format!("m{number}"))).await;
            say(&scene, Some("one")).await;
            let before = pool.statements();
            list(&scene, &json!({"includeArtifacts": true, "historyLength": 2})).await;
            costs.push(pool.statements() - before);
        }
        assert_eq!(costs, [costs[0]; 4]);
        let before = pool.statements();
        list(&scene, &json!({})).await;
        assert!(pool.statements() - before < costs[0]);
    })
    .await;
}
