//! The same message in two processes at the same moment, and again later (decisions on idempotency).

use domain::{CallId, EventBody, TaskId, TaskState};
use store::Pool;
use store::admission::Admitted;
use store::events::Place;
use store::runs::{Ending, PlacedEvent, finish};
use testkit::{Database, on_both_databases};

use crate::common::{Request, claimed, key, scope, waiting_for_locks, working};

fn task(admitted: &Admitted) -> TaskId {
    match admitted {
        Admitted::New(taken) => taken.task,
        Admitted::Existing(task) => *task,
        other => panic!("{other:?}"),
    }
}

fn news(admitted: &[&Admitted]) -> usize {
    admitted.iter().filter(|admitted| matches!(admitted, Admitted::New(_))).count()
}

/// A task that waits for its client.
async fn asking(pool: &Pool, user: &str) -> TaskId {
    let (taken, lease) = working(pool, user).await;
    let ask = Ending::InputRequired { message: "which?".to_owned() };
    finish(pool, lease, &[], &ask).await.unwrap();
    taken.task
}

#[tokio::test]
async fn scenario_20_two_processes_make_one_task_of_the_same_message() {
    on_both_databases(async |database| {
        let (one, two) = (database.pool(1).await, database.pool(1).await);
        for round in 0..10 {
            let mut request = Request::new("a", &format!("m{round}"));
            if round % 2 == 0 {
                request = request.context(&format!("c{round}"));
            }
            let (first, second) = tokio::join!(request.admit(&one), request.admit(&two));
            assert_eq!(task(&first), task(&second));
            assert_eq!(news(&[&first, &second]), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn two_processes_make_one_run_of_the_same_continuation() {
    on_both_databases(async |database| {
        let (one, two) = (database.pool(1).await, database.pool(1).await);
        for round in 0..10 {
            let user = format!("u{round}");
            let asking = asking(&one, &user).await;
            let request = Request::new(&user, "more").task(asking);
            let (first, second) = tokio::join!(request.admit(&one), request.admit(&two));
            assert_eq!((task(&first), task(&second)), (asking, asking));
            assert_eq!(news(&[&first, &second]), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn of_two_different_messages_at_once_one_is_taken_and_the_other_is_told_that_it_is_busy() {
    on_both_databases(async |database| {
        let (one, two) = (database.pool(1).await, database.pool(1).await);
        for round in 0..10 {
            let user = format!("u{round}");
            let asking = asking(&one, &user).await;
            let request = |id: &str| match round % 2 {
                0 => Request::new(&user, id).task(asking),
                _ => Request::new(&user, id).context("new"),
            };
            let (x, y) = (request("x"), request("y"));
            let (first, second) = tokio::join!(x.admit(&one), y.admit(&two));
            assert_eq!(news(&[&first, &second]), 1, "{first:?} {second:?}");
            assert!([first, second].contains(&Admitted::Busy));
        }
    })
    .await;
}

#[tokio::test]
async fn a_twin_that_waited_for_the_lock_is_a_duplicate_and_not_told_busy() {
    // On SQLite there is one writer at a time: nobody has looked before the other is done.
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    let waiting = asking(&pool, "a").await;
    let mut holder = database.pool(1).await.begin().await.unwrap();
    let hold = "update tasks set state = state where task_id = $1";
    holder.execute(hold, &[waiting.into()]).await.unwrap();
    let request = Request::new("a", "more").task(waiting);
    let (one, two) = (database.pool(1).await, database.pool(1).await);
    let release = async {
        // Both have seen no earlier message by now.
        waiting_for_locks(&pool, 2).await;
        holder.rollback().await.unwrap();
    };
    let (first, second, ()) = tokio::join!(request.admit(&one), request.admit(&two), release);
    assert_eq!((task(&first), task(&second)), (waiting, waiting));
    assert_eq!(news(&[&first, &second]), 1);
}

/// A commit writes to the run, its session and its task, and a message to the task takes the last two.
/// Whoever comes second waits, and neither waits for the other.
#[tokio::test]
async fn a_message_to_a_task_at_work_does_not_stop_its_worker() {
    // On SQLite there is one writer at a time.
    let database = Database::postgres().await;
    let (pool, one, two) = (database.pool(1).await, database.pool(1).await, database.pool(1).await);
    let (taken, lease) = working(&pool, "a").await;
    let mut holder = database.pool(1).await.begin().await.unwrap();
    let hold = "update sessions set last_sequence = last_sequence where session_id = $1";
    holder.execute(hold, &[lease.session().into()]).await.unwrap();
    // With a last event the worker reaches for the session before it ends the task.
    let place = Place { step: 1, attempt: 1, ordinal: 1 };
    let called = EventBody::ToolCalled { call: CallId("c".to_owned()), tool: "t".to_owned() };
    let last = [PlacedEvent { place, body: called }];
    let worker = finish(&one, lease, &last, &Ending::Completed);
    let message = async {
        waiting_for_locks(&pool, 1).await;
        Request::new("a", "more").task(taken.task).admit(&two).await
    };
    let release = async {
        waiting_for_locks(&pool, 2).await;
        holder.rollback().await.unwrap();
    };
    let (finished, admitted, ()) = tokio::join!(worker, message, release);
    finished.unwrap();
    assert_eq!(admitted, Admitted::Ended(TaskState::Completed));
}

/// Its places in the logs are those that are free once it has the session.
#[tokio::test]
async fn a_continuation_that_waited_for_its_session_comes_after_what_was_written_meanwhile() {
    // On SQLite there is one writer at a time.
    let database = Database::postgres().await;
    let (pool, one) = (database.pool(1).await, database.pool(1).await);
    let waiting = asking(&pool, "a").await;
    let mut writer = database.pool(1).await.begin().await.unwrap();
    let write = "update sessions set last_sequence = 70, last_position = 50
                  where session_id = (select session_id from tasks where task_id = $1)";
    writer.execute(write, &[waiting.into()]).await.unwrap();
    let request = Request::new("a", "more").task(waiting);
    let release = async {
        waiting_for_locks(&pool, 1).await;
        writer.commit().await.unwrap();
    };
    let (taken, ()) = tokio::join!(request.taken(&one), release);
    assert_eq!(taken.after, 70);
    let sql = "select last_sequence, last_position from sessions";
    let row = pool.query_opt(sql, &[]).await.unwrap().unwrap();
    let places: (i64, i64) = (row.get("last_sequence").unwrap(), row.get("last_position").unwrap());
    assert_eq!(places, (71, 51));
}

#[tokio::test]
async fn another_process_knows_a_message_whatever_has_become_of_its_task() {
    on_both_databases(async |database| {
        let (one, two) = (database.pool(1).await, database.pool(1).await);
        let asking = asking(&one, "a").await;
        let first = Request::new("a", "m");
        let more = Request::new("a", "more").task(asking);
        let known = Admitted::Existing(asking);
        assert_eq!(first.admit(&two).await, known, "while it asks");
        let run = more.taken(&one).await.run;
        assert_eq!(
            (first.admit(&two).await, more.admit(&two).await),
            (known.clone(), known.clone())
        );
        let lease = claimed(&one, "a", run).await.lease;
        assert_eq!(
            (first.admit(&two).await, more.admit(&two).await),
            (known.clone(), known.clone())
        );
        finish(&one, lease, &[], &Ending::Completed).await.unwrap();
        assert_eq!((first.admit(&two).await, more.admit(&two).await), (known.clone(), known));
        let mut other = more.clone();
        other.fingerprint = "other".to_owned();
        assert_eq!(other.admit(&two).await, Admitted::MessageIdReused);
    })
    .await;
}

#[tokio::test]
async fn a_context_belongs_to_its_scope_and_agent_and_its_id_means_nothing_elsewhere() {
    on_both_databases(async |database| {
        let pool = database.pool(1).await;
        let mut tasks = Vec::new();
        for (user, name) in
            [("a", "analyst"), ("b", "analyst"), ("a", "other"), ("a", "analyst@t1")]
        {
            let taken = Request::new(user, "m").context("c").of(name).taken(&pool).await;
            tasks.push((user, name, taken.task));
        }
        for (user, name, task) in &tasks {
            let key = key(name);
            for (_, other, foreign) in &tasks {
                let want = store::tasks::Want { history: Some(0), artifacts: false };
                let digest = scope(user).digest();
                let view = store::tasks::view(&pool, &digest, &key, *foreign, want).await.unwrap();
                assert_eq!(view.is_some(), task == foreign, "{user} {name} {other}");
                if let Some(view) = view {
                    assert_eq!(view.task.context_id, "c");
                }
            }
        }
    })
    .await;
}
