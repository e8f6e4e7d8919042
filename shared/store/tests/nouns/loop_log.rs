//! The step log: model steps, tool calls, publications' requests.

use domain::{CallId, Ids};
use store::calls::{self, CallState};
use store::conversation::{self, Role};
use store::publications::{self, Request as Publish};
use store::runs::{Output, look};
use store::steps::{self, LoopMessage, ModelCommit, PlannedCall};
use store::{Error, Lease, Pool};
use testkit::on_both;

use crate::common::{age_lease, claimed, working};

fn message(ids: &Ids, body: &str) -> LoopMessage {
    LoopMessage { id: ids.message(), body: body.to_owned() }
}

fn call(id: &str, ordinal: i32) -> PlannedCall {
    PlannedCall {
        call: CallId(id.to_owned()),
        ordinal,
        tool: "ls".to_owned(),
        args: r#"{"path":"\u0000"}"#.to_owned(),
    }
}

async fn model_step(pool: &Pool, lease: &Lease, ids: &Ids, step: i32, calls: Vec<PlannedCall>) {
    let attempt = steps::begin(pool, lease, step, "scripted", "s").await.unwrap();
    let commit = ModelCommit {
        step,
        attempt,
        message: message(ids, r#"{"v":1}"#),
        speaks: true,
        calls,
        answered: Vec::new(),
        stop_reason: "tool_use",
        usage: Some(r#"{"input":1}"#.to_owned()),
        events: Vec::new(),
        output: Output::default(),
    };
    steps::commit(pool, lease, &commit).await.unwrap();
}

#[tokio::test]
async fn a_step_that_was_not_committed_is_begun_again_and_a_committed_one_is_not() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let ids = Ids::random();
        assert_eq!(steps::begin(&pool, &lease, 1, "p", "m").await.unwrap(), 1);
        assert_eq!(steps::begin(&pool, &lease, 1, "p", "m").await.unwrap(), 2);
        model_step(&pool, &lease, &ids, 1, vec![]).await;
        let again = steps::begin(&pool, &lease, 1, "p", "m").await;
        assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
        let progress = look(&pool, &lease).await.unwrap();
        assert_eq!((progress.next_step, progress.model_calls), (2, 1));
    })
    .await;
}

#[tokio::test]
async fn an_answer_of_an_older_attempt_is_not_history() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let ids = Ids::random();
        let old = steps::begin(&pool, &lease, 1, "p", "m").await.unwrap();
        steps::begin(&pool, &lease, 1, "p", "m").await.unwrap();
        let commit = ModelCommit {
            step: 1,
            attempt: old,
            message: message(&ids, "{}"),
            speaks: true,
            calls: Vec::new(),
            answered: Vec::new(),
            stop_reason: "end_turn",
            usage: None,
            events: Vec::new(),
            output: Output::default(),
        };
        let late = steps::commit(&pool, &lease, &commit).await;
        assert!(matches!(late, Err(Error::Conflict)), "{late:?}");
        let thread = conversation::thread(&pool, lease.scope(), lease.session()).await.unwrap();
        assert_eq!(thread.len(), 1, "only the client's message");
    })
    .await;
}

#[tokio::test]
async fn calls_have_one_result_each() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let ids = Ids::random();
        model_step(&pool, &lease, &ids, 1, vec![call("one", 0), call("two", 1)]).await;
        let open = calls::open(&pool, lease.scope(), lease.run()).await.unwrap();
        assert_eq!(open.iter().map(|c| c.call.0.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(open[0].args, r#"{"path":"\u0000"}"#);
        calls::start(&pool, &lease, &open[0].call, Some(r#"{"exec":"e"}"#)).await.unwrap();
        calls::start(&pool, &lease, &open[0].call, None).await.unwrap();
        let open = calls::open(&pool, lease.scope(), lease.run()).await.unwrap();
        assert_eq!((open[0].state, open[0].attempt), (CallState::Started, 2));
        assert_eq!(open[1].state, CallState::Planned);
        let handle: serde_json::Value =
            serde_json::from_str(open[0].handle.as_deref().unwrap()).unwrap();
        assert_eq!(handle["exec"], "e");
        let result = message(&ids, r#"{"v":1,"t":1}"#);
        calls::finish(&pool, &lease, &open[0], &result, &[], Output::default()).await.unwrap();
        let second = message(&ids, "{}");
        let twice = calls::finish(&pool, &lease, &open[0], &second, &[], Output::default()).await;
        assert!(matches!(twice, Err(Error::Conflict)));
        let begun = calls::start(&pool, &lease, &open[0].call, None).await;
        assert!(matches!(begun, Err(Error::Conflict)));
        assert_eq!(calls::open(&pool, lease.scope(), lease.run()).await.unwrap().len(), 1);
        let thread = conversation::thread(&pool, lease.scope(), lease.session()).await.unwrap();
        let roles: Vec<Role> = thread.iter().map(|m| m.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_was_overtaken_commits_no_answer_and_no_result() {
    on_both(async |pool| {
        let (taken, old) = working(&pool, "a").await;
        let ids = Ids::random();
        model_step(&pool, &old, &ids, 1, vec![call("one", 0)]).await;
        age_lease(&pool, taken.run).await;
        let new = claimed(&pool, "a", taken.run).await.lease;
        let open = calls::open(&pool, new.scope(), new.run()).await.unwrap();
        let result = message(&ids, "{}");
        let begun = steps::begin(&pool, &old, 2, "p", "m").await;
        assert!(matches!(begun, Err(Error::LeaseLost)));
        let started = calls::start(&pool, &old, &open[0].call, None).await;
        assert!(matches!(started, Err(Error::LeaseLost)));
        let done = calls::finish(&pool, &old, &open[0], &result, &[], Output::default()).await;
        assert!(matches!(done, Err(Error::LeaseLost)));
        let patched = steps::patch_dangling(&pool, &old, &[result]).await;
        assert!(matches!(patched, Err(Error::LeaseLost)));
        assert_eq!(calls::open(&pool, new.scope(), new.run()).await.unwrap(), open);
    })
    .await;
}

#[tokio::test]
async fn dangling_calls_are_answered_once() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let result = message(&Ids::random(), "{}");
        for _ in 0..2 {
            steps::patch_dangling(&pool, &lease, std::slice::from_ref(&result)).await.unwrap();
        }
        let thread = conversation::thread(&pool, lease.scope(), lease.session()).await.unwrap();
        assert_eq!(thread.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_publication_is_asked_for_once_per_call() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let ids = Ids::random();
        model_step(&pool, &lease, &ids, 1, vec![call("one", 0)]).await;
        let id = CallId("one".to_owned());
        let request = Publish {
            call: &id,
            path: "a.csv",
            media_type: "text/csv",
            filename: "a.csv",
            instance: ids.instance(),
            generation: 1,
        };
        assert_eq!(publications::of_call(&pool, &lease, &id).await.unwrap(), None);
        let (first, _) = publications::request(&pool, &ids, &lease, &request).await.unwrap();
        let (second, _) = publications::request(&pool, &ids, &lease, &request).await.unwrap();
        assert_eq!(first, second);
        let known = publications::of_call(&pool, &lease, &id).await.unwrap();
        assert_eq!(known, Some((first, publications::Outcome::Requested)));
        let (_, other) = working(&pool, "b").await;
        assert_eq!(publications::of_call(&pool, &other, &id).await.unwrap(), None);
    })
    .await;
}
