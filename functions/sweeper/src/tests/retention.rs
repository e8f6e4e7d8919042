//! Webhooks of tasks that ended long ago, and updates that were given up long ago.

use std::time::Duration;

use domain::{AgentKey, AgentName, Ids, ProtocolVersion, ScopeDigest, TaskId};
use store::Lease;
use store::runs::{self, Ending};
use store::webhooks::{self, Claim, Created, NewWebhook, Of, Seal, Sealed, Why, dead_letters};
use testkit::{on_both, on_both_databases};

use super::world::{Work, World};
use crate::Swept;

const KEPT: Duration = Duration::from_hours(30 * 24);
const NEARLY: Duration = Duration::from_hours(30 * 24 - 1);

#[derive(Debug)]
struct Plain;

impl Seal for Plain {
    fn seal(&self, _scope: &ScopeDigest, _task: TaskId, _config_id: &str) -> Sealed {
        Sealed { key_id: "k".to_owned(), bytes: vec![1] }
    }
}

fn agent() -> AgentKey {
    AgentName::try_from("analyst".to_owned()).unwrap().into()
}

async fn register(world: &World, task: TaskId, id: &str) {
    let (scope, agent) = (world.digest(), agent());
    let protocol = ProtocolVersion::V10;
    let webhook = NewWebhook { config_id: Some(id), protocol, seal: &Plain, most: 10 };
    let of = Of { scope: &scope, agent: &agent, task };
    let created = webhooks::create(&world.pool, &Ids::random(), of, &webhook).await.unwrap();
    assert_eq!(created, Created::Yes);
}

async fn registered(world: &World, task: TaskId) -> Vec<String> {
    let (scope, agent) = (world.digest(), agent());
    let of = Of { scope: &scope, agent: &agent, task };
    let found = webhooks::list(&world.pool, of, None, 100).await.unwrap().unwrap();
    found.into_iter().map(|stored| stored.config_id).collect()
}

async fn finish(world: &World, lease: Lease) {
    runs::finish(&world.pool, lease, &[], &Ending::Completed).await.unwrap();
}

/// The notifier tells every webhook of the task everything, or gives it up.
async fn notify(world: &World, task: TaskId, told: bool) {
    let sql =
        "select webhook_id from webhooks where task_id = $1 and sent_sequence < wanted_sequence";
    for row in world.pool.query(sql, &[task.into()]).await.unwrap() {
        let webhook = row.get("webhook_id").unwrap();
        let claim = webhooks::claim(&world.pool, &world.digest(), webhook, "n").await.unwrap();
        let Claim::Yes(held) = claim else { panic!("{claim:?}") };
        if told {
            webhooks::advance(&world.pool, &held.hold, held.wanted).await.unwrap();
        } else {
            let why = Why::Refused;
            webhooks::give_up(&world.pool, &held.hold, held.wanted, why, 6).await.unwrap();
        }
        webhooks::release(&world.pool, &held.hold, held.wanted).await.unwrap();
    }
    world.pool.execute("delete from outbox", &[]).await.unwrap();
}

async fn age(world: &World, by: Duration) {
    for sql in [
        "update webhooks set ended_at = seconds_from_now($1) where ended_at is not null",
        "update webhook_dead_letters set given_up_at = seconds_from_now($1)",
    ] {
        world.pool.execute(sql, &[(-by.as_secs_f64()).into()]).await.unwrap();
    }
}

