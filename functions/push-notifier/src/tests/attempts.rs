//! How often an update is tried, how long it waits, and who may still try it.

use std::sync::Arc;
use std::time::Duration;

use domain::{EventBody, TaskState};
use http::StatusCode;
use store::events::Place;
use store::runs::{self, Output, PlacedEvent};
use store::webhooks::{self, Claim, Of, dead_letters};
use testkit::on_both;
use tokio::net::TcpListener;

use super::receiver::Receiver;
use super::scene::{Names, Scene};
use crate::{Notifier, Patience, Post};

const BEGUN: [&str; 2] = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];

async fn dead(scene: &Scene) -> Vec<(i64, String)> {
    let dead = dead_letters(&scene.pool, &scene.digest, scene.task).await.unwrap();
    dead.into_iter().map(|letter| (letter.sequence, letter.why)).collect()
}

/// Delivers so many times, each time when the next attempt is due.
async fn deliver(scene: &Scene, notifier: &Notifier, times: usize) {
    for _ in 0..times {
        scene.deliver(notifier).await;
        scene.later().await;
    }
}

/// One delivery, and how long the next one is put off.
async fn wait(scene: &Scene, notifier: &Notifier) -> Duration {
    scene.queues.take();
    scene.deliver(notifier).await;
    scene.later().await;
    scene.queues.take().last().unwrap().delay
}

/// A notifier that gives each attempt so long.
fn with_timeout(scene: &Scene, timeout: Duration) -> Notifier {
    let guard = webhook::Guard::new("127.0.0.1".parse().unwrap());
    let post = Post::new(guard, timeout, &(Arc::new(Names::default()) as _)).unwrap();
    Notifier { post, ..scene.notifier() }
}

/// P5: whoever asks to be left alone is, but no longer than a queue keeps a message.
#[tokio::test]
async fn p5_a_receiver_gets_the_time_that_it_asks_for_up_to_a_quarter_of_an_hour() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let notifier = scene.notifier();
        for asked in ["100", "86400", "soon"] {
            receiver.busy(asked);
        }
        assert_eq!(wait(&scene, &notifier).await, Duration::from_secs(100));
        scene.deliver(&notifier).await;
        // The row says when it is due; the queue would cut the wait in any case.
        let sql = "select case when due_at > seconds_from_now(840)
                                and due_at < seconds_from_now(960) then 1 else 0 end as fits
                     from webhooks where webhook_id = $1";
        let row = pool.query_opt(sql, &[scene.webhook.into()]).await.unwrap().unwrap();
        assert_eq!(row.get::<i32>("fits").unwrap(), 1);
        scene.later().await;
        // What is no number of seconds is not listened to.
        assert!(wait(&scene, &notifier).await < Duration::from_secs(80));
    })
    .await;
}

/// P5: each wait is up to four times as long as the one before, never longer than the longest, and
/// not the same for everybody, so that receivers that fell together are not called together.
#[tokio::test]
async fn p5_waits_grow_up_to_the_longest_and_are_not_all_alike() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let patience = Patience { attempts: 20, ..Patience::default() };
        let notifier = Notifier { patience, ..scene.notifier() };
        receiver.answer(StatusCode::BAD_GATEWAY, 18);
        let mut full = patience.first_wait;
        let mut parts = Vec::new();
        for _ in 0..18 {
            let wait = wait(&scene, &notifier).await;
            assert!(full / 2 <= wait && wait < full, "{wait:?} of {full:?}");
            parts.push(wait.div_duration_f64(full));
            full = (full * 4).min(Patience::LONGEST);
        }
        parts.dedup();
        assert!(parts.len() > 1, "{parts:?}");
    })
    .await;
}

/// P5: what one update has used up is not taken from the next.
#[tokio::test]
async fn p5_after_a_success_an_update_gets_all_its_attempts() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        receiver.answer(StatusCode::BAD_GATEWAY, 3);
        receiver.answer(StatusCode::OK, 1);
        receiver.answer(StatusCode::BAD_GATEWAY, 3);
        deliver(&scene, &scene.notifier(), 7).await;
        assert_eq!(dead(&scene).await, []);
        let wanted = [[BEGUN[0]; 4], [BEGUN[1]; 4]].concat();
        assert_eq!(receiver.said(), wanted);
    })
    .await;
}

/// A receiver that is back is as good as one that was never away.
#[tokio::test]
async fn a_receiver_that_is_back_gets_all_attempts_again() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        for text in ["a", "b"] {
            scene.say(text).await;
        }
        // Four attempts at the first update and two at the second, in vain; then it is back.
        receiver.answer(StatusCode::BAD_GATEWAY, 6);
        receiver.answer(StatusCode::OK, 1);
        receiver.answer(StatusCode::BAD_GATEWAY, 3);
        deliver(&scene, &scene.notifier(), 9).await;
        let refused = |sequence| (sequence, "refused".to_owned());
        assert_eq!(dead(&scene).await, [refused(1), refused(2)]);
        assert_eq!(receiver.said()[6..], ["a", "b", "b", "b", "b"]);
    })
    .await;
}

