//! Messages that their senders left.

use messages::Queue;
use store::outbox::backlog;
use testkit::on_both;
use testkit::queues::{Fault, MemoryQueues};

use super::world::World;
use crate::{Pace, Swept};

#[tokio::test]
async fn a_message_that_its_sender_left_is_sent_and_forgotten() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (_, outgoing) = world.admitted_unsent().await;
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "its sender may be at it");
        world.age_outbox().await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { messages_sent: 1, ..Swept::default() });
        assert_eq!(world.sent_to(Queue::Runs), [outgoing.body]);
        assert_eq!(backlog(&pool).await.unwrap().0, 0);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
    })
    .await;
}

#[tokio::test]
async fn more_than_a_batch_is_sent_in_one_sweep() {
    on_both(async |pool| {
        let mut world = World::new(&pool);
        world.sweeper.pace = Pace { batch: 3, ..Pace::default() };
        for _ in 0..8 {
            world.admitted_unsent().await;
        }
        world.age_outbox().await;
        assert_eq!(world.sweeper.sweep().await.messages_sent, 8);
        assert_eq!(world.sent_to(Queue::Runs).len(), 8);
    })
    .await;
}

#[tokio::test]
async fn a_queue_that_does_not_answer_is_not_waited_for_twice_and_loses_nothing() {
    on_both(async |pool| {
        // A second attempt would succeed: that nothing is sent shows that none was made.
        let queues = MemoryQueues::new().failing(1, Fault::Unavailable);
        let mut world = World::with_queues(&pool, queues);
        world.sweeper.pace = Pace { batch: 3, ..Pace::default() };
        for _ in 0..5 {
            world.admitted_unsent().await;
        }
        world.age_outbox().await;
        let swept = world.sweeper.sweep().await;
        assert_eq!((swept.messages_sent, swept.messages_unsent), (0, 3));
        assert_eq!(backlog(&pool).await.unwrap().0, 5);
        world.age_outbox().await;
        assert_eq!(world.sweeper.sweep().await.messages_sent, 5);
    })
    .await;
}

#[tokio::test]
async fn a_message_that_a_queue_does_not_take_holds_up_no_other() {
    on_both(async |pool| {
        let world = World::with_queues(&pool, MemoryQueues::new().failing(1, Fault::Denied));
        for _ in 0..3 {
            world.admitted_unsent().await;
        }
        world.age_outbox().await;
        let swept = world.sweeper.sweep().await;
        assert_eq!((swept.messages_sent, swept.messages_unsent), (2, 1));
        world.age_outbox().await;
        assert_eq!(world.sweeper.sweep().await.messages_sent, 1);
    })
    .await;
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_sent_again() {
    on_both(async |pool| {
        let world = World::with_queues(&pool, MemoryQueues::new().failing(1, Fault::LostAnswer));
        world.admitted_unsent().await;
        for _ in 0..2 {
            world.age_outbox().await;
            world.sweeper.sweep().await;
        }
        assert_eq!(world.sent_to(Queue::Runs).len(), 2);
        assert_eq!(backlog(&pool).await.unwrap().0, 0);
    })
    .await;
}
