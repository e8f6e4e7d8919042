//! A thread that runs one function, as an execution environment on Lambda does: a runtime of its
//! own, and nothing of it outlives the environment.

use std::future::Future;
use std::io;

use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

/// Calls of one function. Clones are the same environment; when the last one is gone, so is what
/// was still at work.
#[derive(Debug)]
pub struct Environment<E, A> {
    calls: mpsc::UnboundedSender<(E, oneshot::Sender<A>)>,
}

impl<E, A> Clone for Environment<E, A> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

impl<E: Send + 'static, A: Send + 'static> Environment<E, A> {
    /// Starts the thread. `handler` may be at work on several events at the same time.
    pub fn start<H, F>(name: &str, handler: H) -> io::Result<Self>
    where
        H: Fn(E) -> F + Send + 'static,
        F: Future<Output = A> + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (calls, mut received) = mpsc::unbounded_channel::<(E, oneshot::Sender<A>)>();
        let work = async move {
            while let Some((event, answer)) = received.recv().await {
                let handled = handler(event);
                tokio::task::spawn_local(async move {
                    // Whoever asked may have stopped waiting.
                    let _ = answer.send(handled.await);
                });
            }
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || LocalSet::new().block_on(&runtime, work))?;
        Ok(Self { calls })
    }

    /// The handler's answer, or `None` when it panicked or the environment is gone.
    pub async fn call(&self, event: E) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        self.calls.send((event, answer)).ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_are_answered_side_by_side_and_one_that_panics_harms_no_other() {
        let environment = Environment::start("test", |number: u32| async move {
            tokio::task::yield_now().await;
            assert_ne!(number, 13);
            number + 1
        })
        .unwrap();
        let calls = [1, 13, 3].map(|number| environment.call(number));
        let answers = futures_util::future::join_all(calls).await;
        assert_eq!(answers, [Some(2), None, Some(4)]);
    }
}
