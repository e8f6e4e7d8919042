//! Cancellation, and what a reader sees at one moment.

use domain::{EventBody, Ids, TaskState};
use store::runs::{Claim, Ending, claim, finish};
use store::tasks::{self, Canceled, Want, cancel};
use store::{Error, events};
use testkit::on_both;

use crate::common::{Request, agent, scope, working};

#[tokio::test]
async fn scenario_24_a_cancel_ends_the_task_and_its_worker_can_write_no_more() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let digest = scope("a").digest();
        let canceled = cancel(&pool, &digest, &agent(), taken.task).await.unwrap();
        assert_eq!(canceled, Canceled::Yes);
        let late = finish(&pool, lease, &[], &Ending::Completed).await;
        assert!(matches!(late, Err(Error::LeaseLost)));
        assert!(matches!(claim(&pool, &digest, taken.run, "w").await.unwrap(), Claim::Over));
        let again = cancel(&pool, &digest, &agent(), taken.task).await.unwrap();
        assert_eq!(again, Canceled::Yes);
        let events = events::after(&pool, &digest, taken.task, 0, 10).await.unwrap();
        let last = &events.last().unwrap().body;
        let terminal = EventBody::Status { state: TaskState::Canceled, message: None, code: None };
        assert_eq!(*last, terminal);
        assert_eq!(events.len(), 3, "submitted, working, canceled");
    })
    .await;
}

#[tokio::test]
async fn a_task_that_waits_for_its_client_is_canceled_without_a_worker() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let ask = Ending::InputRequired { message: "which?".to_owned() };
        finish(&pool, lease, &[], &ask).await.unwrap();
        let digest = scope("a").digest();
        assert_eq!(cancel(&pool, &digest, &agent(), taken.task).await.unwrap(), Canceled::Yes);
    })
    .await;
}

#[tokio::test]
async fn an_ended_task_cannot_be_canceled_and_a_foreign_one_is_unknown() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let digest = scope("a").digest();
        let ended = cancel(&pool, &digest, &agent(), taken.task).await.unwrap();
        assert_eq!(ended, Canceled::No(TaskState::Completed));
        let foreign = cancel(&pool, &scope("b").digest(), &agent(), taken.task).await.unwrap();
        assert_eq!(foreign, Canceled::Unknown);
        let absent = cancel(&pool, &digest, &agent(), Ids::random().task()).await.unwrap();
        assert_eq!(absent, Canceled::Unknown);
    })
    .await;
}

#[tokio::test]
async fn scenario_25_of_completion_and_cancel_exactly_one_wins() {
    on_both(async |pool| {
        for round in 0..10 {
            let user = format!("u{round}");
            let (taken, lease) = working(&pool, &user).await;
            let digest = scope(&user).digest();
            let name = agent();
            let (done, canceled) = tokio::join!(
                finish(&pool, lease, &[], &Ending::Completed),
                cancel(&pool, &digest, &name, taken.task)
            );
            let state = tasks::state(&pool, &digest, taken.task).await.unwrap().unwrap();
            match (done, canceled.unwrap()) {
                (Ok(()), Canceled::No(TaskState::Completed)) => {
                    assert_eq!(state, TaskState::Completed);
                }
                (Err(Error::LeaseLost), Canceled::Yes) => assert_eq!(state, TaskState::Canceled),
                other => panic!("{other:?}"),
            }
            let events = events::after(&pool, &digest, taken.task, 0, 10).await.unwrap();
            let terminal = events.iter().filter(|event| {
                matches!(event.body, EventBody::Status { state, .. } if state.is_terminal())
            });
            assert_eq!(terminal.count(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn history_is_the_newest_messages_in_their_order() {
    on_both(async |pool| {
        let (first, lease) = working(&pool, "a").await;
        let ask = Ending::InputRequired { message: "which?".to_owned() };
        finish(&pool, lease, &[], &ask).await.unwrap();
        Request::new("a", "m2").task(first.task).taken(&pool).await;
        let read = async |history| {
            let want = Want { history, artifacts: false };
            let view = tasks::view(&pool, &scope("a").digest(), &agent(), first.task, want).await;
            let history = view.unwrap().unwrap().history;
            history.into_iter().map(|m| m.client_message_id.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(read(None).await, ["m", "m2"]);
        assert_eq!(read(Some(1)).await, ["m2"]);
        assert_eq!(read(Some(0)).await, Vec::<String>::new());
        assert_eq!(read(Some(9)).await, ["m", "m2"]);
    })
    .await;
}

#[tokio::test]
async fn a_finished_task_tells_when_its_parts_were() {
    use store::timings::{Part, of_task};
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let spans = of_task(&pool, &scope("a").digest(), taken.task).await.unwrap();
        let parts: Vec<&Part> = spans.iter().map(|span| &span.part).collect();
        assert_eq!(parts, [&Part::Queued, &Part::Run]);
        assert!(spans.iter().all(|span| span.began <= span.ended));
        assert_eq!(of_task(&pool, &scope("b").digest(), taken.task).await.unwrap(), []);
    })
    .await;
}
