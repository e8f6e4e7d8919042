//! Sandboxes that nobody uses, or that never came to be.

use domain::InstanceId;
use messages::sandboxes::{Command, SandboxCommand};
use messages::{Message as _, Queue};
use store::runs::{self, Ending};
use testkit::on_both;

use super::world::World;
use crate::Swept;

impl World {
    fn commands(&self) -> Vec<Command> {
        let bodies = self.sent_to(Queue::Sandboxes).into_iter();
        bodies.map(|body| SandboxCommand::parse(&body).unwrap().command).collect()
    }

    async fn pass_idle_time(&self, instance: InstanceId) {
        let sql = "update sandbox_leases set idle_release_at = seconds_from_now(-1)
                    where instance_id = $1 and idle_release_at is not null";
        self.execute(sql, &[instance.into()]).await;
    }
}

#[tokio::test]
async fn a_sandbox_whose_run_is_over_is_released_once_it_has_been_idle_for_long() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let instance = world.with_sandbox(work.run).await;
        world.age_check(instance.id).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "a run is at it");
        runs::finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "the next run may want it");
        world.pass_idle_time(instance.id).await;
        let swept = world.sweeper.sweep().await;
        assert_eq!(swept, Swept { sandboxes_asked: 1, ..Swept::default() });
        assert_eq!(world.commands(), [Command::Release { instance: instance.id }]);
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "not at every tick");
        world.age_check(instance.id).await;
        assert_eq!(world.sweeper.sweep().await.sandboxes_asked, 1);
    })
    .await;
}

#[tokio::test]
async fn a_launch_that_is_stuck_is_taken_up_again_for_the_run_that_waits() {
    on_both(async |pool| {
        let world = World::new(&pool);
        let (work, lease) = world.working().await;
        let instance = world.launching(work.run).await;
        assert_eq!(world.sweeper.sweep().await, Swept::default(), "it may take its time");
        world.age_check(instance.id).await;
        assert_eq!(world.sweeper.sweep().await.sandboxes_asked, 1);
        assert_eq!(world.commands(), [Command::Acquire { run: work.run }]);
        // Nobody waits any more.
        runs::finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        world.pass_idle_time(instance.id).await;
        world.age_check(instance.id).await;
        assert_eq!(world.sweeper.sweep().await.sandboxes_asked, 1);
        assert_eq!(world.commands(), [Command::Release { instance: instance.id }]);
    })
    .await;
}
