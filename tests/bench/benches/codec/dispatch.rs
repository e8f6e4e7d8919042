//! What a JSON-RPC request costs in our own code: bytes in, bytes out, over a service that has its
//! answer ready.

use std::sync::Arc;
use std::time::Instant;

use a2a::card::AgentCard;
use a2a::types::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, PushConfigRequest,
    SendMessageRequest, SendResult, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use a2a::{A2aError, EventStream, Operations, Profile};
use async_trait::async_trait;
use bytes::Bytes;
use http::Request;

use crate::{BATCHES, texts};

const CALLS: u32 = 5000;

/// Prints what `GetTask` and `SendMessage` cost.
pub(crate) fn measure() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let task: Task = serde_json::from_str(&texts::task(1)).unwrap();
    let ready = Arc::new(Ready(task));
    let send = texts::send();
    let admitted = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{send}}}"#);
    let get = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#.to_owned();
    println!(
        "\nJSON-RPC in process, µs, best of {BATCHES} batches; the answer is a task of 1.4 kB"
    );
    for (name, body) in [("GetTask", get), ("SendMessage", admitted)] {
        let body = Bytes::from(body);
        let best = (0..BATCHES)
            .map(|_| runtime.block_on(batch(&ready, &body)))
            .fold(f64::INFINITY, f64::min);
        println!("{name:<30} {best:>8.1}");
    }
}

async fn batch(ready: &Arc<Ready>, body: &Bytes) -> f64 {
    let profile = Profile::default();
    let began = Instant::now();
    for _ in 0..CALLS {
        let request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body.clone())
            .unwrap();
        let answer = a2a::serve(Arc::clone(ready), (), &profile, "/", request).await;
        std::hint::black_box(answer);
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
}

/// Has one task, and answers with it.
struct Ready(Task);

impl Ready {
    const REFUSAL: A2aError = A2aError::task_not_found();
}

#[async_trait]
impl Operations for Ready {
    type Context = ();

    async fn send_message(&self, (): &(), _: SendMessageRequest) -> Result<SendResult, A2aError> {
        Ok(SendResult::Task(self.0.clone()))
    }

    async fn get_task(&self, (): &(), _: GetTaskRequest) -> Result<Task, A2aError> {
        Ok(self.0.clone())
    }

    async fn send_streaming_message(
        &self,
        (): &(),
        _: SendMessageRequest,
        _: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn list_tasks(
        &self,
        (): &(),
        _: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn cancel_task(&self, (): &(), _: CancelTaskRequest) -> Result<Task, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn subscribe_to_task(
        &self,
        (): &(),
        _: SubscribeToTaskRequest,
        _: Option<i64>,
    ) -> Result<EventStream, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn create_push_config(
        &self,
        (): &(),
        _: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn get_push_config(
        &self,
        (): &(),
        _: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn list_push_configs(
        &self,
        (): &(),
        _: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        Err(Self::REFUSAL)
    }

    async fn delete_push_config(&self, (): &(), _: PushConfigRequest) -> Result<(), A2aError> {
        Err(Self::REFUSAL)
    }

    async fn get_extended_agent_card(
        &self,
        (): &(),
        _: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2aError> {
        Err(Self::REFUSAL)
    }
}
