//! The threads on which files are touched.
//!
//! **They act with the workload's rights, not with the server's**: where the server is root, their
//! effective user is the workload's, so that files belong to it and what it may not open, a request
//! does not open for it. The *real* user stays root's, so that the workload cannot signal them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tokio::sync::oneshot;

use crate::process::Workload;
use crate::refusal::Refusal;

/// Enough for a slow search not to hold up everything else.
const THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Ends with its last handle.
#[derive(Debug, Clone)]
pub(crate) struct Workers(Sender<Job>);

impl Workers {
    /// Starts the threads; fails where one cannot take on the workload's rights.
    pub(crate) fn start(workload: Option<Workload>) -> io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..THREADS {
            let (queue, (started, outcome)) = (Arc::clone(&queue), channel());
            std::thread::Builder::new().name("files".to_owned()).spawn(move || {
                let taken_on = workload.map_or(Ok(()), take_on);
                if started.send(taken_on).is_ok() && taken_on.is_ok() {
                    work(&queue);
                }
            })?;
            outcome.recv().map_err(io::Error::other)??;
        }
        Ok(Self(jobs))
    }

    /// Does a job on one of the threads. The job is done also if nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (done, result) = oneshot::channel();
        let job = Box::new(move || drop(done.send(job())));
        let lost = Refusal::internal("the job was lost");
        self.0.send(job).map_err(|_| lost)?;
        result.await.map_err(|_| lost)?
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        // The guard goes before the job runs.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A job that panics loses its own answer and nothing else.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

/// Makes this thread's effective user the workload's. The kernel takes the capabilities away with
/// it.
fn take_on(workload: Workload) -> rustix::io::Result<()> {
    set_thread_groups(&[])?;
    set_thread_res_gid(None, Some(Gid::from_raw(workload.gid)), None)?;
    set_thread_res_uid(None, Some(Uid::from_raw(workload.uid)), None)
}