/// A client that waits for a question to be asked must hear of it.
#[tokio::test]
async fn an_update_that_interrupts_the_task_gets_all_attempts() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let body = EventBody::Status { state: TaskState::InputRequired, message: None, code: None };
        let placed = PlacedEvent { place: Place { step: 1, attempt: 1, ordinal: 90 }, body };
        runs::append(&pool, &scene.lease, &[placed], Output::default()).await.unwrap();
        receiver.answer(StatusCode::BAD_GATEWAY, 9);
        deliver(&scene, &scene.notifier(), 9).await;
        assert_eq!(receiver.said()[6..], ["TASK_STATE_INPUT_REQUIRED"; 4]);
    })
    .await;
}

/// An update at which workers die does not stop those behind it.
#[tokio::test]
async fn an_update_at_which_every_worker_died_is_given_up_and_posted_no_more() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        for _ in 0..4 {
            let claim = webhooks::claim(&pool, &scene.digest, scene.webhook, "dies").await;
            assert!(matches!(claim, Ok(Claim::Yes(_))));
            scene.later().await;
        }
        scene.deliver(&scene.notifier()).await;
        assert_eq!(receiver.said(), [BEGUN[1]]);
        assert_eq!(dead(&scene).await, [(1, "crashed".to_owned())]);
    })
    .await;
}

/// P5: a receiver that says nothing, and one that is not there, are written down as what they are.
#[tokio::test]
async fn p5_a_receiver_that_does_not_answer_costs_an_attempt_and_no_more_than_its_time() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        receiver.hold();
        let scene = Scene::new(&pool, &receiver).await;
        deliver(&scene, &with_timeout(&scene, Duration::from_millis(50)), 4).await;
        assert_eq!(dead(&scene).await, [(1, "no_answer".to_owned())]);

        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let scene = Scene::at(&pool, &format!("http://{gone}/")).await;
        deliver(&scene, &scene.notifier(), 4).await;
        assert_eq!(dead(&scene).await, [(1, "unreachable".to_owned())]);
    })
    .await;
}

/// An attempt that might end after the lease is begun with a lease that is new.
#[tokio::test]
async fn the_lease_is_renewed_before_an_attempt_that_could_outlive_it() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let mut costs = Vec::new();
        for timeout in [Duration::from_secs(15), domain::limits::LEASE] {
            let scene = Scene::new(&pool, &receiver).await;
            let before = pool.statements();
            scene.deliver(&with_timeout(&scene, timeout)).await;
            costs.push(pool.statements() - before);
        }
        assert_eq!(receiver.said().len(), 4);
        assert_eq!(costs[1] - costs[0], 2, "one renewal for each of the two updates");
    })
    .await;
}

/// P7: nothing more is posted once the webhook is deleted; the message is done with.
#[tokio::test]
async fn p7_a_webhook_that_is_deleted_while_it_is_told_is_told_nothing_more() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        receiver.hold();
        let scene = Scene::new(&pool, &receiver).await;
        let agent = Scene::agent();
        let of = Of { scope: &scene.digest, agent: &agent, task: scene.task };
        let notifier = scene.notifier();
        tokio::join!(scene.deliver(&notifier), async {
            receiver.arrival().await;
            let id = scene.task.as_uuid().to_string();
            assert!(webhooks::delete(&pool, of, &id).await.unwrap());
            receiver.let_out();
        });
        scene.deliver(&notifier).await;
        assert_eq!(receiver.said(), [BEGUN[0]]);
    })
    .await;
}

/// P7: a record that was put into another row is no address of that row, and the log goes on.
#[tokio::test]
async fn p7_a_record_that_belongs_elsewhere_is_not_posted_to() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let (theirs, scene) =
            (Scene::new(&pool, &receiver).await, Scene::new(&pool, &receiver).await);
        let sql = "update webhooks
                      set sealed = (select w.sealed from webhooks w where w.webhook_id = $2)
                    where webhook_id = $1";
        pool.execute(sql, &[scene.webhook.into(), theirs.webhook.into()]).await.unwrap();
        deliver(&scene, &scene.notifier(), 6).await;
        assert_eq!(receiver.said(), Vec::<String>::new());
        let unreadable = |sequence| (sequence, "unreadable".to_owned());
        assert_eq!(dead(&scene).await, [unreadable(1), unreadable(2)]);
    })
    .await;
}

/// P4: also where there is more than is read at once.
#[tokio::test]
async fn p4_a_long_log_is_told_to_its_end_and_in_order() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let texts: Vec<String> = (0..60).map(|index| index.to_string()).collect();
        for text in &texts {
            scene.say(text).await;
        }
        scene.deliver(&scene.notifier()).await;
        assert_eq!(receiver.said()[2..], texts);
    })
    .await;
}
