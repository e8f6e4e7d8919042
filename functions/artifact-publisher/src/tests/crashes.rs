//! The publisher dies anywhere, and twins work at the same time.

use std::sync::Arc;

use store::publications::Outcome;
use testkit::{Database, killed_after, on_both_databases};

use super::sandbox::Answer;
use super::scene::Scene;

/// T60: killed at every await, then delivered again: one artifact event, the same publication.
#[tokio::test]
async fn killed_at_every_await_and_delivered_again_it_announces_the_file_once() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let scene = Scene::of(&pool, super::scene::scope(&format!("user-{polls}"))).await;
        let publication = scene.publish("a", "ab").await;
        let handled = Box::pin(scene.publisher.handle(scene.event(publication, 1)));
        let survived = killed_after(polls, handled).await.is_some();
        assert!(scene.deliver(publication, 2).await, "killed after {polls} polls");
        assert!(scene.deliver(publication, 3).await, "killed after {polls} polls");

        assert_eq!(scene.announced().await.len(), 1, "killed after {polls} polls");
        assert!(matches!(scene.outcome(publication).await, Outcome::Active(_)));
        assert_eq!(scene.objects.keys().len(), 2, "killed after {polls} polls");
        let counters = store::runs::look(&pool, &scene.lease).await.unwrap();
        assert_eq!((counters.output_artifacts, counters.output_bytes), (1, 2));
        if survived {
            assert!(polls > 10, "the handler was killed {polls} times only");
            break;
        }
    }
}

/// The file changes between the attempts: whichever bytes are activated, row, object and descriptor
/// speak of the same ones.
#[tokio::test]
async fn killed_at_every_await_with_a_file_that_changes_the_row_still_fits_its_objects() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let scene = Scene::of(&pool, super::scene::scope(&format!("user-{polls}"))).await;
        let publication = scene.publish("a", "first").await;
        let handled = Box::pin(scene.publisher.handle(scene.event(publication, 1)));
        let survived = killed_after(polls, handled).await.is_some();
        scene.sandbox.put("a", Answer::File("second".into()));
        assert!(scene.deliver(publication, 2).await);

        let row = scene.row(publication).await.unwrap();
        let bytes = scene.objects.stored(&row.object_key).unwrap().bytes;
        assert_eq!(row.inline.as_deref(), Some(&bytes[..]));
        let descriptor = scene.objects.stored(&row.descriptor_key).unwrap().bytes;
        assert!(String::from_utf8_lossy(&descriptor).contains(&row.sha256));
        assert_eq!(scene.announced().await.len(), 1);
        if survived {
            assert_eq!(&bytes[..], b"first");
            break;
        }
    }
}

/// Killed at every await while the publication is being refused: it is refused in the end.
#[tokio::test]
async fn killed_at_every_await_of_a_refusal_the_run_is_told_once() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let scene = Scene::of(&pool, super::scene::scope(&format!("user-{polls}"))).await;
        let publication = scene.request("missing", "text/csv").await;
        let before = store::runs::look(&pool, &scene.lease).await.unwrap().signal;
        let handled = Box::pin(scene.publisher.handle(scene.event(publication, 1)));
        let survived = killed_after(polls, handled).await.is_some();
        assert!(scene.deliver(publication, 2).await);
        assert!(matches!(scene.outcome(publication).await, Outcome::Failed(_)));
        let after = store::runs::look(&pool, &scene.lease).await.unwrap().signal;
        assert_eq!(after, before + 1, "killed after {polls} polls");
        if survived {
            break;
        }
    }
}

#[tokio::test]
async fn eight_deliveries_at_the_same_moment_announce_the_file_once() {
    on_both_databases(async |database| {
        let pool = database.pool(4).await;
        let scene = Arc::new(Scene::new(&pool).await);
        let publication = scene.publish("a", "ab").await;
        let deliveries: Vec<_> = (0..8)
            .map(|_| {
                let scene = Arc::clone(&scene);
                tokio::spawn(async move { scene.deliver(publication, 1).await })
            })
            .collect();
        for delivery in deliveries {
            assert!(delivery.await.unwrap());
        }
        assert_eq!(scene.announced().await.len(), 1);
        assert_eq!(scene.queues.take().len(), 1, "the run is woken once");
        let counters = store::runs::look(&pool, &scene.lease).await.unwrap();
        assert_eq!((counters.output_artifacts, counters.output_bytes), (1, 2));
    })
    .await;
}
