//! A tail notices what was appended, at once where that can be told.

use std::time::Duration;

use domain::{AgentName, Ids, Scope, TaskState};
use store::admission::{Admission, Admitted, Taken, admit};
use store::conversation::Envelope;
use store::tasks::cancel;
use testkit::{Database, on_both};
use tokio::time::timeout;

use super::*;

/// Long enough for a slow machine; reached only when something hangs.
const LIMIT: Duration = Duration::from_secs(20);

fn scope() -> Scope {
    Scope::new([("user".to_owned(), "ada".to_owned())]).unwrap()
}

async fn task(pool: &Pool) -> Taken {
    let request = Admission {
        scope: &scope(),
        agent: &AgentName::try_from("analyst".to_owned()).unwrap().into(),
        message_id: "m",
        context_id: None,
        task: None,
        envelope: Envelope { v: 1, ..Envelope::default() },
        parts: &[],
        fingerprint: "f",
        idempotent: true,
        manifest: "{}",
        manifest_digest: "d",
        timeout: Duration::from_secs(60),
        webhook: None,
    };
    match admit(pool, &Ids::random(), &request).await.unwrap() {
        Admitted::New(taken) => taken,
        other => panic!("{other:?}"),
    }
}

async fn ended(pool: &Pool, task: TaskId) {
    let agent = AgentName::try_from("analyst".to_owned()).unwrap().into();
    cancel(pool, &scope().digest(), &agent, task).await.unwrap();
}

#[tokio::test]
async fn a_tail_sees_what_comes_and_ends_with_the_task() {
    on_both(async |pool| {
        let taken = task(&pool).await;
        let mut tail = Tail::new(pool.clone(), scope().digest(), taken.task, 0, None);
        let states = async {
            let mut states = Vec::new();
            while let Some(event) = tail.next().await.unwrap() {
                if let EventBody::Status { state, .. } = event.body {
                    states.push(state);
                }
            }
            states
        };
        let (states, ()) = tokio::join!(timeout(LIMIT, states), ended(&pool, taken.task));
        assert_eq!(states.unwrap(), [TaskState::Submitted, TaskState::Canceled]);
    })
    .await;
}

#[tokio::test]
async fn what_this_process_appends_to_sqlite_is_seen_without_a_pause() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    let taken = task(&pool).await;
    let mut tail = Tail::new(pool.clone(), scope().digest(), taken.task, 1, None);
    // Nobody would wait for so long.
    tail.pause = Duration::from_secs(3600);
    let (event, ()) = tokio::join!(timeout(LIMIT, tail.next()), ended(&pool, taken.task));
    let event = event.expect("the commit wakes the tail").unwrap().unwrap();
    assert!(is_last(&event));
    assert_eq!(tail.next().await.unwrap(), None);
}

#[tokio::test]
async fn what_another_process_appends_is_seen_at_the_next_look() {
    for database in [Database::sqlite().await, Database::postgres().await] {
        let (pool, other) = (database.pool(1).await, database.pool(1).await);
        let taken = task(&other).await;
        let mut tail = Tail::new(pool, scope().digest(), taken.task, 1, None);
        let (event, ()) = tokio::join!(timeout(LIMIT, tail.next()), ended(&other, taken.task));
        assert!(is_last(&event.unwrap().unwrap().unwrap()));
    }
}

#[tokio::test]
async fn a_tail_ends_when_there_is_no_time_left_whatever_its_pause() {
    on_both(async |pool| {
        let taken = task(&pool).await;
        let until = Some(Instant::now() + Duration::from_millis(1));
        let mut tail = Tail::new(pool.clone(), scope().digest(), taken.task, 1, until);
        tail.pause = Duration::from_secs(3600);
        assert_eq!(timeout(LIMIT, tail.next()).await.expect("in time").unwrap(), None);
    })
    .await;
}

/// The bound of the README: a look every half second once the log is silent.
#[tokio::test]
async fn an_idle_subscriber_asks_twice_a_second() {
    on_both(async |pool| {
        let taken = task(&pool).await;
        // From here on time passes as soon as everybody waits.
        tokio::time::pause();
        let minute = Duration::from_secs(60);
        let until = Some(Instant::now() + minute);
        let mut tail = Tail::new(pool.clone(), scope().digest(), taken.task, 1, until);
        let before = pool.statements();
        assert_eq!(tail.next().await.unwrap(), None);
        let asked = pool.statements() - before;
        assert!((120..130).contains(&asked), "{asked} statements in a minute");
        tokio::time::resume();
    })
    .await;
}
