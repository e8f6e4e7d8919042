//! Two sweepers at once, and one that dies anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{PublicationFailure, PublicationId, TaskState};
use messages::Queue;
use store::Pool;
use store::admission::Admitted;
use store::publications::Outcome;
use testkit::{Database, killed_after, on_both_databases};

use super::world::{Work, World};
use crate::Swept;

/// One of each kind of thing that nobody is at.
struct Mess {
    crashed: Work,
    poisoned: Work,
    late: Work,
    due: Work,
    lost: PublicationId,
    unwanted: PublicationId,
}

impl Mess {
    async fn make(world: &World) -> Self {
        let (crashed, _) = world.crashed().await;
        let (poisoned, _) = world.crashed().await;
        let sql = "update runs set crash_count = 4 where run_id = $1";
        world.execute(sql, &[poisoned.run.into()]).await;
        let late = world.admitted().await;
        world.pass_deadline(late.run).await;
        let due = world.admitted().await;
        world.age_wake_up(due.run, 61.0).await;

        let (publishing, lease) = world.working().await;
        let instance = world.with_sandbox(publishing.run).await;
        let lost = world.publication(&lease, &instance).await;
        world.age_publication(lost, 121.0).await;
        let (over, lease) = world.working().await;
        let instance = world.with_sandbox(over.run).await;
        let unwanted = world.publication(&lease, &instance).await;
        world.age_publication(unwanted, 121.0).await;
        store::runs::finish(&world.pool, lease, &[], &store::runs::Ending::Completed)
            .await
            .unwrap();
        let sql = "update sandbox_leases set idle_release_at = seconds_from_now(-1)
                    where instance_id = $1";
        world.execute(sql, &[instance.id.into()]).await;
        world.age_check(instance.id).await;

        world.admitted_unsent().await;
        world.age_outbox().await;
        Self { crashed, poisoned, late, due, lost, unwanted }
    }

    /// What must be so afterwards, however often it was swept.
    async fn assert_settled(&self, world: &World) {
        assert_eq!(world.crash_count(self.crashed.run).await, 1);
        for (work, code) in [(self.poisoned, "POISONED"), (self.late, "EXECUTION_TIMEOUT")] {
            let statuses = world.statuses(work.task).await;
            assert_eq!(statuses.last(), Some(&(TaskState::Failed, Some(code.to_owned()))));
            assert_eq!(statuses.iter().filter(|status| status.0.is_terminal()).count(), 1);
        }
        let unwanted = Outcome::Failed(PublicationFailure::RunEnded);
        assert_eq!(world.outcome(self.unwanted).await, unwanted);
        assert_eq!(world.outcome(self.lost).await, Outcome::Requested);
    }

    /// What must have been sent, at least once each.
    fn assert_sent(&self, sent: &[(Queue, String)]) {
        let told = |queue: Queue, word: &str| {
            let found = |(to, body): &(Queue, String)| *to == queue && body.contains(word);
            assert!(sent.iter().any(found), "{queue} {word}");
        };
        told(Queue::Runs, &self.crashed.run.as_uuid().to_string());
        told(Queue::Runs, &self.due.run.as_uuid().to_string());
        told(Queue::Runs, "admitted");
        told(Queue::Publications, &self.lost.as_uuid().to_string());
        told(Queue::Sandboxes, "release");
        let runs = [self.poisoned.run, self.late.run].map(|run| run.as_uuid().to_string());
        let ended = |(_, body): &(Queue, String)| runs.iter().any(|run| body.contains(run));
        assert!(!sent.iter().any(ended), "an ended run is woken");
    }
}

fn taken(world: &World) -> Vec<(Queue, String)> {
    world.queues.take().into_iter().map(|sent| (sent.queue, sent.body)).collect()
}

#[tokio::test]
async fn two_sweepers_at_once_do_everything_once() {
    on_both_databases(async |database| {
        for round in 0..5 {
            let pools: [Pool; 2] = [database.pool(1).await, database.pool(1).await];
            let [one, two] = pools.each_ref().map(World::new);
            let mess = Mess::make(&one).await;
            let (first, second) = tokio::join!(one.sweeper.sweep(), two.sweeper.sweep());
            let sum = |count: fn(&Swept) -> usize| count(&first) + count(&second);
            assert_eq!(sum(|s| s.messages_sent), 1, "round {round}");
            assert_eq!(sum(|s| s.runs_revived), 1);
            assert_eq!(sum(|s| s.runs_poisoned), 1);
            assert_eq!(sum(|s| s.runs_timed_out), 1);
            assert_eq!(sum(|s| s.runs_woken), 1);
            assert_eq!(sum(|s| s.sandboxes_asked), 1);
            assert_eq!(sum(|s| s.publications_asked), 1);
            assert_eq!(sum(|s| s.publications_failed), 1);
            assert_eq!((&first.failed, &second.failed), (&vec![], &vec![]));
            mess.assert_settled(&one).await;
            let sent: Vec<_> = taken(&one).into_iter().chain(taken(&two)).collect();
            mess.assert_sent(&sent);
            let distinct: BTreeSet<_> = sent.iter().map(|sent| &sent.1).collect();
            assert_eq!(distinct.len(), sent.len(), "a message was sent twice");
        }
    })
    .await;
}

#[tokio::test]
async fn killed_at_every_await_and_swept_again_nothing_is_lost_or_doubled() {
    for polls in 0.. {
        let database = Database::sqlite().await;
        let world = World::new(&database.pool(1).await);
        let mess = Mess::make(&world).await;
        let survived = killed_after(polls, Box::pin(world.sweeper.sweep())).await.is_some();
        world.age_outbox().await;
        let again = world.sweeper.sweep().await;
        assert_eq!(again.failed, [], "killed after {polls} polls");
        mess.assert_settled(&world).await;
        mess.assert_sent(&taken(&world));
        assert_eq!(store::outbox::backlog(&world.pool).await.unwrap().0, 0);
        assert_eq!(world.sweeper.sweep().await, Swept::default());
        if survived {
            assert!(polls > 30, "the sweep was killed {polls} times only");
            break;
        }
    }
}

/// A client writes on at the very moment at which its run ends: nobody is turned away for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_that_arrives_while_its_run_is_ended_is_admitted_or_told_to_wait() {
    let database = Database::postgres().await;
    let world = World::new(&database.pool(1).await);
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(Arc::new(World::new(&database.pool(1).await)));
    }
    for round in 0..20 {
        let context = format!("context-{round}");
        let Admitted::New(taken) = world.admit_in(Some(&context)).await.unwrap() else {
            panic!("a new conversation")
        };
        world.pass_deadline(taken.run).await;
        let messages: Vec<_> = clients
            .iter()
            .map(|client| {
                let (client, context) = (Arc::clone(client), context.clone());
                tokio::spawn(async move { client.admit_in(Some(&context)).await })
            })
            .collect();
        let swept = world.sweeper.sweep().await;
        assert_eq!((swept.runs_timed_out, swept.rows_failed), (1, 0), "round {round}");
        for message in messages {
            let admitted = message.await.unwrap().unwrap();
            assert!(matches!(admitted, Admitted::New(_) | Admitted::Busy), "round {round}");
        }
    }
}
