//! An ingress on a database, and what plays the worker behind it.

use std::sync::Arc;

use a2a_ingress::agents::Agents;
use a2a_ingress::cards::{Address, Cards, Trust};
use a2a_ingress::scope::{ScopeSettings, ScopeSource};
use a2a_ingress::{Desk, Ingress, ResponseBody, Viewer, Webhooks, event};
use domain::{Ids, RunId, Scope, TaskId, Timestamp};
use http::Response;
use http_body_util::BodyExt as _;
use messages::{Message as _, runs::RunReady};
use sealing::Keyring;
use serde_json::{Value, json};
use store::runs::{Claim, claim};
use store::{Lease, Pool};
use testkit::{MemoryObjects, MemoryQueues};
use webhook::Guard;

pub(crate) struct Scene {
    pub(crate) ingress: Ingress,
    pub(crate) queues: Arc<MemoryQueues>,
    pub(crate) pool: Pool,
}

pub(crate) fn keys() -> Keyring {
    Keyring::parse("k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").unwrap()
}

pub(crate) fn scene(pool: &Pool) -> Scene {
    scene_with(pool, MemoryQueues::new())
}

pub(crate) fn scene_with(pool: &Pool, queues: MemoryQueues) -> Scene {
    trusting(pool, queues, Trust::default())
}

/// When the cards began to be served: 2026-11-30T09:00:00.5Z.
const SINCE: i64 = 1_796_029_200_500_000;

/// A scene that asks callers for more than a scope, or signs its cards.
pub(crate) fn trusting(pool: &Pool, queues: MemoryQueues, trust: Trust) -> Scene {
    let agent = |name: &str, a2a: Value| {
        serde_json::from_value(json!({
            "name": name, "display_name": name, "model": {"provider": "demo"},
            "system_prompt": "canary-prompt", "a2a": a2a,
        }))
        .unwrap()
    };
    let agents = vec![
        agent("researcher", json!({"exposed": true})),
        agent("strict", json!({"exposed": true, "input_modes_policy": "enforce"})),
        agent("hidden", json!({"exposed": false})),
        agent(
            "shared",
            json!({"exposed": true, "tenants": ["t1", "t2"],
                   "capabilities": {"push_notifications": true}}),
        ),
        agent(
            "open",
            json!({"exposed": true, "capabilities": {"extended_agent_card": true}, "tenants": ["t1"],
                   "extended_card": {"description": "For those who are known."}}),
        ),
        agent("promising", json!({"exposed": true, "capabilities": {"extended_agent_card": true}})),
        agent(
            "elsewhere",
            json!({"exposed": true, "public_interface_url": "https://front.example.com/x?key=%7e"}),
        ),
        agent("valet", json!({"exposed": true, "client_tools": ["reply_directly"]})),
    ];
    let queues = Arc::new(queues);
    let viewer = Viewer {
        pool: pool.clone(),
        objects: Arc::new(MemoryObjects::new()),
        scope_key: Arc::from(&b"key"[..]),
    };
    let desk = Desk {
        viewer,
        queues: queues.clone(),
        ids: Arc::new(Ids::random()),
        limits: a2a::inbound::Limits::default(),
        idempotent: true,
        webhooks: Webhooks { keys: Some(Arc::new(keys())), guard: Guard::default(), most: 3 },
    };
    let agents = Agents::new(agents).unwrap();
    let address = Address::Public("https://agents.example.com".to_owned());
    let cards = Cards::new(address, trust, &agents, Timestamp::from_micros(SINCE)).unwrap();
    let ingress = Ingress {
        desk: Arc::new(desk),
        agents,
        scope: ScopeSettings {
            source: ScopeSource::Headers,
            keys: vec!["account".to_owned()],
            required: true,
        },
        cards: Arc::new(cards),
    };
    Scene { ingress, queues, pool: pool.clone() }
}

/// A request, as a REST API makes an event of it.
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: "GET",
            path: path.to_owned(),
            headers: vec![("X-Cognition-Scope-Account", "acme".to_owned())],
            body: String::new(),
        }
    }

    /// A JSON-RPC call to the researcher, in version 1.0.
    pub(crate) fn rpc(method: &str, params: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let call = Self { method: "POST", body: body.to_string(), ..Self::get("/a2a/researcher") };
        call.with("A2A-Version", "1.0").with("Content-Type", "application/json")
    }

    pub(crate) fn rest(method: &'static str, path: &str, body: &Value) -> Self {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let call = Self { method, body, ..Self::get(&format!("/a2a/researcher{path}")) };
        call.with("A2A-Version", "1.0").with("Content-Type", "application/json")
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn account(self, account: &str) -> Self {
        self.with("X-Cognition-Scope-Account", account)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) async fn raw(&self, scene: &Scene) -> Response<ResponseBody> {
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let mut multi = serde_json::Map::new();
        for (name, value) in &self.headers {
            multi.insert((*name).to_owned(), json!([value]));
        }
        let query: serde_json::Map<String, Value> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), json!([value])))
            .collect();
        let event = json!({
            "httpMethod": self.method, "path": path, "headers": {}, "multiValueHeaders": multi,
            "queryStringParameters": {}, "multiValueQueryStringParameters": query,
            // A REST API's stage has a name, which stands in front of no path of the event.
            "requestContext": {"requestId": "req-1", "httpMethod": self.method, "stage": "v1"},
            "body": self.body, "isBase64Encoded": false,
        });
        let event = serde_json::from_value(event).unwrap();
        scene.ingress.handle(event::into_request(event)).await
    }

    pub(crate) async fn send(&self, scene: &Scene) -> Reply {
        let response = self.raw(scene).await;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Reply { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// The `result` of a JSON-RPC call that succeeds.
    pub(crate) async fn result(&self, scene: &Scene) -> Value {
        let reply = self.send(scene).await.json();
        assert_eq!(reply["error"], Value::Null, "{reply}");
        reply["result"].clone()
    }

    /// The code of a JSON-RPC call that is refused.
    pub(crate) async fn code(&self, scene: &Scene) -> i64 {
        self.send(scene).await.json()["error"]["code"].as_i64().expect("an error")
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

pub(crate) fn message(id: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]})
}

/// Sends a message that is answered at once; returns the task.
pub(crate) async fn sent(scene: &Scene, message: &Value) -> Value {
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    Call::rpc("SendMessage", &params).result(scene).await["task"].clone()
}

pub(crate) fn acme() -> Scope {
    Scope::new([("account".to_owned(), "acme".to_owned())]).unwrap()
}

pub(crate) fn id(task: &Value) -> TaskId {
    task["id"].as_str().unwrap().parse().unwrap()
}

/// The run that the newest message of the queue wakes, claimed.
pub(crate) async fn claimed(scene: &Scene) -> Lease {
    let sent = scene.queues.sent();
    let run: RunId = RunReady::parse(&sent.last().unwrap().body).unwrap().run;
    match claim(&scene.pool, &acme().digest(), run, "worker").await.unwrap() {
        Claim::Yes(claimed) => claimed.lease,
        other => panic!("{other:?}"),
    }
}
