//! Scenario 38: each step fails once. Nothing is announced, the model gets a word, and where trouble
//! passes a redelivery ends well.

use std::sync::Arc;

use cloud::objects::Doing;
use domain::PublicationFailure as Code;
use sandbox_protocol::ErrorCode;
use store::publications::Outcome;
use testkit::objects::{FailingObjects, Fault};
use testkit::{Database, on_both};

use super::guards::Meanwhile;
use super::sandbox::Answer;
use super::scene::Scene;

impl Scene {
    /// Lets calls of the object store fail, until the returned value says otherwise.
    fn fail(&mut self, plan: impl FnOnce(FailingObjects) -> FailingObjects) -> Arc<FailingObjects> {
        let failing = Arc::new(plan(FailingObjects::new(Arc::clone(&self.objects) as _)));
        self.publisher.objects = Arc::clone(&failing) as _;
        failing
    }

    async fn assert_nothing_counts(&self, publication: domain::PublicationId) {
        assert!(self.announced().await.is_empty());
        assert!(self.row(publication).await.is_none());
    }
}

/// A fault of the store that passes: the message is kept, and the next delivery ends well.
async fn passes(doing: Doing, nth: usize, fault: Fault) {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.fail(|objects| objects.failing(doing, nth, fault));
        let publication = scene.publish("a", "ab").await;
        assert!(!scene.deliver(publication, 1).await, "{doing} {nth} {fault:?} is retried");
        scene.assert_nothing_counts(publication).await;
        assert_eq!(scene.outcome(publication).await, Outcome::Requested);
        assert!(scene.deliver(publication, 2).await);
        assert!(scene.row(publication).await.is_some(), "{doing} {nth} {fault:?}");
        assert_eq!(scene.announced().await.len(), 1);
        assert_eq!(scene.objects.keys().len(), 2, "no second object was made");
    })
    .await;
}

/// A fault of the store that stays: the model is told, and the run goes on.
async fn ends(doing: Doing, nth: usize, fault: Fault, attempt: u32, code: Code) {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.fail(|objects| objects.failing(doing, nth, fault));
        let publication = scene.publish("a", "ab").await;
        assert!(scene.deliver(publication, attempt).await, "{doing} {nth} {fault:?} is settled");
        scene.assert_nothing_counts(publication).await;
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(code));
        assert_eq!(scene.queues.take().len(), 1, "the run is woken");
        // Nothing brings it back.
        assert!(scene.deliver(publication, attempt + 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(code));
    })
    .await;
}

#[tokio::test]
async fn scenario_38_an_upload_that_fails_for_now_is_made_again() {
    passes(Doing::Put, 1, Fault::Unavailable).await;
    passes(Doing::Put, 1, Fault::Mismatch).await;
    passes(Doing::Put, 1, Fault::LostAnswer).await;
}

#[tokio::test]
async fn scenario_38_an_upload_or_a_tag_that_is_denied_ends_the_publication_at_once() {
    ends(Doing::Put, 1, Fault::Denied, 1, Code::PublicationFailed).await;
    ends(Doing::Put, 1, Fault::Refused, 1, Code::PublicationFailed).await;
}

#[tokio::test]
async fn scenario_38_an_upload_that_fails_at_the_last_attempt_ends_the_publication() {
    ends(Doing::Put, 1, Fault::Unavailable, 4, Code::PublicationFailed).await;
    ends(Doing::Put, 1, Fault::LostAnswer, 9, Code::PublicationFailed).await;
}

#[tokio::test]
async fn scenario_38_bytes_that_read_back_otherwise_get_one_more_look() {
    passes(Doing::Get, 1, Fault::Corrupted).await;
    passes(Doing::Get, 1, Fault::Vanished).await;
    passes(Doing::Get, 1, Fault::Unavailable).await;
    ends(Doing::Get, 1, Fault::Corrupted, 2, Code::VerificationFailed).await;
    ends(Doing::Get, 1, Fault::Vanished, 2, Code::VerificationFailed).await;
}

#[tokio::test]
async fn scenario_38_a_descriptor_that_fails_announces_nothing() {
    passes(Doing::Put, 2, Fault::Unavailable).await;
    passes(Doing::Put, 2, Fault::LostAnswer).await;
    passes(Doing::Get, 2, Fault::Unavailable).await;
    passes(Doing::Get, 2, Fault::Corrupted).await;
    passes(Doing::Get, 2, Fault::Vanished).await;
    ends(Doing::Put, 2, Fault::Denied, 1, Code::PublicationFailed).await;
    ends(Doing::Get, 2, Fault::Corrupted, 2, Code::VerificationFailed).await;
}

/// What is already under the key is compared too: it may be of an earlier attempt, or damaged.
#[tokio::test]
async fn scenario_38_damaged_bytes_of_an_earlier_attempt_are_found_out() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.fail(|objects| objects.failing(Doing::Get, 1, Fault::Unavailable));
        let publication = scene.publish("a", "ab").await;
        assert!(!scene.deliver(publication, 1).await);
        let key = scene.objects.keys().remove(0);
        for damaged in ["ax", "abc", "a", ""] {
            assert!(scene.objects.tamper(&key, damaged));
            assert!(!scene.deliver(publication, 1).await, "{damaged:?}");
        }
        assert!(scene.deliver(publication, 2).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::VerificationFailed));
        scene.assert_nothing_counts(publication).await;
    })
    .await;
}

