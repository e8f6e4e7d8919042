//! How runs end, and what their clients are told then.

use domain::{EventBody, TaskState};
use store::Pool;
use store::events::{after, reply};
use store::runs::{Ending, finish};
use store::tasks::{self, Want};
use testkit::on_both;

use crate::common::{Request, agent, claimed, scope, working};

async fn told(pool: &Pool, task: domain::TaskId) -> (TaskState, Option<String>) {
    let want = Want { history: Some(0), artifacts: false };
    let view = tasks::view(pool, &scope("a").digest(), &agent(), task, want).await;
    let task = view.unwrap().unwrap().task;
    (task.state, task.status_message)
}

#[tokio::test]
async fn every_ending_leaves_its_state_and_its_words() {
    on_both(async |pool| {
        let message = || "words".to_owned();
        let endings = [
            (Ending::Concluded { message: message() }, TaskState::Completed),
            (Ending::Replied { text: message() }, TaskState::Completed),
            (Ending::Rejected { message: message() }, TaskState::Rejected),
            (Ending::InputRequired { message: message() }, TaskState::InputRequired),
            (Ending::AuthRequired { message: message() }, TaskState::AuthRequired),
        ];
        for (n, (ending, state)) in endings.into_iter().enumerate() {
            let taken = Request::new("a", &format!("m{n}")).taken(&pool).await;
            let lease = claimed(&pool, "a", taken.run).await.lease;
            finish(&pool, lease, &[], &ending).await.unwrap();
            assert_eq!(told(&pool, taken.task).await, (state, Some(message())), "{ending:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn scenario_33_a_reply_is_kept_with_the_end_of_the_first_run() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let replied = Ending::Replied { text: "nine to five".to_owned() };
        finish(&pool, lease, &[], &replied).await.unwrap();
        let scope = scope("a").digest();
        let events = after(&pool, &scope, taken.task, 0, 100).await.unwrap();
        let [.., said, end] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(said.body, EventBody::Reply { text: "nine to five".to_owned() });
        assert!(matches!(end.body, EventBody::Status { state: TaskState::Completed, .. }));
        assert_eq!(reply(&pool, &scope, taken.task).await.unwrap().as_ref(), Some(said));
        let other = crate::common::scope("b").digest();
        assert_eq!(reply(&pool, &other, taken.task).await.unwrap(), None);
    })
    .await;
}

/// Its client knows the task, and gets the words with its status.
#[tokio::test]
async fn a_run_that_continues_a_task_leaves_no_reply() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let ask = Ending::AuthRequired { message: "sign in".to_owned() };
        finish(&pool, lease, &[], &ask).await.unwrap();
        let next = Request::new("a", "m2").task(taken.task).taken(&pool).await;
        let lease = claimed(&pool, "a", next.run).await.lease;
        let replied = Ending::Replied { text: "done".to_owned() };
        finish(&pool, lease, &[], &replied).await.unwrap();
        assert_eq!(told(&pool, taken.task).await, (TaskState::Completed, Some("done".to_owned())));
        assert_eq!(reply(&pool, &scope("a").digest(), taken.task).await.unwrap(), None);
    })
    .await;
}
