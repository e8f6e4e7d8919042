//! The way back from a thread to the task that asked.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::gone;
use crate::error::Error;

/// Where a thread puts its answer. Dropped instead, the question fails.
pub(super) struct Reply<T>(oneshot::Sender<Result<T, Error>>);

impl<T> Reply<T> {
    /// Answers, if anyone still waits.
    pub(super) fn send(self, answer: Result<T, Error>) {
        let _ = self.0.send(answer);
    }
}

/// An answer to come.
///
/// **It is pending exactly once, even when the answer is there before the first poll**: a test that
/// drops a future at each of its awaits meets the same awaits in every run.
pub(super) struct Answer<T> {
    receiver: oneshot::Receiver<Result<T, Error>>,
    was_pending: bool,
    early: Option<Result<T, Error>>,
}

pub(super) fn pair<T>() -> (Reply<T>, Answer<T>) {
    let (sender, receiver) = oneshot::channel();
    (Reply(sender), Answer { receiver, was_pending: false, early: None })
}

impl<T: Unpin> Future for Answer<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(answer) = this.early.take() {
            return Poll::Ready(answer);
        }
        let first = !std::mem::replace(&mut this.was_pending, true);
        match Pin::new(&mut this.receiver).poll(cx) {
            Poll::Ready(answer) => {
                let answer = answer.unwrap_or_else(|_| Err(gone()));
                if !first {
                    return Poll::Ready(answer);
                }
                this.early = Some(answer);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
