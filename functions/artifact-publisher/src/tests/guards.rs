//! What the activation is guarded by, and what it is not.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cloud::objects::{Doing, Error, Objects, Presence, PresignOptions, Put, PutOptions, SignedUrl};
use domain::{PublicationFailure as Code, TaskState, limits};
use store::publications::Outcome;
use store::runs::{self, Claim, Ending};
use store::sandboxes::{self, Acquired, Releasing, Wish};
use store::{Pool, tasks};
use testkit::objects::{FailingObjects, Fault};
use testkit::{Database, eventually, on_both};

use super::scene::{Scene, agent};

/// Lets something happen when the descriptor has been read back: between the last step that does not
/// count and the one that does.
pub(crate) struct Meanwhile {
    inner: Arc<dyn Objects>,
    happens: Box<dyn Fn() -> tokio::task::JoinHandle<()> + Send + Sync>,
    done: OnceLock<()>,
}

impl Meanwhile {
    pub(crate) fn new(
        inner: Arc<dyn Objects>,
        happens: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let work = std::sync::Mutex::new(Some(happens));
        let happens = Box::new(move || tokio::spawn(work.lock().unwrap().take().unwrap()));
        Self { inner, happens, done: OnceLock::new() }
    }
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

#[async_trait]
impl Objects for Meanwhile {
    async fn put_new(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<Put, Error> {
        self.inner.put_new(key, bytes, options).await
    }

    async fn get(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, Error> {
        let bytes = self.inner.get(key, max_bytes).await;
        if key.contains("/descriptor/") && self.done.set(()).is_ok() {
            (self.happens)().await.unwrap();
        }
        bytes
    }

    async fn head(&self, key: &str) -> Result<Presence, Error> {
        self.inner.head(key).await
    }

    async fn presign_get(&self, key: &str, options: PresignOptions) -> Result<SignedUrl, Error> {
        self.inner.presign_get(key, options).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Vec<String>, Error> {
        self.inner.list(prefix, after).await
    }

    async fn delete(&self, key: &str) -> Result<(), Error> {
        self.inner.delete(key).await
    }
}

/// Publishes a file while something happens between upload and activation.
async fn meanwhile<F>(pool: &Pool, happens: impl FnOnce(&Scene) -> F) -> (Scene, Outcome)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut scene = Scene::new(pool).await;
    let happens = happens(&scene);
    scene.publisher.objects = Arc::new(Meanwhile::new(Arc::clone(&scene.objects) as _, happens));
    let publication = scene.publish("a", "ab").await;
    assert!(scene.deliver(publication, 1).await);
    assert_eq!(scene.objects.keys().len(), 2, "bytes and descriptor were stored");
    let outcome = scene.outcome(publication).await;
    (scene, outcome)
}

#[tokio::test]
async fn scenario_47_a_task_that_is_canceled_after_the_upload_gets_no_artifact() {
    on_both(async |pool| {
        let (scene, outcome) = meanwhile(&pool, |scene| {
            let (pool, scope, task) = (scene.pool.clone(), scene.scope.digest(), scene.task);
            async move {
                tasks::cancel(&pool, &scope, &agent(), task).await.unwrap();
            }
        })
        .await;
        assert_eq!(outcome, Outcome::Failed(Code::RunEnded));
        assert!(scene.announced().await.is_empty());
        assert!(scene.queues.take().is_empty(), "there is nobody to wake");
        let state = tasks::state(&pool, &scene.scope.digest(), scene.task).await.unwrap();
        assert_eq!(state, Some(TaskState::Canceled));
        let events = store::events::after(&pool, &scene.scope.digest(), scene.task, 0, 100).await;
        let last = events.unwrap().pop().unwrap().body;
        let canceled =
            domain::EventBody::Status { state: TaskState::Canceled, message: None, code: None };
        assert_eq!(last, canceled, "nothing follows the terminal status");
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_that_is_replaced_after_the_upload_publishes_nothing() {
    on_both(async |pool| {
        let (scene, outcome) = meanwhile(&pool, |scene| {
            let (pool, instance) = (scene.pool.clone(), scene.instance.clone());
            async move {
                assert!(sandboxes::lost(&pool, &instance, "gone").await.unwrap());
            }
        })
        .await;
        assert_eq!(outcome, Outcome::Failed(Code::SandboxReplaced));
        assert!(scene.announced().await.is_empty());
        assert_eq!(scene.queues.take().len(), 1, "the run is told");
    })
    .await;
}

#[tokio::test]
async fn another_allocation_of_the_same_generation_is_no_stand_in() {
    on_both(async |pool| {
        let (scene, outcome) = meanwhile(&pool, |scene| {
            let (pool, old, new) = (scene.pool.clone(), scene.instance.id, scene.ids.instance());
            async move {
                let sql = "update sandbox_leases set instance_id = $2 where instance_id = $1";
                assert_eq!(pool.execute(sql, &[old.into(), new.into()]).await.unwrap(), 1);
            }
        })
        .await;
        assert_eq!(outcome, Outcome::Failed(Code::SandboxReplaced));
        assert!(scene.announced().await.is_empty());
    })
    .await;
}

/// A cancellation that is under way when the activation begins: the activation waits for its end.
#[tokio::test]
async fn an_activation_does_not_overtake_a_cancellation_that_is_being_committed() {
    let database = Database::postgres().await;
    let pool = database.pool(2).await;
    let scene = Arc::new(Scene::new(&pool).await);
    let publication = scene.publish("a", "ab").await;
    let other = database.pool(1).await;
    let mut cancel = other.begin().await.unwrap();
    let sql = "update runs set state = 'aborted', fence = fence + 1 where run_id = $1";
    cancel.execute(sql, &[scene.lease.run().into()]).await.unwrap();
    let publishing = Arc::clone(&scene);
    let delivery = tokio::spawn(async move { publishing.deliver(publication, 1).await });
    eventually(Duration::from_secs(30), async || {
        let sql = "select count(*) as waiting from pg_locks where not granted";
        let row = pool.query_opt(sql, &[]).await.unwrap().unwrap();
        row.get::<i64>("waiting").unwrap() > 0
    })
    .await;
    cancel.commit().await.unwrap();
    assert!(delivery.await.unwrap());
    assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::RunEnded));
    assert!(scene.announced().await.is_empty());
}

/// A later worker of the same run keeps the sandbox, and the publication of the first one counts.
#[tokio::test]
async fn a_take_over_between_request_and_activation_does_not_kill_the_publication() {
    on_both(async |pool| {
        let (scene, outcome) = meanwhile(&pool, |scene| {
            let (pool, scope, run) = (scene.pool.clone(), scene.scope.digest(), scene.lease.run());
            async move {
                let sql = "update runs set lease_until = seconds_from_now(-1) where run_id = $1";
                pool.execute(sql, &[run.into()]).await.unwrap();
                let claim = runs::claim(&pool, &scope, run, "another").await.unwrap();
                assert!(matches!(claim, Claim::Yes(_)));
            }
        })
        .await;
        assert!(matches!(outcome, Outcome::Active(_)));
        assert_eq!(scene.announced().await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_publication_of_an_ended_run_is_refused_without_asking_the_sandbox() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        runs::finish(&pool, scene.lease.clone(), &[], &Ending::Completed).await.unwrap();
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::RunEnded));
        assert!(scene.sandbox.asked().is_empty());
        assert!(scene.objects.calls().is_empty());
    })
    .await;
}

/// Must be seen 7: a stale generation publishes nothing, whether the row or the sandbox knows first.
#[tokio::test]
async fn a_stale_generation_is_refused_without_asking_the_sandbox() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        let sql = "update sandbox_leases set generation = generation + 1 where instance_id = $1";
        pool.execute(sql, &[scene.instance.id.into()]).await.unwrap();
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::SandboxReplaced));
        assert!(scene.sandbox.asked().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_with_a_newer_owner_refuses_the_read() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        scene.sandbox.adopt(scene.instance.generation + 1);
        assert!(!scene.deliver(publication, 1).await);
        assert!(scene.sandbox.asked().is_empty());
        assert!(scene.objects.calls().is_empty());
        assert_eq!(scene.outcome(publication).await, Outcome::Requested);
    })
    .await;
}

