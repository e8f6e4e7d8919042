//! Claims, fences, rest and end.

use std::time::Duration;

use domain::{FailureCode, Ids, TaskState};
use store::runs::{
    Claim, Ending, Rest, Wake, abandon_all, claim, finish, hand_back, heartbeat, look, rest,
    session_scope,
};
use store::tasks::{self, Want};
use store::{Error, Lease, Pool};
use testkit::on_both;

use crate::common::{Request, age_lease, agent, claimed, scope, working};

async fn state(pool: &Pool, lease: &Lease) -> TaskState {
    tasks::state(pool, lease.scope(), lease.task()).await.unwrap().unwrap()
}

#[tokio::test]
async fn t61_of_two_workers_one_claims_a_run() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        let digest = scope("a").digest();
        let (one, two) = tokio::join!(
            claim(&pool, &digest, taken.run, "one"),
            claim(&pool, &digest, taken.run, "two")
        );
        let won = |claim: &Result<Claim, Error>| matches!(claim, Ok(Claim::Yes(_)));
        let busy = |claim: &Result<Claim, Error>| matches!(claim, Ok(Claim::Busy));
        assert!((won(&one) && busy(&two)) || (busy(&one) && won(&two)), "{one:?} {two:?}");
    })
    .await;
}

#[tokio::test]
async fn the_first_claim_sets_the_task_to_work_and_a_later_one_says_nothing() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").taken(&pool).await;
        let first = claimed(&pool, "a", taken.run).await;
        assert!(first.first);
        assert_eq!(first.crash_count, 0);
        assert_eq!(state(&pool, &first.lease).await, TaskState::Working);
        age_lease(&pool, taken.run).await;
        let second = claimed(&pool, "a", taken.run).await;
        assert!(!second.first);
        assert_eq!(second.crash_count, 1);
        let events = store::events::after(&pool, first.lease.scope(), taken.task, 0, 10).await;
        assert_eq!(events.unwrap().len(), 2, "submitted, working");
    })
    .await;
}

#[tokio::test]
async fn t62_a_worker_that_lost_its_lease_cannot_write() {
    on_both(async |pool| {
        let (taken, old) = working(&pool, "a").await;
        age_lease(&pool, taken.run).await;
        let new = claimed(&pool, "a", taken.run).await.lease;
        assert!(new.fence() > old.fence());
        let ids = Ids::random();
        let wake = Wake::After(Duration::ZERO);
        assert!(matches!(heartbeat(&pool, &old).await, Err(Error::LeaseLost)));
        assert!(matches!(look(&pool, &old).await, Err(Error::LeaseLost)));
        assert!(matches!(rest(&pool, &ids, &old, 0, wake).await, Err(Error::LeaseLost)));
        let end = finish(&pool, old, &[], &Ending::Completed).await;
        assert!(matches!(end, Err(Error::LeaseLost)));
        assert_eq!(state(&pool, &new).await, TaskState::Working);
        finish(&pool, new.clone(), &[], &Ending::Completed).await.unwrap();
        assert_eq!(state(&pool, &new).await, TaskState::Completed);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_keeps_the_lease_and_tells_an_overdue_run() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        age_lease(&pool, taken.run).await;
        assert!(!heartbeat(&pool, &lease).await.unwrap().overdue);
        let other = claim(&pool, lease.scope(), taken.run, "other").await.unwrap();
        assert!(matches!(other, Claim::Busy));
        pool.execute(
            "update runs set deadline_at = seconds_from_now(-1) where run_id = $1",
            &[taken.run.into()],
        )
        .await
        .unwrap();
        assert!(heartbeat(&pool, &lease).await.unwrap().overdue);
        age_lease(&pool, taken.run).await;
        assert_eq!(claimed(&pool, "a", taken.run).await.time_left, Duration::ZERO);
    })
    .await;
}

#[tokio::test]
async fn a_run_goes_to_rest_and_comes_back_without_a_crash_counted() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let ids = Ids::random();
        let later = Wake::After(Duration::from_secs(30));
        let Rest::Resting(Some(outgoing)) = rest(&pool, &ids, &lease, 0, later).await.unwrap()
        else {
            panic!("nothing woke it")
        };
        assert_eq!(outgoing.delay, Duration::from_secs(30));
        assert!(matches!(heartbeat(&pool, &lease).await, Err(Error::LeaseLost)));
        let back = claimed(&pool, "a", taken.run).await;
        assert_eq!(back.crash_count, 0);
    })
    .await;
}

#[tokio::test]
async fn a_signal_that_the_worker_has_not_seen_keeps_it_awake() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        pool.execute("update runs set signal = signal + 1 where run_id = $1", &[taken.run.into()])
            .await
            .unwrap();
        let ids = Ids::random();
        let wait = Wake::OnSignal { at_latest: Duration::from_secs(60) };
        assert_eq!(rest(&pool, &ids, &lease, 0, wait).await.unwrap(), Rest::Signalled(1));
        assert_eq!(look(&pool, &lease).await.unwrap().signal, 1);
        assert_eq!(rest(&pool, &ids, &lease, 1, wait).await.unwrap(), Rest::Resting(None));
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_told_with_its_code_and_frees_the_context() {
    on_both(async |pool| {
        let taken = Request::new("a", "m").context("c").taken(&pool).await;
        let lease = claimed(&pool, "a", taken.run).await.lease;
        let failed = Ending::Failed {
            code: FailureCode::Poisoned,
            message: "the run crashed repeatedly".to_owned(),
        };
        finish(&pool, lease.clone(), &[], &failed).await.unwrap();
        let want = Want { history: Some(0), artifacts: false };
        let view = tasks::view(&pool, lease.scope(), &agent(), taken.task, want).await.unwrap();
        let task = view.unwrap().task;
        assert_eq!(task.state, TaskState::Failed);
        assert_eq!(task.status_code.as_deref(), Some("POISONED"));
        let over = claim(&pool, lease.scope(), taken.run, "w").await.unwrap();
        assert!(matches!(over, Claim::Over));
        Request::new("a", "m2").context("c").taken(&pool).await;
    })
    .await;
}

#[tokio::test]
async fn an_orderly_end_hands_runs_back_without_a_crash_and_a_killed_process_leaves_one() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        assert_eq!(hand_back(&pool, "somebody else").await.unwrap(), 0);
        assert_eq!(hand_back(&pool, "w").await.unwrap(), 1);
        assert!(matches!(heartbeat(&pool, &lease).await, Err(Error::LeaseLost)));
        assert_eq!(claimed(&pool, "a", taken.run).await.crash_count, 0);
        assert_eq!(abandon_all(&pool).await.unwrap(), 1);
        assert_eq!(claimed(&pool, "a", taken.run).await.crash_count, 1);
    })
    .await;
}

#[tokio::test]
async fn another_scope_cannot_claim_and_the_session_knows_its_own() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let other = claim(&pool, &scope("b").digest(), taken.run, "w").await.unwrap();
        assert!(matches!(other, Claim::Unknown));
        let own = session_scope(&pool, lease.scope(), lease.session()).await.unwrap();
        assert_eq!(own, scope("a"));
        let foreign = session_scope(&pool, &scope("b").digest(), lease.session()).await;
        assert!(matches!(foreign, Err(Error::NotFound)));
    })
    .await;
}
