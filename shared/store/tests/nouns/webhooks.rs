//! Webhooks: made, told, taken away.

use std::time::Duration;

use domain::{EventBody, Ids, ProtocolVersion, ScopeDigest, TaskId, TaskState, WebhookId};
use store::events::Place;
use store::runs::{self, Output, PlacedEvent};
use store::webhooks::{
    self, Again, Claim, Claimed, Created, NewWebhook, Of, Release, Seal, Sealed, Why,
};
use store::{Error, Lease, Pool, sweeps};
use testkit::{on_both, on_both_databases};

use crate::common::{agent, scope, working};

#[derive(Debug)]
struct Plain;

impl Seal for Plain {
    fn seal(&self, _scope: &ScopeDigest, _task: TaskId, config_id: &str) -> Sealed {
        Sealed { key_id: "k".to_owned(), bytes: config_id.as_bytes().to_vec() }
    }
}

async fn create(pool: &Pool, user: &str, task: TaskId, id: &str) -> Created {
    let (scope, agent) = (scope(user).digest(), agent());
    let protocol = ProtocolVersion::V10;
    let webhook = NewWebhook { config_id: Some(id), protocol, seal: &Plain, most: 3 };
    let of = Of { scope: &scope, agent: &agent, task };
    webhooks::create(pool, &Ids::random(), of, &webhook).await.unwrap()
}

async fn id(pool: &Pool, config_id: &str) -> WebhookId {
    let sql = "select webhook_id from webhooks where config_id = $1";
    pool.query_opt(sql, &[config_id.into()]).await.unwrap().unwrap().get("webhook_id").unwrap()
}

async fn claim(pool: &Pool, user: &str, webhook: WebhookId) -> Option<Claimed> {
    match webhooks::claim(pool, &scope(user).digest(), webhook, "w").await.unwrap() {
        Claim::Yes(claimed) => Some(*claimed),
        Claim::No | Claim::Gone => None,
    }
}

/// A status at a place of its own: one update.
async fn update(pool: &Pool, lease: &Lease, ordinal: i32) {
    let body = EventBody::Status { state: TaskState::Working, message: None, code: None };
    let placed = PlacedEvent { place: Place { step: 1, attempt: 1, ordinal }, body };
    runs::append(pool, lease, &[placed], Output::default()).await.unwrap();
}

async fn age(pool: &Pool) {
    let sql = "update webhooks
                  set due_at = case when due_at is null then null else seconds_from_now(-100) end,
                      lease_until = case when lease_until is null then null
                                         else seconds_from_now(-100) end";
    pool.execute(sql, &[]).await.unwrap();
}

#[tokio::test]
async fn p2_webhooks_are_kept_by_id_for_their_owner_alone() {
    on_both(async |pool| {
        let (taken, _) = working(&pool, "a").await;
        let (mine, other, agent) = (scope("a").digest(), scope("b").digest(), agent());
        let of = Of { scope: &mine, agent: &agent, task: taken.task };
        for id in ["b", "a", "c", "a"] {
            assert_eq!(create(&pool, "a", taken.task, id).await, Created::Yes);
        }
        assert_eq!(create(&pool, "a", taken.task, "d").await, Created::TooMany);
        assert_eq!(create(&pool, "b", taken.task, "d").await, Created::UnknownTask);
        let ids = |page: Vec<webhooks::Stored>| {
            page.into_iter().map(|stored| stored.config_id).collect::<Vec<_>>()
        };
        let page = webhooks::list(&pool, of, None, 2).await.unwrap().unwrap();
        assert_eq!(ids(page), ["a", "b"]);
        let page = webhooks::list(&pool, of, Some("b"), 2).await.unwrap().unwrap();
        assert_eq!(ids(page), ["c"]);
        assert_eq!(webhooks::find(&pool, of, "a").await.unwrap().unwrap().sealed.bytes, b"a");
        assert_eq!(webhooks::find(&pool, of, "d").await.unwrap(), None);

        let theirs = Of { scope: &other, ..of };
        assert_eq!(webhooks::find(&pool, theirs, "a").await.unwrap(), None);
        assert_eq!(webhooks::list(&pool, theirs, None, 9).await.unwrap(), None);
        assert!(!webhooks::delete(&pool, theirs, "a").await.unwrap());
        for _ in 0..2 {
            assert!(webhooks::delete(&pool, of, "a").await.unwrap());
        }
        assert_eq!(create(&pool, "a", taken.task, "d").await, Created::Yes);
    })
    .await;
}

