//! Futures that die early, and facts that come true later.

use std::future::poll_fn;
use std::panic::Location;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Polls `future` at most `polls` times and drops it there, as a crash would. `None` when it was
/// dropped before its end.
///
/// With `polls` = 0, 1, 2 … until the answer is `Some`, a test drops the future at each of its
/// awaits. It is polled only when it asked for it, so that wakes which others left behind (a future
/// that was killed before, say) count for nothing.
pub async fn killed_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    let wish = Arc::new(Wish { wanted: AtomicBool::new(true), outer: Mutex::new(None) });
    let waker = Waker::from(Arc::clone(&wish));
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        *lock(&wish.outer) = Some(cx.waker().clone());
        if !wish.wanted.swap(false, Ordering::SeqCst) {
            return Poll::Pending;
        }
        left -= 1;
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Whether the future wants to be polled, and whom to tell.
struct Wish {
    wanted: AtomicBool,
    outer: Mutex<Option<Waker>>,
}

impl Wake for Wish {
    fn wake(self: Arc<Self>) {
        self.wanted.store(true, Ordering::SeqCst);
        let outer = lock(&self.outer).clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn wakes_that_others_left_behind_count_for_nothing() {
        for _ in 0..10 {
            // Killed with a wake still under way.
            assert!(killed_after(1, yield_now()).await.is_none());
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let sent = async {
                yield_now().await;
                yield_now().await;
                sender.send(()).unwrap();
            };
            let (received, ()) = tokio::join!(killed_after(2, receiver), sent);
            assert!(received.is_some(), "polled once to begin and once for the answer");
        }
    }

    #[tokio::test]
    async fn a_fact_that_comes_true_is_waited_for() {
        let mut looks = 0;
        eventually(Duration::from_secs(60), async || {
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