#[tokio::test]
async fn a_webhook_goes_when_its_task_has_ended_long_ago_and_it_knows() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (over, lease) = world.working().await;
        register(&world, over.task, "told").await;
        let (open, _lease) = world.working().await;
        register(&world, open.task, "waiting").await;
        finish(&world, lease).await;
        let nothing = Swept::default();
        // Long ago, and not told yet: somebody is asked, and nothing is forgotten.
        age(&world, KEPT).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept.webhooks_forgotten, 0);
        notify(&world, over.task, true).await;
        age(&world, NEARLY).await;
        assert_eq!(world.sweeper.sweep().await, nothing);
        assert_eq!(registered(&world, over.task).await, ["told"]);
        // One that comes after the end is kept from then on.
        age(&world, KEPT).await;
        register(&world, over.task, "late").await;
        assert_eq!(world.sweeper.sweep().await, Swept { webhooks_forgotten: 1, ..nothing.clone() });
        assert_eq!(registered(&world, over.task).await, ["late"]);
        age(&world, KEPT).await;
        register(&world, over.task, "late").await;
        assert_eq!(world.sweeper.sweep().await, nothing, "it was registered again just now");
        age(&world, KEPT).await;
        assert_eq!(world.sweeper.sweep().await, Swept { webhooks_forgotten: 1, ..nothing });
        // The task that goes on keeps its own, however old it is.
        let sql = "update webhooks set created_at = seconds_from_now(-99999999)";
        pool.execute(sql, &[]).await.unwrap();
        world.sweeper.sweep().await;
        assert_eq!(registered(&world, open.task).await, ["waiting"]);
    })
    .await;
}

/// Which ends count: a task that waits for its client has none.
#[tokio::test]
async fn a_task_that_waits_for_its_client_keeps_its_webhooks() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (asked, lease) = world.working().await;
        register(&world, asked.task, "a").await;
        let ending = Ending::InputRequired { message: "Which one?".to_owned() };
        runs::finish(&pool, lease, &[], &ending).await.unwrap();
        notify(&world, asked.task, true).await;
        age(&world, KEPT * 2).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        let canceled =
            store::tasks::cancel(&pool, &world.digest(), &agent(), asked.task).await.unwrap();
        assert_eq!(canceled, store::tasks::Canceled::Yes);
        notify(&world, asked.task, true).await;
        age(&world, KEPT).await;
        assert_eq!(world.sweeper.sweep().await.webhooks_forgotten, 1);
        assert_eq!(registered(&world, asked.task).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_goes_some_time_after_it_was_given_up() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (open, lease) = world.working().await;
        register(&world, open.task, "a").await;
        let ending = Ending::InputRequired { message: "Which one?".to_owned() };
        runs::finish(&pool, lease, &[], &ending).await.unwrap();
        notify(&world, open.task, false).await;
        let dead = async || dead_letters(&pool, &world.digest(), open.task).await.unwrap().len();
        age(&world, NEARLY).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        assert_eq!(dead().await, 1);
        age(&world, KEPT).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { dead_letters_forgotten: 1, ..Swept::default() });
        assert_eq!((dead().await, registered(&world, open.task).await.len()), (0, 1));
    })
    .await;
}

/// More than a batch, by two sweepers: each row counts once.
#[tokio::test]
async fn two_sweepers_forget_each_row_once_batch_by_batch() {
    on_both_databases(async |database| {
        let pools = [database.pool(1).await, database.pool(1).await];
        let [mut one, mut two] = pools.each_ref().map(World::new);
        one.sweeper.pace.batch = 3;
        two.sweeper.pace.batch = 3;
        for _ in 0..4 {
            let (Work { task, .. }, lease) = one.working().await;
            for id in ["a", "b"] {
                register(&one, task, id).await;
            }
            finish(&one, lease).await;
            notify(&one, task, false).await;
        }
        age(&one, KEPT).await;
        let (first, second) = tokio::join!(one.sweeper.sweep(), two.sweeper.sweep());
        let third = one.sweeper.sweep().await;
        let sum = |count: fn(&Swept) -> usize| count(&first) + count(&second) + count(&third);
        assert_eq!(sum(|swept| swept.webhooks_forgotten), 8);
        assert_eq!(sum(|swept| swept.dead_letters_forgotten), 8);
        assert!([&first, &second, &third].iter().all(|swept| swept.failed.is_empty()));
    })
    .await;
}