/// The sandbox ends during an attempt that then runs into trouble: the model hears of it at once, not
/// after more attempts.
#[tokio::test]
async fn trouble_after_a_loss_of_the_sandbox_is_told_as_the_loss_and_not_retried() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        let (lost, instance) = (pool.clone(), scene.instance.clone());
        let happens = async move {
            assert!(sandboxes::lost(&lost, &instance, "gone").await.unwrap());
        };
        // The read of the descriptor loses its answer, and the sandbox is lost during it.
        let meanwhile = Arc::new(Meanwhile::new(Arc::clone(&scene.objects) as _, happens));
        let failing = FailingObjects::new(meanwhile).failing(Doing::Get, 2, Fault::LostAnswer);
        scene.publisher.objects = Arc::new(failing);
        let publication = scene.publish("a", "ab").await;
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::SandboxReplaced));
        assert!(scene.announced().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_row_that_names_another_allocation_than_the_workspace_has_is_refused() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        // The run gets another sandbox; the generation of the row is then wrong, and we repair it to
        // see that the instance alone is a guard too.
        let scope = scene.scope.digest();
        let wish = Wish { backend: "process", config_digest: "other", runner: Some("runner") };
        let run = scene.lease.run();
        let acquire = async || sandboxes::acquire(&pool, &scene.ids, &scope, run, &wish).await;
        let Acquired::Replace(old) = acquire().await.unwrap() else { panic!("replaced") };
        sandboxes::released(&pool, &old).await.unwrap();
        let Acquired::Launch(new) = acquire().await.unwrap() else { panic!("launched") };
        assert_eq!(
            sandboxes::begin_release(&pool, &scope, old.id, "twice").await.unwrap(),
            Releasing::Ended
        );
        let sql = "update publications set generation = $2 where publication_id = $1";
        let params = [publication.into(), new.generation.into()];
        pool.execute(sql, &params).await.unwrap();
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::SandboxReplaced));
        assert!(scene.sandbox.asked().is_empty());
    })
    .await;
}

