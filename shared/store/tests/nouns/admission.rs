//! P0: what a request becomes.

use std::time::Duration;

use domain::{PartKind, TaskState};
use messages::{Message as _, Queue, runs::RunReady};
use store::admission::Admitted;
use store::conversation;
use store::runs::{Ending, finish};
use store::tasks::{Want, view};
use testkit::{Database, on_both};
use tokio::time::timeout;

use crate::common::{Request, agent, claimed, scope, text, working};

const ALL: Want = Want { history: None, artifacts: true };

#[tokio::test]
async fn a_request_becomes_a_task_a_run_and_a_message_in_the_outbox() {
    on_both(async |pool| {
        let request = Request::new("a", "m1").context("c1");
        let taken = request.taken(&pool).await;
        assert_eq!(taken.after, 0);
        assert_eq!(taken.outgoing.queue, Queue::Runs);
        let message = RunReady::parse(&taken.outgoing.body).unwrap();
        assert_eq!(message.run, taken.run);
        assert_eq!(message.scope, scope("a").digest());
        let view = view(&pool, &scope("a").digest(), &agent(), taken.task, ALL).await.unwrap();
        let view = view.unwrap();
        assert_eq!(view.task.state, TaskState::Submitted);
        assert_eq!(view.task.context_id, "c1");
        assert_eq!(view.position, 1);
        assert_eq!(view.history[0].client_message_id.as_deref(), Some("m1"));
        assert_eq!(view.history[0].parts[0].value, "hello");
    })
    .await;
}

