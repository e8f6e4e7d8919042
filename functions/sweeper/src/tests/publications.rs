//! Publications whose message was lost.

use domain::PublicationFailure as Code;
use messages::publications::PublicationRequested;
use messages::{Message as _, Queue};
use store::publications::Outcome;
use store::runs::{self, Ending};
use testkit::on_both;

use super::world::World;
use crate::Swept;

#[tokio::test]
async fn a_publication_that_nobody_decides_is_asked_for_again_and_not_at_every_tick() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let instance = world.with_sandbox(work.run).await;
        let publication = world.publication(&lease, &instance).await;
        world.age_publication(publication, 119.0).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "the publisher may be at it");
        for _ in 0..2 {
            world.age_publication(publication, 121.0).await;
            let swept = world.sweeper.sweep().await;
            assert_eq!(swept, Swept { publications_asked: 1, ..Swept::default() });
            let sent = world.sent_to(Queue::Publications);
            let message = PublicationRequested::new(publication, world.digest());
            assert_eq!(sent, [message.body()]);
            assert_eq!(world.sweeper.sweep().await, Swept::default());
        }
        assert_eq!(world.outcome(publication).await, Outcome::Requested);
    })
    .await;
}

#[tokio::test]
async fn a_publication_of_an_ended_run_is_failed_and_nobody_is_woken() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let instance = world.with_sandbox(work.run).await;
        let publication = world.publication(&lease, &instance).await;
        runs::finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        world.age_publication(publication, 121.0).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { publications_failed: 1, ..Swept::default() });
        assert_eq!(world.outcome(publication).await, Outcome::Failed(Code::RunEnded));
        assert_eq!(world.queues.take(), []);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

#[tokio::test]
async fn a_publication_that_was_asked_for_in_vain_is_given_up_and_its_run_goes_on() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let instance = world.with_sandbox(work.run).await;
        let publication = world.publication(&lease, &instance).await;
        world.age_publication(publication, 901.0).await;
        let before = runs::look(&pool, &lease).await.unwrap().signal;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { publications_failed: 1, ..Swept::default() });
        let given_up = Outcome::Failed(Code::PublicationFailed);
        assert_eq!(world.outcome(publication).await, given_up);
        assert_eq!(runs::look(&pool, &lease).await.unwrap().signal, before + 1);
        assert!(world.sent_to(Queue::Runs)[0].contains("publication_done"));
    })
    .await;
}
