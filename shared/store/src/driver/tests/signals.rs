//! Commits of this process wake who waits for their topic.

use tokio::time::timeout;
use uuid::Uuid;

use super::{COUNTERS, LIMIT, on_all, put};
use crate::driver::{Engine, Pool, Wake};

const TOPIC: Uuid = Uuid::from_u128(7);

/// Whether it was woken since it was last asked.
fn woken(wake: &mut Wake) -> bool {
    // A wake that has come is seen at the first look.
    futures_util::FutureExt::now_or_never(wake.woken()).is_some()
}

async fn announced(pool: &Pool, topic: Uuid) {
    let mut tx = pool.begin().await.unwrap();
    tx.execute("update counters set value = value + 1", &[]).await.unwrap();
    tx.announce(topic);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_commit_wakes_who_waits_for_its_topic_and_nothing_else_does() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "a").await;
        let Some(mut wake) = pool.wake(TOPIC) else {
            assert_eq!(pool.engine(), Engine::Postgres, "only there it cannot be told");
            return;
        };
        assert!(!woken(&mut wake));
        announced(&pool, TOPIC).await;
        assert!(woken(&mut wake));
        assert!(!woken(&mut wake), "once per commit");
        announced(&pool, Uuid::from_u128(8)).await;
        assert!(!woken(&mut wake), "another topic");
        for commits in [true, false] {
            let mut tx = pool.begin().await.unwrap();
            tx.announce(TOPIC);
            if commits {
                drop(tx);
            } else {
                tx.rollback().await.unwrap();
            }
        }
        // Served after the dropped one was rolled back.
        pool.begin().await.unwrap().rollback().await.unwrap();
        assert!(!woken(&mut wake), "what is undone wakes nobody");
    })
    .await;
}

#[tokio::test]
async fn a_commit_whose_future_was_dropped_wakes_all_the_same() {
    let pool = Pool::connect("sqlite::memory:", 1).await.unwrap();
    pool.execute(COUNTERS, &[]).await.unwrap();
    put(&pool, "a").await;
    let mut wake = pool.wake(TOPIC).unwrap();
    let mut tx = pool.begin().await.unwrap();
    tx.execute("update counters set value = 1", &[]).await.unwrap();
    tx.announce(TOPIC);
    let mut commit = Box::pin(tx.commit());
    assert!(futures_util::FutureExt::now_or_never(&mut commit).is_none());
    drop(commit);
    timeout(LIMIT, wake.woken()).await.expect("the commit was under way");
}
