//! The Rust A2A client (`a2a-client-lf`) against a running system: `a2a-rust-story ORIGIN BINDING
//! WEBHOOK`.
//!
//! Prints what it did, a line each. Panics at the first answer that is not the expected one. The
//! Python story (`../python/story.py`) tells the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use a2a::errors::error_code;
use a2a::{
    A2AError, AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, Message, Part, PartContent, Role, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig, TaskState, new_message_id,
};
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::jsonrpc::JsonRpcTransportFactory;
use a2a_client::rest::RestTransportFactory;
use a2a_client::{A2AClient, A2AClientFactory, Transport};
use futures::StreamExt as _;

const SALES: &str =
    "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report.";
const DOZEN: &str = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve.";

type Client = A2AClient<Box<dyn Transport>>;

struct Story {
    http: reqwest::Client,
    origin: String,
    binding: String,
    webhook: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("ORIGIN BINDING WEBHOOK");
    // The system is on this machine: no proxy of the environment stands in between.
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let story = Story { http, origin: next(), binding: next(), webhook: next() };
    story.card().await;
    let task = story.send().await;
    story.large().await;
    story.stream().await;
    story.get(&task).await;
    story.list(&task).await;
    story.subscribe().await;
    story.input().await;
    story.cancel(&task).await;
    story.push().await;
}

impl Story {
    fn address(&self, agent: &str) -> String {
        format!("{}/a2a/{agent}", self.origin)
    }

    /// A client of its own, as another program would have one.
    async fn client(&self, agent: &str) -> Client {
        let http = || Some(self.http.clone());
        let card = AgentCardResolver::new(http()).resolve(&self.address(agent)).await.unwrap();
        let factory = A2AClientFactory::builder()
            .no_defaults()
            .register(Arc::new(JsonRpcTransportFactory::new(http())))
            .register(Arc::new(RestTransportFactory::new(http())))
            .preferred_bindings(vec![self.binding.clone()])
            .build();
        let (client, interface) = factory.create_from_card_with_interface(&card).await.unwrap();
        assert_eq!(interface.protocol_binding, self.binding, "the binding that the client chose");
        client
    }

    async fn card(&self) {
        let resolver = AgentCardResolver::new(Some(self.http.clone()));
        let card = resolver.resolve(&self.address("analyst")).await.unwrap();
        assert_eq!(card.name, "Sales analyst");
        let offered: Vec<_> = card
            .supported_interfaces
            .iter()
            .filter(|interface| interface.protocol_version == "1.0")
            .map(|interface| interface.protocol_binding.as_str())
            .collect();
        assert_eq!(offered, ["JSONRPC", "HTTP+JSON"]);
        assert_eq!(card.capabilities.streaming, Some(true));
        assert_eq!(resolver.resolve(&self.origin).await.unwrap(), card);
        println!("card: found below the agent's address and at the origin");
    }

    async fn send(&self) -> Task {
        let analyst = self.client("analyst").await;
        let request = asking(SALES);
        let task = task(analyst.send_message(&request).await.unwrap());
        assert_eq!(task.status.state, TaskState::Completed);
        check_deliverables(&of_task(&task));
        let again = self::task(analyst.send_message(&request).await.unwrap());
        assert_eq!(again.id, task.id, "the same message sent again");
        let mut other = asking("Analyze 1 and 2.");
        other.message.message_id.clone_from(&request.message.message_id);
        refused(analyst.send_message(&other).await, error_code::INVALID_PARAMS);
        println!("send: completed with two deliverables; sent again it is the same task");
        task
    }

    async fn large(&self) {
        let bulky = self.client("bulky").await;
        let task = task(bulky.send_message(&asking("Go.")).await.unwrap());
        assert_eq!(task.status.state, TaskState::Completed);
        let parts = &of_task(&task)["lines.txt"];
        let PartContent::Url(url) = &parts[0].content else { panic!("{parts:?}") };
        let bytes = self.http.get(url).send().await.unwrap().bytes().await.unwrap();
        assert_eq!(bytes.len(), 300_000);
        println!("send: a large file came as an address");
    }

    async fn stream(&self) {
        let analyst = self.client("analyst").await;
        let stream = analyst.send_streaming_message(&asking(SALES)).await.unwrap();
        let events: Vec<_> = stream.map(Result::unwrap).collect().await;
        let StreamResponse::Task(task) = &events[0] else { panic!("{:?}", events[0]) };
        assert!(!task.status.state.is_terminal(), "it begins unfinished");
        let mut artifacts = BTreeMap::new();
        events[1..].iter().for_each(|event| apply(&mut artifacts, event));
        check_deliverables(&artifacts);
        assert_eq!(last_state(&events), TaskState::Completed);
        let got = analyst.get_task(&get(&task.id, None)).await.unwrap();
        check_deliverables(&of_task(&got));
        assert_eq!(text(&of_task(&got)["response"]), text(&artifacts["response"]));
        println!("stream: {} events, completed with two deliverables", events.len());
    }

