//! Messages that wait to be sent.

use std::time::Duration;

use store::outbox::{backlog, sent, take_due};
use testkit::on_both;

use crate::common::Request;

#[tokio::test]
async fn what_its_sender_left_is_taken_once_and_comes_back_when_it_is_not_sent() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        let minute = Duration::from_secs(60);
        assert_eq!(
            take_due(&pool, 10, minute, minute).await.unwrap(),
            [],
            "its sender has a minute"
        );
        let due = take_due(&pool, 10, Duration::ZERO, minute).await.unwrap();
        assert_eq!(due, std::slice::from_ref(&taken.outgoing));
        assert_eq!(take_due(&pool, 10, Duration::ZERO, minute).await.unwrap(), []);
        pool.execute("update outbox set not_before = seconds_from_now(-1)", &[]).await.unwrap();
        assert_eq!(take_due(&pool, 10, Duration::ZERO, minute).await.unwrap().len(), 1);
        assert_eq!(backlog(&pool).await.unwrap().0, 1);
        sent(&pool, taken.outgoing.id).await.unwrap();
        sent(&pool, taken.outgoing.id).await.unwrap();
        assert_eq!(backlog(&pool).await.unwrap(), (0, None));
    })
    .await;
}

#[tokio::test]
async fn two_sweepers_take_different_messages() {
    on_both(async |pool| {
        for index in 0..8 {
            Request::new("a", &format!("m{index}")).taken(&pool).await;
        }
        let minute = Duration::from_secs(60);
        let (one, two) = tokio::join!(
            take_due(&pool, 5, Duration::ZERO, minute),
            take_due(&pool, 5, Duration::ZERO, minute)
        );
        let mut ids: Vec<_> = one.unwrap().into_iter().chain(two.unwrap()).map(|o| o.id).collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all, "none was taken twice");
        assert!(all >= 5);
    })
    .await;
}

/// A newer version has written it, and sends it: it is neither taken nor moved, and stops no other.
#[tokio::test]
async fn a_message_of_an_unknown_queue_is_left_alone() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        let put =
            "insert into outbox (outbox_id, scope_digest, queue, body, not_before, created_at)
                   values ($1, 's', 'of_tomorrow', '{}', seconds_from_now(-100),
                           statement_timestamp())";
        pool.execute(put, &[domain::Ids::random().outbox().into()]).await.unwrap();
        let minute = Duration::from_secs(60);
        let due = take_due(&pool, 1, Duration::ZERO, minute).await.unwrap();
        assert_eq!(due, [taken.outgoing]);
        let left = "select 1 as one from outbox
                     where queue = 'of_tomorrow' and not_before < statement_timestamp()";
        assert_eq!(pool.query(left, &[]).await.unwrap().len(), 1);
    })
    .await;
}