#[tokio::test]
async fn scenario_32_the_artifact_after_the_last_permitted_one_is_refused() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        scene.put_out(limits::MAX_OUTPUT_ARTIFACTS - 1, 0).await;
        let last = scene.publish("a", "ab").await;
        assert!(scene.deliver(last, 1).await);
        assert!(scene.row(last).await.is_some());
        let one_more = scene.publish("b", "ab").await;
        assert!(scene.deliver(one_more, 1).await);
        let refused = Outcome::Failed(Code::OutputArtifactsExceeded);
        assert_eq!(scene.outcome(one_more).await, refused);
        assert_eq!(scene.announced().await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn scenario_32_only_inline_bytes_count_as_output_and_their_limit_is_inclusive() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        scene.put_out(0, limits::MAX_OUTPUT_BYTES - 2).await;
        let large = scene.publish("large", vec![0; 300_000]).await;
        assert!(scene.deliver(large, 1).await);
        assert!(scene.row(large).await.is_some(), "its bytes travel by address");
        let fits = scene.publish("fits", "ab").await;
        assert!(scene.deliver(fits, 1).await);
        assert!(scene.row(fits).await.is_some());
        let too_much = scene.publish("more", "c").await;
        assert!(scene.deliver(too_much, 1).await);
        assert_eq!(scene.outcome(too_much).await, Outcome::Failed(Code::OutputBytesExceeded));
    })
    .await;
}

impl Scene {
    /// As if the run had put this much out already.
    async fn put_out(&self, artifacts: u32, bytes: u64) {
        let sql = "update runs set output_artifacts = $2, output_bytes = $3 where run_id = $1";
        let artifacts = i32::try_from(artifacts).unwrap();
        let bytes = i64::try_from(bytes).unwrap();
        let params = [self.lease.run().into(), artifacts.into(), bytes.into()];
        self.pool.execute(sql, &params).await.unwrap();
    }
}
