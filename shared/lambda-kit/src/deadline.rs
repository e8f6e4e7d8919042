//! The time that an invocation has left.
//!
//! **The wall clock is read once**, when the budget is made; from then on the monotonic clock
//! counts, so a clock that is set back gives nobody more time.

use std::time::{Duration, UNIX_EPOCH};

use tokio::time::Instant;

/// Time until the work must be over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    end: Instant,
}

impl Budget {
    /// `time` from now.
    pub fn of(time: Duration) -> Self {
        Self { end: Instant::now() + time }
    }

    /// Until the moment that the Lambda context names: `deadline` in milliseconds since 1970. A
    /// moment that has passed leaves nothing.
    pub fn until_epoch_millis(deadline: u64) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "Lambda names its deadline in wall-clock time, which is turned into a duration here"
        )]
        let now = std::time::SystemTime::now();
        let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self::of(Duration::from_millis(deadline).saturating_sub(now))
    }

    /// How long the work may still take; zero when it is late.
    pub fn remaining(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// How long a step may take that must leave `reserve` for what comes after it.
    pub fn less(&self, reserve: Duration) -> Duration {
        self.remaining().saturating_sub(reserve)
    }

    /// Ends when no more than `reserve` is left: the guard that lets work yield in time.
    pub async fn down_to(&self, reserve: Duration) {
        tokio::time::sleep(self.less(reserve)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_budget_shrinks_to_nothing_and_no_further() {
        let budget = Budget::of(60 * SECOND);
        assert_eq!(budget.remaining(), 60 * SECOND);
        assert_eq!(budget.less(20 * SECOND), 40 * SECOND);
        tokio::time::advance(50 * SECOND).await;
        assert_eq!(budget.remaining(), 10 * SECOND);
        assert_eq!(budget.less(20 * SECOND), Duration::ZERO);
        tokio::time::advance(50 * SECOND).await;
        assert_eq!(budget.remaining(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_guard_ends_when_only_the_reserve_is_left() {
        let budget = Budget::of(60 * SECOND);
        budget.down_to(20 * SECOND).await;
        assert_eq!(budget.remaining(), 20 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_the_past_leaves_nothing() {
        assert_eq!(Budget::until_epoch_millis(1).remaining(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ahead_leaves_the_time_until_it() {
        #[expect(clippy::disallowed_methods, reason = "the deadline is a wall-clock time")]
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let deadline = u64::try_from((now + 900 * SECOND).as_millis()).unwrap();
        let left = Budget::until_epoch_millis(deadline).remaining();
        assert!(left <= 900 * SECOND && left > 890 * SECOND, "{left:?}");
    }
}