#[tokio::test]
async fn parts_come_back_as_they_were_sent() {
    on_both(async |pool| {
        let mut request = Request::new("a", "m1");
        let part = |kind, value: &str| {
            let mut part = text(value);
            part.kind = kind;
            part
        };
        request.parts = vec![
            text("nul \u{0} and 😀"),
            part(PartKind::Data, r#"{"a":3,"a":3.0,"n":"\u0000"}"#),
            part(PartKind::Data, "null"),
            part(PartKind::Raw, "aGVsbG8="),
            part(PartKind::Url, "https://example.com/x"),
        ];
        request.parts[3].filename = Some("../\u{0}x".to_owned());
        request.parts[3].media_type = Some("text/plain".to_owned());
        request.parts[4].metadata = Some(r#"{"k":1.0}"#.to_owned());
        let taken = request.taken(&pool).await;
        let view = view(&pool, &scope("a").digest(), &agent(), taken.task, ALL).await.unwrap();
        let stored = &view.unwrap().history[0].parts;
        let expected: Vec<_> = request
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| part.clone().stored(taken.task, "m1", index))
            .collect();
        assert_eq!(*stored, expected);
    })
    .await;
}

#[tokio::test]
async fn scenario_18_the_same_message_twice_is_one_task() {
    on_both(async |pool| {
        let request = Request::new("a", "m1");
        let first = request.taken(&pool).await;
        assert_eq!(request.admit(&pool).await, Admitted::Existing(first.task));
        let lease = claimed(&pool, "a", first.run).await.lease;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        assert_eq!(request.admit(&pool).await, Admitted::Existing(first.task));
    })
    .await;
}

#[tokio::test]
async fn scenario_19_the_same_id_with_other_content_is_told_and_changes_nothing() {
    on_both(async |pool| {
        let mut request = Request::new("a", "m1");
        let first = request.taken(&pool).await;
        request.fingerprint = "other".to_owned();
        assert_eq!(request.admit(&pool).await, Admitted::MessageIdReused);
        let digest = scope("a").digest();
        let view = view(&pool, &digest, &agent(), first.task, ALL).await.unwrap().unwrap();
        let thread = conversation::thread(&pool, &digest, view.task.session).await.unwrap();
        assert_eq!(thread.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn two_scopes_with_the_same_ids_do_not_meet() {
    on_both(async |pool| {
        let one = Request::new("a", "m1").context("c1").taken(&pool).await;
        let two = Request::new("b", "m1").context("c1").taken(&pool).await;
        assert_ne!(one.task, two.task);
        let stolen = Request::new("b", "m2").task(one.task).admit(&pool).await;
        assert_eq!(stolen, Admitted::UnknownTask);
        let seen = view(&pool, &scope("b").digest(), &agent(), one.task, ALL).await.unwrap();
        assert!(seen.is_none());
    })
    .await;
}

#[tokio::test]
async fn scenario_20_two_identical_first_messages_at_once_make_one_task() {
    on_both(async |pool| {
        for round in 0..10 {
            let mut request = Request::new("a", &format!("m{round}"));
            if round % 2 == 0 {
                request = request.context(&format!("c{round}"));
            }
            let (one, two) = tokio::join!(request.admit(&pool), request.admit(&pool));
            let task = |admitted: &Admitted| match admitted {
                Admitted::New(taken) => taken.task,
                Admitted::Existing(task) => *task,
                other => panic!("{other:?}"),
            };
            assert_eq!(task(&one), task(&two));
            let new = [&one, &two].iter().filter(|a| matches!(a, Admitted::New(_))).count();
            assert_eq!(new, 1);
        }
    })
    .await;
}

#[tokio::test]
async fn with_suppression_off_the_same_message_makes_two_tasks() {
    on_both(async |pool| {
        let mut request = Request::new("a", "m1");
        request.idempotent = false;
        assert_ne!(request.taken(&pool).await.task, request.taken(&pool).await.task);
    })
    .await;
}

#[tokio::test]
async fn scenario_22_a_busy_context_is_told_and_its_run_is_unaffected() {
    on_both(async |pool| {
        let first = Request::new("a", "m1").context("c").taken(&pool).await;
        assert_eq!(Request::new("a", "m2").context("c").admit(&pool).await, Admitted::Busy);
        let again = Request::new("a", "m3").task(first.task).admit(&pool).await;
        assert_eq!(again, Admitted::Busy);
        claimed(&pool, "a", first.run).await;
    })
    .await;
}

#[tokio::test]
async fn a_busy_context_is_told_at_once_while_a_worker_writes_to_its_run() {
    // Each would wait for the other's row for ever. On SQLite there is one writer at a time.
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    let first = Request::new("a", "m1").context("c").taken(&pool).await;
    let mut worker = database.pool(1).await.begin().await.unwrap();
    let claim = "update runs set fence = fence + 1 where run_id = $1";
    worker.execute(claim, &[first.run.into()]).await.unwrap();
    let told = async {
        assert_eq!(Request::new("a", "m2").context("c").admit(&pool).await, Admitted::Busy);
        let again = Request::new("a", "m1").context("c").admit(&pool).await;
        assert_eq!(again, Admitted::Existing(first.task));
    };
    timeout(Duration::from_secs(20), told).await.expect("nobody waits for the worker");
}

#[tokio::test]
async fn scenario_23_a_message_continues_a_task_that_waits_for_one() {
    on_both(async |pool| {
        let (first, lease) = working(&pool, "a").await;
        let ask = Ending::InputRequired { message: "which year?".to_owned() };
        finish(&pool, lease, &[], &ask).await.unwrap();
        let wrong = Request::new("a", "m2").task(first.task).context("other").admit(&pool).await;
        assert_eq!(wrong, Admitted::ContextMismatch);
        let next = Request::new("a", "m2").task(first.task).taken(&pool).await;
        assert_eq!(next.task, first.task);
        assert_ne!(next.run, first.run);
        let lease = claimed(&pool, "a", next.run).await.lease;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        // A retry of the continuation finds its task, also when that is over.
        let retry = Request::new("a", "m2").task(first.task).admit(&pool).await;
        assert_eq!(retry, Admitted::Existing(first.task));
        let late = Request::new("a", "m3").task(first.task).admit(&pool).await;
        assert_eq!(late, Admitted::Ended(TaskState::Completed));
    })
    .await;
}
