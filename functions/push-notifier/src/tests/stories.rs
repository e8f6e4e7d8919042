//! What receivers get, and when.

use std::collections::HashMap;
use std::time::Duration;

use cloud::queues::MAX_DELAY;
use http::{Method, StatusCode};
use store::webhooks::dead_letters;
use testkit::{on_both, on_both_databases};

use super::receiver::Receiver;
use super::scene::Scene;

const BEGUN: [&str; 2] = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];

/// P4: the request, and the updates in the order of the log, from the first one on.
#[tokio::test]
async fn p4_each_update_is_posted_in_order_with_its_headers() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let notifier = scene.notifier();
        scene.say("one").await;
        scene.deliver(&notifier).await;
        scene.say("two").await;
        scene.finish().await;
        scene.deliver(&notifier).await;
        // A message that comes again finds nothing to do.
        scene.deliver(&notifier).await;
        let mut wanted = BEGUN.to_vec();
        wanted.extend(["one", "two", "TASK_STATE_COMPLETED"]);
        assert_eq!(receiver.said(), wanted);
        for arrived in receiver.arrived() {
            assert_eq!((arrived.method, arrived.path.as_str()), (Method::POST, "/hook?canary-url"));
            let header = |name: &str| arrived.headers[name].to_str().unwrap();
            assert_eq!(header("content-type"), "application/a2a+json");
            assert_eq!(header("authorization"), "Bearer canary-credentials");
            assert_eq!(header("x-a2a-notification-token"), "canary-token");
            assert_eq!(header("a2a-notification-token"), "canary-token");
            assert_eq!(arrived.body.as_object().unwrap().len(), 1, "one member exactly");
        }
    })
    .await;
}

/// A wake-up is sent where nobody is at work, and nowhere else.
#[tokio::test]
async fn an_idle_webhook_is_asked_for_once_however_much_is_said() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        for _ in 0..3 {
            scene.say("more").await;
        }
        assert_eq!(scene.asked().await, 1);
        scene.deliver(&scene.notifier()).await;
        scene.say("again").await;
        assert_eq!(scene.asked().await, 2);
    })
    .await;
}

/// P5: the status is the answer; whoever goes on talking has the update all the same, and once.
#[tokio::test]
async fn p5_a_receiver_that_never_ends_its_answer_is_told_each_update_once() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        receiver.never_ends();
        scene.say("one").await;
        scene.deliver(&scene.notifier()).await;
        scene.later().await;
        scene.deliver(&scene.notifier()).await;
        let mut wanted = BEGUN.to_vec();
        wanted.push("one");
        assert_eq!(receiver.said(), wanted);
    })
    .await;
}

/// P5: a receiver that is down is tried again, later and later, and then gets everything in order.
#[tokio::test]
async fn p5_a_receiver_that_was_down_gets_everything_in_order() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let notifier = scene.notifier();
        receiver.answer(StatusCode::SERVICE_UNAVAILABLE, 3);
        let mut waits: Vec<Duration> = Vec::new();
        for _ in 0..3 {
            scene.queues.take();
            scene.deliver(&notifier).await;
            waits.push(scene.queues.take().last().unwrap().delay);
            // It is not time yet: a duplicate does not cut the wait short.
            scene.deliver(&notifier).await;
            scene.later().await;
        }
        assert_eq!(receiver.arrived().len(), 3);
        assert!(waits.is_sorted() && waits[0] > Duration::from_secs(2), "{waits:?}");
        assert!(waits[2] <= MAX_DELAY);
        scene.deliver(&notifier).await;
        assert_eq!(receiver.said()[3..], BEGUN);
        assert_eq!(dead_letters(&pool, &scene.digest, scene.task).await.unwrap(), []);
    })
    .await;
}

/// P5: after the last attempt the update is given up in writing, and the next one is posted.
#[tokio::test]
async fn p5_an_update_that_is_given_up_stops_no_later_one() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let notifier = scene.notifier();
        receiver.answer(StatusCode::INTERNAL_SERVER_ERROR, 4);
        for _ in 0..4 {
            scene.deliver(&notifier).await;
            scene.later().await;
        }
        assert_eq!(receiver.said()[4..], [BEGUN[1]], "posted at once by the last delivery");
        let dead = dead_letters(&pool, &scene.digest, scene.task).await.unwrap();
        let dead: Vec<_> = dead.iter().map(|d| (d.sequence, d.why.as_str(), d.attempts)).collect();
        assert_eq!(dead, [(1, "refused", 4)]);
    })
    .await;
}

/// A receiver that stays away is not tried for days: fewer attempts each time, but all of them for the
/// end of the task.
#[tokio::test]
async fn a_receiver_that_stays_away_gets_fewer_attempts_but_for_the_end() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        for text in ["a", "b"] {
            scene.say(text).await;
        }
        scene.finish().await;
        let notifier = scene.notifier();
        receiver.answer(StatusCode::BAD_GATEWAY, 100);
        for _ in 0..20 {
            scene.deliver(&notifier).await;
            scene.later().await;
        }
        let mut counts: HashMap<String, usize> = HashMap::new();
        for said in receiver.said() {
            *counts.entry(said).or_default() += 1;
        }
        let wanted =
            [(BEGUN[0], 4), (BEGUN[1], 2), ("a", 1), ("b", 1), ("TASK_STATE_COMPLETED", 4)];
        assert_eq!(counts, wanted.map(|(said, times)| (said.to_owned(), times)).into());
    })
    .await;
}

#[tokio::test]
async fn a_receiver_that_is_gone_for_good_is_asked_once_per_update() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        receiver.answer(StatusCode::GONE, 1);
        scene.deliver(&scene.notifier()).await;
        assert_eq!(receiver.said(), BEGUN);
        let dead = dead_letters(&pool, &scene.digest, scene.task).await.unwrap();
        assert_eq!((dead.len(), dead[0].why.as_str(), dead[0].attempts), (1, "gone", 1));
    })
    .await;
}

/// P5: several notifiers at the same moment post in order, each update once.
#[tokio::test]
async fn p5_notifiers_at_the_same_moment_keep_the_order() {
    on_both_databases(async |database| {
        let pool = database.pool(4).await;
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        let notifiers = [scene.notifier(), scene.notifier(), scene.notifier()];
        let [one, two, three] = &notifiers;
        tokio::join!(
            async {
                for index in 0..20 {
                    scene.say(&index.to_string()).await;
                }
            },
            async {
                for _ in 0..10 {
                    scene.deliver(one).await;
                }
            },
            async {
                for _ in 0..10 {
                    scene.deliver(two).await;
                }
            },
        );
        scene.deliver(three).await;
        let mut wanted: Vec<String> = BEGUN.map(str::to_owned).into();
        wanted.extend((0..20).map(|index| index.to_string()));
        assert_eq!(receiver.said(), wanted);
    })
    .await;
}
