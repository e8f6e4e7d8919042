//! The way back from a thread to the task that asked.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::gone;
use crate::error::Error;

/// Where a thread puts its answer. Dropped instead, the question fails.
pub(super) struct Reply<T>(Arc<Mutex<Slot<T>>>);

/// An answer to come.
///
/// **It is pending exactly once and wakes its task exactly once, even when the answer is there
/// before the first poll; when it is dropped, never**: a test that drops a future at each of its
/// awaits meets the same awaits in every run.
pub(super) struct Answer<T> {
    slot: Arc<Mutex<Slot<T>>>,
    was_pending: bool,
}

struct Slot<T> {
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

pub(super) fn pair<T>() -> (Reply<T>, Answer<T>) {
    let slot = Arc::new(Mutex::new(Slot { answer: None, waker: None }));
    (Reply(Arc::clone(&slot)), Answer { slot, was_pending: false })
}

fn lock<T>(slot: &Mutex<Slot<T>>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Reply<T> {
    /// Answers, if anyone still waits.
    pub(super) fn send(self, answer: Result<T, Error>) {
        lock(&self.0).answer = Some(answer);
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        let mut slot = lock(&self.0);
        slot.answer.get_or_insert_with(|| Err(gone()));
        // Below the lock, so that no wake comes after the answer was taken or given up.
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let first = !mem::replace(&mut self.was_pending, true);
        let mut slot = lock(&self.slot);
        if slot.answer.is_none() {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if first {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        slot.answer.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        lock(&self.slot).waker = None;
    }
}