    async fn get(&self, task: &Task) {
        let analyst = self.client("analyst").await;
        let whole = analyst.get_task(&get(&task.id, None)).await.unwrap().history.unwrap();
        assert!(whole.len() > 1, "the history has both sides");
        assert_eq!((&whole[0].role, text(&whole[0].parts)), (&Role::User, SALES.to_owned()));
        for length in [0, 1, 2] {
            let part = analyst.get_task(&get(&task.id, Some(length))).await.unwrap().history;
            let newest = &whole[whole.len() - usize::try_from(length).unwrap()..];
            assert_eq!(part.unwrap_or_default(), newest, "the last {length}");
        }
        let unknown = analyst.get_task(&get("01920000-0000-7000-8000-000000000000", None)).await;
        refused(unknown, error_code::TASK_NOT_FOUND);
        println!(
            "get: the whole history of {}, its last two messages, the last, none",
            whole.len()
        );
    }

    async fn list(&self, task: &Task) {
        let analyst = self.client("analyst").await;
        let mut filter = filter();
        filter.context_id = Some(task.context_id.clone());
        let page = analyst.list_tasks(&filter).await.unwrap();
        assert_eq!((page.total_size, &*page.next_page_token), (1, ""));
        assert_eq!(page.tasks[0].id, task.id);
        assert_eq!(page.tasks[0].artifacts, None, "only when asked for");
        filter.include_artifacts = Some(true);
        let page = analyst.list_tasks(&filter).await.unwrap();
        check_deliverables(&of_task(&page.tasks[0]));
        let (mut seen, mut token) = (0, None);
        loop {
            let page = ListTasksRequest { page_size: Some(1), page_token: token, ..self::filter() };
            let page = analyst.list_tasks(&page).await.unwrap();
            assert_eq!(page.tasks.len(), 1);
            seen += 1;
            if page.next_page_token.is_empty() {
                assert_eq!(seen, page.total_size);
                break;
            }
            token = Some(page.next_page_token);
        }
        println!("list: one task of the context, and {seen} in pages of one");
    }

    /// A task that is still under way.
    async fn begin(&self, words: &str) -> String {
        let mut request = asking(words);
        request.configuration = Some(configuration());
        let task = task(self.client("patient").await.send_message(&request).await.unwrap());
        assert!(!task.status.state.is_terminal(), "an answer at once");
        task.id
    }

    async fn subscribe(&self) {
        let id = self.begin("Count to twelve.").await;
        let second = self.client("patient").await;
        let stream = second.subscribe_to_task(&subscription(&id)).await.unwrap();
        let events: Vec<_> = stream.map(Result::unwrap).collect().await;
        let StreamResponse::Task(first) = &events[0] else { panic!("{:?}", events[0]) };
        let mut artifacts = of_task(first);
        events[1..].iter().for_each(|event| apply(&mut artifacts, event));
        assert_eq!(text(&artifacts["response"]), DOZEN);
        assert_eq!(last_state(&events), TaskState::Completed);
        refused(first_of(&second, &id).await, error_code::UNSUPPORTED_OPERATION);
        println!("subscribe: a second client saw {} events and the whole text", events.len());
    }

    async fn input(&self) {
        let first = self.client("asker").await;
        let asked = task(first.send_message(&asking("Ask me.")).await.unwrap());
        assert_eq!(asked.status.state, TaskState::InputRequired);
        let second = self.client("asker").await;
        let mut stream = second.subscribe_to_task(&subscription(&asked.id)).await.unwrap();
        let snapshot = stream.next().await.unwrap().unwrap();
        assert!(matches!(snapshot, StreamResponse::Task(_)), "{snapshot:?}");
        let mut answer = asking("The blue one.");
        answer.message.task_id = Some(asked.id.clone());
        let ended = task(first.send_message(&answer).await.unwrap());
        assert_eq!((&ended.id, &ended.status.state), (&asked.id, &TaskState::Completed));
        let events: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(last_state(&events), TaskState::Completed);
        println!("input: a second client saw the answer being worked on and the end");
    }

    async fn cancel(&self, completed: &Task) {
        let id = self.begin("Count for ever.").await;
        let (first, second) = (self.client("patient").await, self.client("patient").await);
        let request = CancelTaskRequest { id: id.clone(), metadata: None, tenant: None };
        let mut stream = second.subscribe_to_task(&subscription(&id)).await.unwrap();
        let mut events = Vec::new();
        let mut canceled = None;
        while let Some(event) = stream.next().await {
            let event = event.unwrap();
            if canceled.is_none() && matches!(event, StreamResponse::ArtifactUpdate(_)) {
                canceled = Some(first.cancel_task(&request).await.unwrap());
            }
            events.push(event);
        }
        assert_eq!(canceled.unwrap().status.state, TaskState::Canceled);
        assert_eq!(last_state(&events), TaskState::Canceled);
        let again = first.cancel_task(&request).await.unwrap();
        assert_eq!(again.status.state, TaskState::Canceled, "a second cancel");
        let analyst = self.client("analyst").await;
        let late = CancelTaskRequest { id: completed.id.clone(), ..request };
        refused(analyst.cancel_task(&late).await, error_code::TASK_NOT_CANCELABLE);
        println!("cancel: the subscriber saw the end after {} events", events.len());
    }