#[tokio::test]
async fn scenario_38_an_activation_that_fails_leaves_no_row_and_no_event() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        // The last write of the transaction fails; its first ones must not remain.
        pool.execute("alter table events rename to hidden", &[]).await.unwrap();
        assert!(scene.deliver(publication, 1).await);
        pool.execute("alter table hidden rename to events", &[]).await.unwrap();
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::PublicationFailed));
        scene.assert_nothing_counts(publication).await;
        let counters = store::runs::look(&pool, &scene.lease).await.unwrap();
        assert_eq!((counters.output_artifacts, counters.output_bytes), (0, 0));
    })
    .await;
}

/// The database is gone between the upload and the activation, and comes back.
#[tokio::test]
async fn scenario_38_a_database_that_drops_mid_way_announces_nothing_and_the_next_delivery_does() {
    let database = Database::postgres().await;
    let pool = database.pool(1).await;
    let (elsewhere, name) = (Database::empty_postgres().await, name(&database));
    let other = elsewhere.pool(1).await;
    let mut scene = Scene::new(&pool).await;
    let (admin, gone) = (other.clone(), name.clone());
    let drops = async move {
        let refuse = format!(r#"alter database "{gone}" with allow_connections false"#);
        admin.execute(&refuse, &[]).await.unwrap();
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
        admin.query(end, &[gone.as_str().into()]).await.unwrap();
    };
    scene.publisher.objects = Arc::new(Meanwhile::new(Arc::clone(&scene.objects) as _, drops));
    let publication = scene.publish("a", "ab").await;
    assert!(!scene.deliver(publication, 9).await, "there is nowhere to give it up");
    assert_eq!(scene.objects.keys().len(), 2, "it was stored, and does not count");

    let allow = format!(r#"alter database "{name}" with allow_connections true"#);
    other.execute(&allow, &[]).await.unwrap();
    assert_eq!(scene.outcome(publication).await, Outcome::Requested);
    scene.assert_nothing_counts(publication).await;
    assert!(scene.deliver(publication, 2).await);
    assert!(scene.row(publication).await.is_some());
    assert_eq!(scene.announced().await.len(), 1);
}

/// The name in `postgres://…/<name>?…`.
fn name(database: &Database) -> String {
    let path = database.url().split('?').next().unwrap();
    path.rsplit('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_sandbox_that_lies_is_not_believed() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        scene.sandbox.put("much", Answer::TooMuch);
        let much = scene.request("much", "text/csv").await;
        assert!(scene.deliver(much, 1).await);
        assert_eq!(scene.outcome(much).await, Outcome::Failed(Code::FileTooLarge));
        for lie in [Answer::WrongDigest("ab".into()), Answer::Nonsense, Answer::HangUp] {
            scene.sandbox.put("lie", lie.clone());
            let publication = scene.request("lie", "text/csv").await;
            assert!(!scene.deliver(publication, 3).await, "{lie:?}");
            assert!(scene.deliver(publication, 4).await);
            let outcome = scene.outcome(publication).await;
            assert_eq!(outcome, Outcome::Failed(Code::PublicationFailed), "{lie:?}");
        }
        assert!(scene.objects.calls().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_that_is_busy_or_not_ready_is_asked_again() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let states =
            [ErrorCode::NotReady, ErrorCode::Quota, ErrorCode::Internal, ErrorCode::Fenced];
        for state in states {
            scene.sandbox.put("a", Answer::Refusal(state));
            let publication = scene.request("a", "text/csv").await;
            assert!(!scene.deliver(publication, 1).await, "{state}");
            scene.sandbox.put("a", Answer::File("ab".into()));
            assert!(scene.deliver(publication, 2).await);
            assert!(scene.row(publication).await.is_some(), "{state}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_publication_that_has_waited_too_long_is_given_up_at_its_next_trouble() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.fail(|objects| objects.always_failing(Doing::Put, Fault::Unavailable));
        let publication = scene.publish("a", "ab").await;
        scene.age(publication, 599.0).await;
        assert!(!scene.deliver(publication, 1).await);
        scene.age(publication, 601.0).await;
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::PublicationFailed));
    })
    .await;
}

#[tokio::test]
async fn a_publication_that_has_waited_long_and_now_succeeds_counts() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "ab").await;
        scene.age(publication, 3000.0).await;
        assert!(scene.deliver(publication, 9).await);
        assert!(scene.row(publication).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_wake_up_that_is_not_sent_stays_in_the_outbox() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        let queues = testkit::queues::MemoryQueues::new();
        let queues = Arc::new(queues.always_failing(testkit::queues::Fault::Unavailable));
        scene.publisher.queues = Arc::clone(&queues) as _;
        let waiting = store::outbox::backlog(&pool).await.unwrap().0;
        let publication = scene.publish("a", "ab").await;
        assert!(scene.deliver(publication, 1).await);
        assert!(scene.row(publication).await.is_some());
        assert_eq!(store::outbox::backlog(&pool).await.unwrap().0, waiting + 1);
    })
    .await;
}
