//! What a search finds is a hint: the row is looked at again.

use std::time::Duration;

use domain::{FailureCode, Ids, limits};
use store::runs::{Claim, Ending, claim, finish, heartbeat};
use store::sweeps::{Crash, after_crash, crashed, due, overdue, remind, time_out};
use testkit::on_both;

use crate::common::{Request, age_lease, scope, working};

fn poisoned() -> Ending {
    Ending::Failed { code: FailureCode::Poisoned, message: "m".to_owned() }
}

#[tokio::test]
async fn a_run_that_somebody_took_after_the_search_is_passed_over() {
    on_both(async |pool| {
        let ids = Ids::random();
        let (taken, _) = working(&pool, "a").await;
        age_lease(&pool, taken.run).await;
        let found = crashed(&pool, 10).await.unwrap();
        assert_eq!(found.len(), 1);
        let claimed = claim(&pool, &scope("a").digest(), taken.run, "another").await.unwrap();
        let Claim::Yes(claimed) = claimed else { panic!("{claimed:?}") };
        let passed = after_crash(&pool, &ids, &found[0], &poisoned()).await.unwrap();
        assert_eq!(passed, Crash::Passed);
        heartbeat(&pool, &claimed.lease).await.unwrap();
        finish(&pool, claimed.lease, &[], &Ending::Completed).await.unwrap();
        assert_eq!(after_crash(&pool, &ids, &found[0], &poisoned()).await.unwrap(), Crash::Passed);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_was_claimed_or_ended_after_the_search_is_not_woken_and_not_ended() {
    on_both(async |pool| {
        let ids = Ids::random();
        let taken = Request::new("a", "m").taken(&pool).await;
        let late = "update runs set deadline_at = seconds_from_now(-1),
                                    wake_at = seconds_from_now(-1)";
        pool.execute(late, &[]).await.unwrap();
        let (waiting, late) =
            (due(&pool, Duration::ZERO, 10).await.unwrap(), overdue(&pool, 10).await.unwrap());
        assert_eq!((waiting.len(), late.len()), (1, 1));
        let claimed = claim(&pool, &scope("a").digest(), taken.run, "w").await.unwrap();
        assert!(matches!(claimed, Claim::Yes(_)));
        let (zero, hour) = (Duration::ZERO, Duration::from_hours(1));
        // What is held takes no place in a batch either.
        assert_eq!(overdue(&pool, 10).await.unwrap(), []);
        assert_eq!(due(&pool, zero, 10).await.unwrap(), []);
        assert_eq!(remind(&pool, &ids, &waiting[0], zero, hour).await.unwrap(), None);
        assert!(!time_out(&pool, &late[0], &poisoned()).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn searches_are_bounded_and_begin_with_what_waits_longest() {
    on_both(async |pool| {
        let mut runs = Vec::new();
        for user in ["a", "b", "c"] {
            runs.push(working(&pool, user).await.0.run);
        }
        for (run, seconds) in runs.iter().zip([-10.0, -30.0, -20.0]) {
            let sql = "update runs set lease_until = seconds_from_now($2) where run_id = $1";
            pool.execute(sql, &[(*run).into(), seconds.into()]).await.unwrap();
        }
        let found: Vec<_> = crashed(&pool, 2).await.unwrap().into_iter().map(|f| f.run).collect();
        assert_eq!(found, [runs[1], runs[2]]);
    })
    .await;
}

#[tokio::test]
async fn the_last_crash_ends_the_run_once() {
    on_both(async |pool| {
        let ids = Ids::random();
        let (taken, _) = working(&pool, "a").await;
        let sql = "update runs set crash_count = $2 where run_id = $1";
        pool.execute(sql, &[taken.run.into(), (limits::MAX_CRASHES - 1).into()]).await.unwrap();
        age_lease(&pool, taken.run).await;
        let found = crashed(&pool, 10).await.unwrap();
        let given_up = after_crash(&pool, &ids, &found[0], &poisoned()).await.unwrap();
        assert_eq!(given_up, Crash::GivenUp);
        assert_eq!(after_crash(&pool, &ids, &found[0], &poisoned()).await.unwrap(), Crash::Passed);
        let over = claim(&pool, &scope("a").digest(), taken.run, "w").await.unwrap();
        assert!(matches!(over, Claim::Over));
    })
    .await;
}