    async fn push(&self) {
        let patient = self.client("patient").await;
        let mut request = asking("Count to twelve.");
        let mut inline = configuration();
        inline.task_push_notification_config = Some(self.config("", "inline"));
        request.configuration = Some(inline);
        let id = task(patient.send_message(&request).await.unwrap()).id;
        let made = patient.create_push_config(&self.config(&id, "second")).await.unwrap();
        assert_eq!((made.id.as_deref(), &*made.task_id), (Some("second"), &*id));
        let by_id = GetTaskPushNotificationConfigRequest {
            task_id: id.clone(),
            id: "second".to_owned(),
            tenant: None,
        };
        let got = patient.get_push_config(&by_id).await.unwrap();
        assert_eq!(got.url, self.webhook);
        let all = ListTaskPushNotificationConfigsRequest {
            task_id: id.clone(),
            page_size: None,
            page_token: None,
            tenant: None,
        };
        assert_eq!(patient.list_push_configs(&all).await.unwrap().configs.len(), 2);
        let gone = DeleteTaskPushNotificationConfigRequest {
            task_id: id.clone(),
            id: "second".to_owned(),
            tenant: None,
        };
        for _ in 0..2 {
            patient.delete_push_config(&gone).await.unwrap();
        }
        refused(patient.get_push_config(&by_id).await, error_code::TASK_NOT_FOUND);
        assert_eq!(patient.list_push_configs(&all).await.unwrap().configs.len(), 1);
        println!("push: one webhook came with the message, another came and went");
    }

    fn config(&self, task: &str, id: &str) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig {
            url: self.webhook.clone(),
            id: Some(id.to_owned()),
            task_id: task.to_owned(),
            token: Some("the receiver's token".to_owned()),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".to_owned(),
                credentials: Some("the-receivers-secret".to_owned()),
            }),
            tenant: None,
        }
    }
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, A2AError>, code: i32) {
    let error = outcome.expect_err("it is refused");
    assert_eq!(error.code, code, "{error:?}");
}

/// What a subscription brings first, wherever the client shows that it was refused.
async fn first_of(client: &Client, id: &str) -> Result<StreamResponse, A2AError> {
    let mut stream = client.subscribe_to_task(&subscription(id)).await?;
    stream.next().await.expect("a refusal or an event")
}

fn asking(words: &str) -> SendMessageRequest {
    let message = Message::new(Role::User, vec![Part::text(words)]);
    let message = Message { message_id: new_message_id(), ..message };
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

/// At once.
fn configuration() -> SendMessageConfiguration {
    serde_json::from_value(serde_json::json!({"returnImmediately": true})).unwrap()
}

fn filter() -> ListTasksRequest {
    serde_json::from_value(serde_json::json!({})).unwrap()
}

fn get(id: &str, history_length: Option<i32>) -> GetTaskRequest {
    GetTaskRequest { id: id.to_owned(), history_length, tenant: None }
}

fn subscription(id: &str) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { id: id.to_owned(), tenant: None }
}

fn task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => task,
        other => panic!("no task: {other:?}"),
    }
}

fn text(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

/// Artifacts by their names.
type Artifacts = BTreeMap<String, Vec<Part>>;

fn of_task(task: &Task) -> Artifacts {
    let artifacts = task.artifacts.iter().flatten();
    artifacts.map(|a| (a.name.clone().unwrap_or_default(), a.parts.clone())).collect()
}

/// Puts an update to the others, as A2A section 4.2.2 has it.
fn apply(artifacts: &mut Artifacts, event: &StreamResponse) {
    let StreamResponse::ArtifactUpdate(update) = event else { return };
    let known = artifacts.entry(update.artifact.name.clone().unwrap_or_default()).or_default();
    if !update.append.unwrap_or_default() {
        known.clear();
    }
    known.extend(update.artifact.parts.iter().cloned());
}

fn last_state(events: &[StreamResponse]) -> TaskState {
    match events.last() {
        Some(StreamResponse::StatusUpdate(update)) => update.status.state.clone(),
        other => panic!("a stream ends with a status: {other:?}"),
    }
}

/// The CSV, the report, and the answer that names both.
fn check_deliverables(artifacts: &Artifacts) {
    let file = |name: &str| match &artifacts[name][0] {
        Part { content: PartContent::Raw(bytes), filename, .. } => {
            assert_eq!(filename.as_deref(), Some(name));
            String::from_utf8(bytes.clone()).unwrap()
        }
        other => panic!("{name}: {other:?}"),
    };
    assert!(file("sales.csv").contains("amount_usd"));
    assert!(file("report.md").contains("total of 60 USD"));
    let said = text(&artifacts["response"]);
    assert!(said.contains("60 USD") && said.contains("sales.csv"), "{said}");
}
