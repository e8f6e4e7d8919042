//! What of a conversation its client sees (O7): the newest messages, in their order, and none of the
//! turns in which the model only called tools.

use domain::{AgentKey, Ids};
use store::conversation::{Role, StoredMessage};
use store::runs::{Ending, Output, finish};
use store::steps::{self, LoopMessage, ModelCommit};
use store::tasks::list::{Filter, PageWant, list};
use store::tasks::{self, Want};
use store::{Lease, Pool};
use testkit::on_both;

use crate::common::{Request, agent, claimed, key, scope, text, working};

/// A turn of the model, with what a tool gave back.
async fn turn(pool: &Pool, lease: &Lease, step: i32, words: Option<&str>) {
    let ids = Ids::random();
    let attempt = steps::begin(pool, lease, step, "p", "m").await.unwrap();
    let message = |body: &str| LoopMessage { id: ids.message(), body: body.to_owned() };
    let commit = ModelCommit {
        step,
        attempt,
        message: message(words.unwrap_or("calls")),
        speaks: words.is_some(),
        calls: Vec::new(),
        answered: vec![message("result")],
        stop_reason: "tool_use",
        usage: None,
        events: Vec::new(),
        output: Output::default(),
    };
    steps::commit(pool, lease, &commit).await.unwrap();
}

/// The words of each message: the client's own from its Parts.
fn words(history: &[StoredMessage]) -> Vec<String> {
    let words = |message: &StoredMessage| match message.role {
        Role::User => message.parts.iter().map(|part| part.value.as_str()).collect(),
        Role::Assistant | Role::Tool => message.body.clone(),
    };
    history.iter().map(words).collect()
}

async fn viewed(
    pool: &Pool,
    agent: &AgentKey,
    task: domain::TaskId,
    history: Option<u32>,
) -> Vec<String> {
    let want = Want { history, artifacts: true };
    let view = tasks::view(pool, &scope("a").digest(), agent, task, want).await.unwrap();
    words(&view.unwrap().history)
}

#[tokio::test]
async fn o7_the_newest_messages_that_the_client_sees_come_however_many_it_does_not() {
    on_both(async |pool| {
        let (first, lease) = working(&pool, "a").await;
        turn(&pool, &lease, 1, Some("a moment")).await;
        for step in 2..40 {
            turn(&pool, &lease, step, None).await;
        }
        let ask = Ending::InputRequired { message: "which?".to_owned() };
        finish(&pool, lease, &[], &ask).await.unwrap();
        let mut more = Request::new("a", "m2").task(first.task);
        more.parts = vec![text("this "), text("one")];
        let run = more.taken(&pool).await.run;
        let lease = claimed(&pool, "a", run).await.lease;
        for step in 1..40 {
            turn(&pool, &lease, step, None).await;
        }
        let other = Request::new("a", "other").taken(&pool).await;
        let all = ["hello", "a moment", "this one"];
        assert_eq!(viewed(&pool, &agent(), first.task, None).await, all);
        for length in 0..5 {
            let expected = &all[3_usize.saturating_sub(length)..];
            let length = u32::try_from(length).unwrap();
            assert_eq!(viewed(&pool, &agent(), first.task, Some(length)).await, expected);
            let want = PageWant { size: 50, history: Some(length), artifacts: false };
            let digest = scope("a").digest();
            let page = list(&pool, &digest, &agent(), Filter::default(), None, want).await.unwrap();
            for listed in page.tasks {
                let expected = if listed.task.id == other.task {
                    &all[..length.min(1) as usize]
                } else {
                    expected
                };
                assert_eq!(words(&listed.history.unwrap()), expected);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_read_of_a_task_of_another_agent_or_scope() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        let want = Want { history: None, artifacts: true };
        for (user, name) in [("b", "analyst"), ("a", "other"), ("a", "analyst@t1")] {
            let digest = scope(user).digest();
            let view = tasks::view(&pool, &digest, &key(name), taken.task, want).await.unwrap();
            assert!(view.is_none());
        }
        assert_eq!(viewed(&pool, &agent(), taken.task, None).await, ["hello"]);
    })
    .await;
}

#[tokio::test]
async fn a_task_is_read_in_one_statement() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        for history in [None, Some(0), Some(3)] {
            let before = pool.statements();
            viewed(&pool, &agent(), taken.task, history).await;
            assert_eq!(pool.statements() - before, 1);
        }
    })
    .await;
}
