//! Time that passes: rows are aged, nobody sleeps.

use store::Pool;

/// Everything that waits for time has waited long enough: leases of runs have expired, wake-ups and
/// unsent messages are due, sandboxes and publications have not been looked at for minutes.
///
/// For moments in which no worker lives; one that does has lost its run.
pub(crate) async fn everything(pool: &Pool) {
    for statement in [
        "update runs set lease_until = seconds_from_now(-1) where lease_until is not null",
        "update runs set wake_at = seconds_from_now(-600) where wake_at is not null",
        "update outbox set not_before = seconds_from_now(-600)",
        "update sandbox_leases set lease_until = seconds_from_now(-1)
          where lease_until is not null",
        "update sandbox_instances set next_check_at = seconds_from_now(-1)
          where state not in ('terminated', 'failed_launch')",
        "update publications set created_at = seconds_from_now(-200), asked_at = null
          where state = 'requested'",
    ] {
        pool.execute(statement, &[]).await.unwrap();
    }
}

/// Runs that nobody holds should have been woken long ago.
pub(crate) async fn wake_ups(pool: &Pool) {
    let statement = "update runs set wake_at = seconds_from_now(-600)
                      where wake_at is not null and lease_until is null";
    pool.execute(statement, &[]).await.unwrap();
}

/// Whoever holds a run has lost it, unless it says so before the next one takes it.
pub(crate) async fn leases(pool: &Pool) {
    let statement = "update runs set lease_until = seconds_from_now(-1)
                      where lease_until is not null";
    pool.execute(statement, &[]).await.unwrap();
}

/// Workspaces that no run holds have been idle for so long that their sandboxes must go.
pub(crate) async fn idle_sandboxes(pool: &Pool) {
    for statement in [
        "update sandbox_leases set idle_release_at = seconds_from_now(-1)
          where holder_run_id is null",
        "update sandbox_instances set next_check_at = seconds_from_now(-1)
          where state not in ('terminated', 'failed_launch')",
    ] {
        pool.execute(statement, &[]).await.unwrap();
    }
}