/// Made at any moment while events are appended, a webhook is told of every one after its position.
#[tokio::test]
async fn a_webhook_made_between_two_events_misses_none() {
    on_both_databases(async |database| {
        let pools = (database.pool(1).await, database.pool(1).await);
        let (taken, lease) = working(&pools.0, "a").await;
        let (appending, making) = (pools.0.clone(), pools.1.clone());
        tokio::join!(
            async {
                for ordinal in 0..30 {
                    update(&appending, &lease, ordinal).await;
                }
            },
            async {
                for index in 0..3 {
                    create(&making, "a", taken.task, &index.to_string()).await;
                    tokio::task::yield_now().await;
                }
            }
        );
        // The last one may have been made after everything.
        update(&pools.0, &lease, 30).await;
        let sql = "select w.sent_sequence, w.wanted_sequence, w.webhook_id, s.last_sequence
                     from webhooks w join sessions s on s.session_id = w.session_id";
        for row in pools.0.query(sql, &[]).await.unwrap() {
            let webhook = row.get("webhook_id").unwrap();
            let last: i64 = row.get("last_sequence").unwrap();
            assert_eq!(row.get::<i64>("wanted_sequence").unwrap(), last);
            let claimed = claim(&pools.0, "a", webhook).await.expect("it was asked for");
            assert!(claimed.sent < last && claimed.wanted == last);
        }
        let asked = "select count(*) as n from outbox where queue = 'notifications'";
        let row = pools.0.query_opt(asked, &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 3, "each was asked for once");
        assert_eq!(pools.0.take_hints().len() + pools.1.take_hints().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_notifier_that_was_overtaken_moves_nothing() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        create(&pool, "a", taken.task, "x").await;
        let webhook = id(&pool, "x").await;
        assert!(claim(&pool, "a", webhook).await.is_none(), "there is nothing to tell");
        update(&pool, &lease, 0).await;
        assert!(claim(&pool, "b", webhook).await.is_none(), "another scope's");
        let old = claim(&pool, "a", webhook).await.unwrap();
        assert!(claim(&pool, "a", webhook).await.is_none(), "it is held");
        age(&pool).await;
        let new = claim(&pool, "a", webhook).await.unwrap();
        assert_eq!(new.attempts, 2, "the one that died counts");
        let ids = Ids::random();
        let lost = |result: Result<(), Error>| assert!(matches!(result, Err(Error::LeaseLost)));
        lost(webhooks::advance(&pool, &old.hold, old.wanted).await);
        lost(webhooks::renew(&pool, &old.hold).await);
        lost(webhooks::give_up(&pool, &old.hold, old.wanted, Why::Refused, 1).await);
        lost(webhooks::put_off(&pool, &ids, &old.hold, Again::Elsewhere).await);
        lost(webhooks::release(&pool, &old.hold, old.wanted).await.map(drop));
        webhooks::advance(&pool, &new.hold, new.wanted).await.unwrap();
        // What was told is never told again by the same hold.
        lost(webhooks::advance(&pool, &new.hold, new.wanted).await);
        // Replaced: at most the update in hand goes to the old address.
        update(&pool, &lease, 1).await;
        create(&pool, "a", taken.task, "x").await;
        lost(webhooks::advance(&pool, &new.hold, new.wanted + 1).await);
        assert_eq!(claim(&pool, "a", webhook).await.unwrap().sent, new.wanted);
    })
    .await;
}

#[tokio::test]
async fn an_update_that_comes_while_a_webhook_is_let_go_keeps_it() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        create(&pool, "a", taken.task, "x").await;
        update(&pool, &lease, 0).await;
        let held = claim(&pool, "a", id(&pool, "x").await).await.unwrap();
        update(&pool, &lease, 1).await;
        let more = webhooks::release(&pool, &held.hold, held.wanted).await.unwrap();
        assert_eq!(more, Release::More(held.wanted + 1));
        let done = webhooks::release(&pool, &held.hold, held.wanted + 1).await.unwrap();
        assert_eq!(done, Release::Yes);
    })
    .await;
}

#[tokio::test]
async fn a_sweeper_asks_again_for_what_nobody_is_at() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        create(&pool, "a", taken.task, "x").await;
        update(&pool, &lease, 0).await;
        let (ids, grace) = (Ids::random(), Duration::from_secs(60));
        let silent = async || sweeps::silent_webhooks(&pool, grace, 10).await.unwrap();
        assert_eq!(silent().await, [], "its message is on its way");
        for held in [false, true] {
            if held {
                claim(&pool, "a", id(&pool, "x").await).await.unwrap();
                assert_eq!(silent().await, []);
            }
            age(&pool).await;
            let found = silent().await;
            assert_eq!(found.len(), 1);
            let asked = sweeps::remind_webhook(&pool, &ids, &found[0], grace).await.unwrap();
            assert!(asked.is_some());
            let twin = sweeps::remind_webhook(&pool, &ids, &found[0], grace).await.unwrap();
            assert_eq!(twin, None, "once per minute");
        }
    })
    .await;
}
