//! Futures that die early, and facts that come true later.

use std::future::poll_fn;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Polls `future` at most `polls` times and drops it there, as a crash would. `None` when it was
/// dropped before its end.
///
/// With `polls` = 0, 1, 2 … until the answer is `Some`, a test drops the future at each of its
/// awaits.
pub async fn killed_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Waits until `condition` holds, and panics when it does not within `limit`.
#[track_caller]
pub fn eventually(
    limit: Duration,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let end = Instant::now() + limit;
        while !condition().await {
            assert!(Instant::now() < end, "not within {limit:?}, waited for at {caller}");
            sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn a_future_is_dropped_at_each_of_its_awaits_in_turn() {
        let mut reached = Vec::new();
        for polls in 0.. {
            let step = Cell::new(0);
            let work = async {
                step.set(1);
                yield_now().await;
                step.set(2);
                yield_now().await;
                step.set(3);
            };
            let survived = killed_after(polls, work).await.is_some();
            reached.push((step.get(), survived));
            if survived {
                break;
            }
        }
        assert_eq!(reached, [(0, false), (1, false), (2, false), (3, true)]);
    }

    #[tokio::test]
    async fn a_fact_that_comes_true_is_waited_for() {
        let mut looks = 0;
        eventually(Duration::from_secs(10), async || {
            looks += 1;
            looks == 3
        })
        .await;
        assert_eq!(looks, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "waited for at")]
    async fn a_fact_that_does_not_come_true_fails_the_test() {
        eventually(Duration::from_millis(1), async || false).await;
    }
}
